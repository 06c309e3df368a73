"""Results of instances are drawn by a word, as those of problems are."""

import pytest
from matplotlib.figure import Figure

from pairup import load_experiment, run_experiment

FILE = """
name = "instances"
rounds = 60
replications = 2
over = "seed"

[problem]
family = "random"
players = [4, 6]
seed = [0, 1, 2]

[[policy]]
label = "random"
name = "uniform"
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("instances") / "instances.toml"
    path.write_text(FILE)
    return run_experiment(load_experiment(path))


def test_means_over_instances_are_along_the_number_in_which_groups_differ(results):
    ax = results.plot(ax=Figure().subplots())
    (line,) = ax.lines[:1]
    final = results.frame.filter(round=60)
    assert line.get_xdata().tolist() == [4, 6]
    assert line.get_ydata().tolist() == pytest.approx(
        [final.filter(players=players)["regret"].mean() for players in (4, 6)]
    )


def test_bars_of_instances_are_labelled_by_it_and_chosen_by_their_group(results):
    ax = results.plot("ratio", ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["4", "6"]
    group = next(iter(results.standings))
    one = results.plot("ratio", problem=group, ax=Figure().subplots())
    assert len(one.patches) == 1
    tops = [bar.get_y() + bar.get_height() for bar in (one.patches[0], ax.patches[0])]
    assert tops[0] == pytest.approx(tops[1])


def test_curves_and_tails_are_those_of_a_group(results):
    group = list(results.standings)[1]
    for kind in ("regret", "tail"):
        ax = results.plot(kind, problem=group, ax=Figure().subplots())
        assert "random" in {line.get_label() for line in ax.lines}
