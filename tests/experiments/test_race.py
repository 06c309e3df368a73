import pytest

from pairup import ExperimentError, Problem, load_experiment
from pairup.experiments.race import build_race


def test_the_field_as_its_file_says():
    race = build_race(everyone=True)
    assert race.experiment == load_experiment("field")
    assert race.left_out == {}


def test_the_field_in_another_size_on_another_problem():
    race = build_race((), "rates:rates=[0.9, 0.5, 0.4, 0.1]", 70, 2, 5, everyone=True)
    field = race.experiment
    assert (field.rounds, field.replications, field.seed) == (70, 2, 5)
    assert [posed.problem for posed in field.problems] == [
        Problem([0.9, 0.5, 0.4, 0.1], "rates(1)")
    ]
    assert [figure.kind for figure in field.figures] == ["curves", "limit"]
    assert field.entries == load_experiment("field").entries
    assert race.left_out == {}


def test_a_policy_that_cannot_play_is_left_out_and_says_why():
    race = build_race((), "random:players=42", 70, 2, everyone=True)
    assert list(race.left_out) == ["PMED"]
    assert "at most 40 players, got 42" in race.left_out["PMED"]
    labels = [entry.label for entry in race.experiment.entries]
    assert "PMED" not in labels
    assert "ESCB" in labels


def test_the_limit_of_many_players_is_not_waited_for():
    few, many = (build_race(["sam"], f"random:players={n}", 9, 1).experiment for n in (24, 26))
    assert [figure.limit for figure in few.figures] == [True]
    assert [figure.limit for figure in many.figures] == [False]
    field = build_race((), "random:players=26", 9, 1, everyone=True).experiment
    assert [(figure.kind, figure.limit) for figure in field.figures] == [("curves", False)]


def test_a_race_has_one_problem():
    with pytest.raises(ExperimentError, match="one problem, 'random:players=\\[3,4\\]' lists 2"):
        build_race((), "random:players=[3,4]", 9, 1, everyone=True)
