"""Problems of two sides, whose players meet only the other side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup import Matching, MatchingError, Problem, ProblemError, best_matching
from tests.support.twins.matching import assignments

RATES = st.lists(st.integers(0, 100).map(lambda rate: rate / 100), min_size=1, max_size=4)


def all_matchings(rows, columns):
    """Every way to couple the smaller side with some players of the larger one."""
    for assignment in assignments(rows, columns):
        yield [(row, rows + column) for row, column in assignment]


@given(RATES, RATES)
def test_the_optimum_is_the_best_of_all_matchings(rows, columns):
    problem = Problem.two_sided(rows, columns)
    best = max(map(problem.games, all_matchings(len(rows), len(columns))))
    assert problem.best_games == pytest.approx(best, abs=1e-15)
    assert len(problem.optimum) == problem.pairs == min(len(rows), len(columns))
    assert sorted(problem.optimum.players) == list(range(problem.players))
    assert problem.regret(problem.optimum) == 0


@given(RATES, RATES)
def test_it_is_the_problem_of_the_couples_across(rows, columns):
    problem = Problem.two_sided(rows, columns)
    across = [(i, len(rows) + k) for i in range(len(rows)) for k in range(len(columns))]
    graph = Problem(rows + columns, allowed=across)
    assert np.stack([problem.graph.low, problem.graph.high], axis=1).tolist() == [
        list(couple) for couple in across
    ]
    assert problem.best_games == pytest.approx(graph.best_games, abs=1e-15)
    inside = problem.couple_rates[: len(rows), : len(rows)]
    assert not inside.any()
    allowed = np.where(problem.graph.worth_table() == 1, problem.couple_rates, -np.inf)
    exact = best_matching(allowed, perfect=False)
    assert problem.games(exact) == pytest.approx(problem.best_games, abs=1e-15)


def test_more_rows_than_columns_leave_the_worst_rows_unmatched():
    problem = Problem.two_sided([0.1, 0.4, 0.2, 0.3], [0.5, 1.0])
    assert problem.optimum == Matching([(1, 5), (3, 4)], waiting=[2, 0])
    assert problem.optimum.waiting == (2, 0)


def test_more_columns_than_rows_leave_the_worst_columns_unmatched():
    problem = Problem.two_sided([0.5, 1.0], [0.1, 0.4, 0.2, 0.3])
    assert problem.optimum == Matching([(1, 3), (0, 5)], waiting=[4, 2])


def test_a_large_problem_has_an_optimum_without_a_table_of_couples():
    rates = np.linspace(0.1, 0.9, 200_000)
    problem = Problem.two_sided(rates, rates[:100_000])
    assert problem.optimum[0] == (199_999, 299_999)
    assert problem.best_games > 0


@pytest.mark.parametrize(
    ("couples", "message"),
    [
        ([(0, 1)], r"players 0 and 1 may not meet, both are rows: couple the rows, 0 to 1,"),
        ([(3, 2)], r"both are columns: .* with the columns, 2 to 3"),
        ([(0, 4)], r"integers 0 to 3, got 4"),
    ],
)
def test_couples_of_one_side_are_refused(couples, message):
    with pytest.raises(MatchingError, match=message):
        Problem.two_sided([0.5, 0.5], [0.5, 0.5]).games(couples)


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        ([], [0.5], r"rates of rows are one number for each of at least 1 player, .*shape \(0,\)"),
        ([0.5], [], r"rates of columns are one number for each of at least 1 player"),
        ([0.5, 1.5], [0.5], r"rates of rows must lie in \[0, 1\], got 1.5 for player 1: give prob"),
        ([0.5], [0.5, -0.1], r"rates of columns must lie in \[0, 1\], got -0.1 for player 1"),
        ([0.5], [np.nan], r"rates of columns must lie in \[0, 1\], got nan for player 0"),
        ([[0.5]], [0.5], r"rates of rows are one number .*shape \(1, 1\): give a flat list"),
        (["0.5"], [0.5], r"rates of rows must be numbers, got '0.5' for player 0"),
    ],
)
def test_bad_sides_are_refused(rows, columns, message):
    with pytest.raises(ProblemError, match=message):
        Problem.two_sided(rows, columns)


def test_unknown_draws_are_refused():
    with pytest.raises(ProblemError, match="'commom'; did you mean"):
        Problem.two_sided([0.5], [0.5], draws="commom")


def test_pieces_of_other_sides_are_refused():
    pieces = [Problem.two_sided([0.5, 0.5], [0.5]), Problem.two_sided([0.5], [0.5, 0.5])]
    with pytest.raises(ProblemError, match="sides and draws do not: give all pieces the same"):
        Problem.piecewise([0, 10], pieces)


def test_it_shows_itself_as_it_was_made():
    problem = Problem.two_sided([0.5], [0.25, 1.0], "mine", draws="common")
    assert repr(problem) == "Problem.two_sided([0.5], [0.25, 1.0], name='mine', draws='common')"
    assert Problem([0.5, 0.25]).sides is None
    assert not problem.is_complete


def test_a_notebook_shows_the_couples_and_who_waits():
    shown = Problem.two_sided([0.5, 0.25, 0.125], [1.0], "mine")._repr_html_()
    assert "mine: 3 rows, 1 columns" in shown
    assert "best column" in shown
    assert shown.count("waits") == 2
    many = Problem.two_sided(np.full(40, 0.5), np.full(3, 0.5))._repr_html_()
    assert many.count("waits") == 17
    assert "20 more" in many
