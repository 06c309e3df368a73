"""Families of problems, and what follows from the declaration of one."""

import inspect
import math
from typing import Annotated

import numpy as np
import pytest

from pairup import Problem, ProblemError
from pairup.cli.specs import read_problem
from pairup.errors import ExperimentError
from pairup.experiments.posed_problems import sweep_problems
from pairup.experiments.toml_table import Table
from pairup.problem.declaration import (
    FAMILIES,
    ProblemParts,
    count,
    describe_families,
    family,
    number,
    parameter_label,
)
from pairup.problem.weights import ProductWeights


def test_from_zero_descends_to_zero_in_equal_steps():
    problem = Problem.from_zero(11, 0.1)
    assert problem.rates[[0, 1, -2, -1]].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert problem.rates[::2].tolist() == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
    assert np.array_equal(problem.rates[::2], problem.rates[1::2])
    assert problem.name == "from_zero(11, 0.1)"


@pytest.mark.parametrize("pairs", range(2, 60))
def test_from_zero_may_reach_one(pairs):
    assert Problem.from_zero(pairs, 1 / (pairs - 1)).rates[0] == 1.0


def test_around_is_centred_on_its_mean():
    problem = Problem.around(0.5, 4, 0.1)
    assert problem.rates.tolist() == [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35]
    assert problem.name == "around(0.5, 4, 0.1)"
    assert Problem.around(0.85, 4, 0.1).rates[0] == 1.0
    assert Problem.around(0.15, 4, 0.1).rates[-1] == 0.0
    assert Problem.around(1.0, 1, 0.1).rates.tolist() == [1.0, 1.0]
    assert Problem.around(0.3, 2, 0.0).rates.tolist() == [0.3] * 4


def test_random_draws_from_its_distribution_by_its_seed():
    problem = Problem.random(5000, seed=3)
    assert problem == Problem.random(5000, seed=3)
    assert problem != Problem.random(5000, seed=4)
    assert problem.players == 5000
    assert abs(problem.rates.mean() - 0.5) < 0.05
    assert abs(Problem.random(5000, distribution=(2, 6)).rates.mean() - 0.25) < 0.05
    assert problem.name == "random(5000, seed=3)"
    assert Problem.random(3, distribution=(2, 5)).name == "random(3, seed=0, distribution=(2, 5))"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Problem.from_zero(1, 0.1), "pairs must be an integer of at least 2, got 1"),
        (lambda: Problem.from_zero(2.0, 0.1), r"got 2\.0"),
        (lambda: Problem.from_zero(True, 0.1), "got True"),
        (lambda: Problem.from_zero(12, 0.1), r"got 11 \* 0\.1: take a gap of at most 0\.09091"),
        (lambda: Problem.from_zero(4, 0.0), r"\(0, 1\], got 3 \* 0\.0"),
        (lambda: Problem.from_zero(4, -0.1), "got 3"),
        (lambda: Problem.from_zero(4, math.nan), "nan"),
        (lambda: Problem.from_zero(4, math.inf), "inf"),
        (lambda: Problem.around(0.5, 0, 0.1), "pairs must be an integer of at least 1, got 0"),
        (lambda: Problem.around(0.9, 4, 0.1), r"mean 0\.9 .* take a mean in \[0\.15, 0\.85\]"),
        (lambda: Problem.around(0.1, 4, 0.1), r"mean 0\.1 .* take a mean in \[0\.15, 0\.85\]"),
        (lambda: Problem.around(0.5, 12, 0.1), r"take a gap of at most 0\.09091"),
        (lambda: Problem.around(math.nan, 4, 0.1), "mean nan"),
        (lambda: Problem.around(1.5, 1, 0.1), r"take a mean in \[0, 1\]"),
        (lambda: Problem.around(0.5, 4, -0.1), "gap must be a number of at least 0"),
        (lambda: Problem.around(0.5, 4, math.nan), "gap must be a number"),
        (lambda: Problem.around(0.5, 4, math.inf), "gap must be a number"),
        (lambda: Problem.random(1), "players must be an integer of at least 2, got 1"),
        (lambda: Problem.random(4, distribution=(0, 1)), r"must be positive, got \(0, 1\)"),
        (lambda: Problem.random(4, distribution=(1, math.nan)), "must be positive"),
        (lambda: Problem.random(4, distribution=3), "must be positive, got 3"),
        (lambda: Problem.random(4, distribution=("a", 1)), "must be positive, got"),
        (lambda: Problem.random(4, distribution=(1, 2, 3)), "must be positive, got"),
        (lambda: Problem.random(4, seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: Problem.random(4, seed=None), "got None"),
        (lambda: Problem.random(4, seed="x"), "got 'x'"),
        (lambda: Problem.from_zero(4, "0.1"), "gap must be a number, got '0.1'"),
        (lambda: Problem.from_zero(4, None), "gap must be a number, got None"),
        (lambda: Problem.around(None, 4, 0.1), "mean must be a number, got None"),
        (lambda: Problem.around(0.5, 4, [0.1]), "gap must be a number, got"),
    ],
)
def test_bad_parameters_of_families_are_refused(build, message):
    with pytest.raises(ProblemError, match=message):
        build()


def test_graphs_of_a_family_have_its_density_and_its_groups():
    line = Problem.line(30, 0.1, seed=5)
    assert 0.0 <= line.graph.worth.min() <= line.graph.worth.max() <= 1.0
    assert 0.05 < len(line.graph.low) / 435 < 0.4
    groups = Problem.groups(7, 3)
    assert np.all(groups.graph.low % 3 == groups.graph.high % 3)
    half = Problem.random_graph(60, 0.5, seed=2)
    assert len(half.graph.low) / 1770 == pytest.approx(0.5, abs=0.06)
    assert np.array_equal(half.rates, Problem.random_graph(60, 0.1, seed=2).rates)


@pytest.mark.parametrize(
    ("family", "arguments", "message"),
    [
        ("random_graph", (6, 1.5), "density must lie in"),
        ("random_graph", (6, "a"), "density must be a number"),
        ("random_graph", (1, 0.5), "players must be an integer of at least 2"),
        ("random_graph", (6, 0.5, -1), "seed must be an integer of at least 0"),
        ("line", (6, 0.0), "window must be a positive number"),
        ("groups", (6, 0), "groups must be an integer of at least 1"),
    ],
)
def test_bad_families_are_refused(family, arguments, message):
    with pytest.raises(ProblemError, match=message):
        getattr(Problem, family)(*arguments)


def test_help_shows_the_parameters_of_a_family_and_that_it_makes_a_problem():
    signature = inspect.signature(Problem.random)
    assert list(signature.parameters) == ["players", "seed", "distribution"]
    assert signature.return_annotation == "Problem"
    assert Problem.random.__doc__.startswith("Draw the rates")


@pytest.mark.parametrize("given", [{"players": 4}, {"players": 4, "window": 0.2, "size": 1}])
def test_parameters_that_are_missing_or_unknown_are_refused(given):
    with pytest.raises(TypeError):
        Problem.from_family("line", **given)


def test_an_unknown_family_is_refused_with_the_nearest():
    with pytest.raises(ProblemError, match=r"family cannot be 'arround'; did you mean \"around\""):
        Problem.from_family("arround", mean=0.5, pairs=2, gap=0.1)


def test_a_name_shows_what_is_required_what_differs_from_its_default_and_the_seed():
    assert Problem.random(3).name == "random(3, seed=0)"
    assert Problem.random_graph(3, 0.5, 2).name == "random_graph(3, 0.5, seed=2)"
    named = Problem.random_graph(3, 0.5, random_worth=True).name
    assert named == "random_graph(3, 0.5, seed=0, random_worth=True)"
    assert Problem.click_model("std").name == "click_model(std)"
    assert Problem.from_family("rates", rates=[0.5, 0.2]) == Problem([0.5, 0.2])
    assert Problem.from_family("rates", rates=[0.5, 0.2]).name == ""


@pytest.fixture
def stairs():
    """A family that somebody adds, in one place."""

    @family
    def stairs(
        players: Annotated[int, count(2), "players on stairs"],
        top: Annotated[float, number("try 0.9", "lie in [0, 1]", lambda top: 0 <= top <= 1)] = 0.5,
    ) -> ProblemParts:
        """Space rates evenly, down to 0.

        Parameters
        ----------
        players
            Number of players.
        top
            Rate of the best player.
        """
        return ProblemParts((ProductWeights(np.linspace(top, 0, players)),))

    yield stairs
    del FAMILIES["stairs"]


def test_a_family_is_declared_in_one_place(stairs):
    assert Problem.from_family("stairs", players=3).rates.tolist() == [0.5, 0.25, 0.0]
    assert describe_families()[-1] == {
        "family": "stairs",
        "parameters": "players, [top]",
        "about": "Space rates evenly, down to 0",
    }
    tables = [Table("[problem]", {"family": "stairs", "players": [2, 3]})]
    first, second = sweep_problems(tables)
    assert first.parameters == {"players": 2, "top": 0.5}
    assert second.problem.name == "stairs(3)"
    assert read_problem("stairs:players=4,top=0.8").name == "stairs(4, top=0.8)"
    assert parameter_label("players") == "players"  # that of the first family


def test_parameters_of_a_family_are_checked_by_its_declaration(stairs):
    with pytest.raises(ProblemError, match="players must be an integer of at least 2, got 1"):
        Problem.from_family("stairs", players=1)
    with pytest.raises(ProblemError, match=r"top must lie in \[0, 1\], got 2: try 0.9"):
        Problem.from_family("stairs", players=2, top=2)
    with pytest.raises(ExperimentError, match="top: must be a number, or a list of such, got 'a'"):
        sweep_problems([Table("", {"family": "stairs", "players": 2, "top": "a"})])
