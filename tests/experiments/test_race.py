import polars as pl
import pytest

from pairup import ExperimentError, Problem, load_experiment
from pairup.cli.sparklines import sparklines
from pairup.experiments.race import field_race, race_of
from tests.support.experiments.frames import rows


def test_the_field_as_its_file_says():
    field, left_out = field_race("", None, 20, 0)
    assert field == load_experiment("field")
    assert left_out == {}


def test_the_field_in_another_size_on_another_problem():
    field, left_out = field_race("rates:rates=[0.9, 0.5, 0.4, 0.1]", 70, 2, 5)
    assert (field.rounds, field.replications, field.seed) == (70, 2, 5)
    assert [posed.problem for posed in field.problems] == [
        Problem([0.9, 0.5, 0.4, 0.1], "rates(1)")
    ]
    assert [figure.kind for figure in field.figures] == ["curves", "limit"]
    assert field.entries == load_experiment("field").entries
    assert left_out == {}


def test_who_cannot_play_is_left_out_and_says_why():
    field, left_out = field_race("random:players=18", 70, 2, 0)
    assert list(left_out) == ["ESCB"]
    assert "16" in left_out["ESCB"]
    assert "ESCB" not in [entry.label for entry in field.entries]
    assert "ESCB ≈" in [entry.label for entry in field.entries]


def test_the_limit_of_many_players_is_not_waited_for():
    few, many = (race_of(["sam"], f"random:players={n}", 9, 1, 0) for n in (24, 26))
    assert [figure.limit for figure in few.figures] == [True]
    assert [figure.limit for figure in many.figures] == [False]
    field, _ = field_race("random:players=26", 9, 1, 0)
    assert [(figure.kind, figure.limit) for figure in field.figures] == [("curves", False)]


def test_a_race_has_one_problem():
    with pytest.raises(ExperimentError, match="one problem, 'random:players=\\[3,4\\]' lists 2"):
        field_race("random:players=[3,4]", 9, 1, 0)


def test_curves_of_a_problem_share_their_scale():
    ends = {("p", "a"): 10, ("p", "b"): 1000, ("q", "a"): 10}
    results = pl.concat(
        [
            rows(policy, [[0, end], [0, end]], problem, (1, 99))
            for (problem, policy), end in ends.items()
        ]
    )
    drawn = sparklines(results)
    assert {key: (line[0], line[-1]) for key, line in drawn.items()} == {
        ("p", "a"): ("▁", "▃"),
        ("p", "b"): ("▁", "█"),
        ("q", "a"): ("▁", "█"),
    }
    assert {len(line) for line in drawn.values()} == {16}
