"""Problems of experiment files and of the command line."""

import polars as pl
import pytest

from pairup import Problem, Uniform, compare, load_experiment
from pairup.cli.specs import read_problem, sides_spec
from pairup.errors import ExperimentError
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.posed_problems import sweep_problems
from pairup.experiments.results import schema
from pairup.experiments.toml_table import Table
from pairup.policies.contract import split_by_fit


def posed(family, **parameters):
    table = Table("problem", {"family": family} | parameters)
    return [each.problem for each in sweep_problems([table])]


def test_densities_are_swept():
    problems = posed("random_graph", players=8, density=[1, 0.5, 0.1], random_worth=True)
    expected = [Problem.random_graph(8, each, 0, random_worth=True) for each in (1, 0.5, 0.1)]
    assert problems == expected
    assert problems[1].name == "random_graph(8, 0.5, seed=0, random_worth=True)"


def test_lines_and_groups_are_families():
    assert posed("line", players=6, window=0.3, seed=[0, 1]) == [
        Problem.line(6, 0.3, seed=seed) for seed in (0, 1)
    ]
    assert posed("groups", players=6, groups=2) == [Problem.groups(6, 2)]


@pytest.mark.parametrize(
    ("family", "parameters"),
    [
        ("random", {"players": 4, "seed": 0, "distribution": [1, 1]}),
        ("random_graph", {"players": 4, "density": 0.5, "seed": 0, "random_worth": False}),
        ("line", {"players": 4, "window": 0.5, "seed": 0}),
        ("groups", {"players": 4, "groups": 2, "seed": 0}),
    ],
)
def test_what_a_file_leaves_out_is_a_parameter_too(family, parameters):
    given = {key: parameters[key] for key in list(parameters)[: 1 if family == "random" else 2]}
    (each,) = sweep_problems([Table("problem", {"family": family} | given)])
    assert each.parameters == parameters
    columns = schema(Experiment("e", "", "", 1, 1, 0, (each,), (Entry("U", Uniform()),)))
    assert columns["param_seed"] == pl.Int64


def test_rates_take_allowed_couples_and_worth():
    worth = [[0, 2, 1], [2, 0, 1], [1, 1, 0]]
    (problem,) = posed("rates", rates=[0.5, 0.4, 0.3], allowed=[[0, 1], [1, 2]], worth=worth)
    assert problem == Problem([0.5, 0.4, 0.3], allowed=[(0, 1), (1, 2)], worth=worth)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"players": 6, "density": 2}, "density must lie in"),
        ({"players": 6, "density": 0.5, "random_worth": 1}, "random_worth: must be true or false"),
    ],
)
def test_bad_parameters_are_refused_with_their_place(parameters, message):
    with pytest.raises(ExperimentError, match=message):
        posed("random_graph", **parameters)


def field(name):
    return {entry.label: entry.policy for entry in load_experiment(name).entries}


def test_a_race_of_all_leaves_out_policies_for_complete_graphs():
    able, left_out = split_by_fit(field("field"), Problem.random_graph(6, 0.5))
    assert "for complete graphs" in left_out["V2 KL"]
    raced = {policy.name for policy in able.values()}
    assert "rank_one_thompson" in raced
    assert raced.isdisjoint({"unimodal", "unimodal_thompson", "osub", "sam"})


def test_two_sides_are_a_family_known_by_their_place():
    rows, columns = [[0.5, 0.4], [0.3, 0.2]], [1, 0.6]
    problems = posed("two_sided", rows=rows, columns=columns, draws=["independent", "common"])
    assert problems == [
        Problem.two_sided(each, columns, draws=draws)
        for each in rows
        for draws in ("independent", "common")
    ]
    assert problems[3].name == "two_sided(4)"


def test_results_have_the_couples_of_the_smaller_side():
    problem = Problem.click_model("std")
    assert problem.sides == (10, 5)
    assert set(compare(problem, Uniform(), 5, replications=1).frame["pairs"]) == {5}


def test_a_race_of_all_on_two_sides_is_of_policies_that_play_there():
    problem = read_problem(sides_spec(".9,.8,.3", "1,.5"))
    assert problem == Problem.two_sided([0.9, 0.8, 0.3], [1, 0.5])
    able, left_out = split_by_fit(field("field-two-sided"), problem)
    assert not left_out
    raced = {policy.name for policy in able.values()}
    assert {"grab", "unirank", "rank_one_thompson"} <= raced
    assert raced.isdisjoint({"unimodal", "unimodal_thompson", "osub", "sam"})


@pytest.mark.parametrize(("rows", "columns"), [("0.5", ""), ("", "0.5")])
def test_one_of_two_sides_is_not_enough(rows, columns):
    with pytest.raises(ExperimentError, match="two sides have rows and columns, got --"):
        sides_spec(rows, columns)
