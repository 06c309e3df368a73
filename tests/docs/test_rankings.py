"""The page on rankings shows the tables of its script, and its example runs."""

import pytest

from pairup import Problem, simulate
from scripts.figures import rankings
from tests.support.docs.pages import blocks
from tests.support.docs.tables import digest, table

PAGE = "explanation/rankings.md"


@pytest.mark.parametrize(
    ("experiment", "numbers"), [("rankings", "5c9d40e3f3a4"), ("rankings-kdd", "32077bcbea07")]
)
def test_a_table_has_the_rows_of_the_script_and_the_numbers_of_its_last_run(experiment, numbers):
    settings = rankings.settings_of(experiment)
    rows = table(PAGE, f"policy | {settings[0]}")
    assert list(rows) == [*rankings.POLICIES, "Rank one / the better GRAB"]
    for cells in rows.values():
        assert list(cells) == settings
    assert digest(rows) == numbers, "take over what python -m scripts.figures.rankings prints"


@pytest.mark.parametrize(("label", "setting"), [("GRAB", "xsmall"), ("Rank one", "kdd-10")])
def test_a_cell_of_each_table_is_what_the_script_prints(label, setting):
    policy, replications = rankings.POLICIES[label]
    run = simulate(Problem.click_model(setting), policy, rankings.ROUNDS, replications)
    (first, *_) = (
        each for each in map(rankings.settings_of, rankings.EXPERIMENTS) if setting in each
    )
    shown = table(PAGE, f"policy | {first[0]}")[label][setting]
    assert shown == rankings.mean_and_deviation(run)


def test_the_example_of_the_page_runs(capsys):
    (example,) = blocks(PAGE, "python")
    exec(example.text, {})
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("GRAB", "UniRank", "RankOneThompson"))
