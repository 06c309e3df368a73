import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pairup import Matching, MatchingError, Problem, ProblemError

# Hundredths make ties common, and keep products far from underflow.
RATES = st.integers(0, 100).map(lambda hundredths: hundredths / 100)


def problems(most=8):
    return st.lists(RATES, min_size=2, max_size=most).map(Problem)


def all_matchings(players):
    """Every way to pair all players, one waiting when they are odd."""
    if len(players) < 2:
        yield Matching([], players)
        return
    first, *others = players
    for k, partner in enumerate(others):
        for rest in all_matchings(others[:k] + others[k + 1 :]):
            yield Matching([(first, partner), *rest], rest.waiting)
    if len(players) % 2:
        for rest in all_matchings(others):
            yield Matching(rest, [first])


def neighbours(problem):
    """The paper's neighbours of the optimum, by swapping names; the phantom is called None."""
    leader = [
        sorted(couple, key=lambda i: (-problem.rates[i], i)) for couple in problem.optimum
    ] + [[player, None] for player in problem.optimum.waiting]
    for k in range(len(leader) - 1):
        (i, i2), (j, j2) = leader[k : k + 2]
        for swapped in ([[j, i2], [i, j2]], [[j2, i2], [i, j]]):
            yield [
                couple for couple in leader[:k] + swapped + leader[k + 2 :] if None not in couple
            ]


# --- the optimum ---------------------------------------------------------------------------------


@given(problems())
def test_no_matching_beats_the_optimum(problem):
    everyone = list(range(problem.players))
    most = max(problem.games(matching) for matching in all_matchings(everyone))
    assert problem.best_games == pytest.approx(most, abs=1e-12)
    assert problem.games(problem.optimum) == problem.best_games
    assert sorted(problem.optimum.players) == everyone


@given(problems(most=30))
def test_couples_of_the_optimum_come_best_first(problem):
    optimum = problem.optimum
    assert len(optimum) == problem.pairs == problem.players // 2
    assert len(optimum.waiting) == problem.players % 2
    assert all(one < other for one, other in optimum)
    by_couple = [sorted(problem.rates[list(couple)], reverse=True) for couple in optimum]
    flat = [rate for couple in by_couple for rate in couple]
    flat += [problem.rates[player] for player in optimum.waiting]
    assert flat == sorted(problem.rates, reverse=True)


def test_ties_go_to_the_lower_index():
    assert Problem([0.5] * 5).optimum.couples == ((0, 1), (2, 3))
    assert Problem([0.5] * 5).optimum.waiting == (4,)


# --- games and regret ----------------------------------------------------------------------------


@given(problems(), st.randoms(use_true_random=False))
def test_regret_is_not_negative_and_does_not_depend_on_the_order(problem, rng):
    players = list(range(problem.players))
    rng.shuffle(players)
    couples = list(zip(players[::2], players[1::2], strict=False))
    regret = problem.regret(couples)
    assert regret >= 0
    rng.shuffle(couples)
    assert problem.regret(Matching([couple[::-1] for couple in couples])) == regret
    assert problem.regret(reversed(problem.optimum)) == 0


def test_games_accepts_any_couples():
    problem = Problem([0.5, 1.0, 0.5, 1.0])
    for couples in (
        [(0, 1), (2, 3)],
        iter([(0, 1), (2, 3)]),
        np.array([[0, 1], [2, 3]]),
        Matching([(0, 1), (2, 3)]),
        [{0, 1}, [3, 2]],
    ):
        assert problem.games(couples) == 1.0
    assert problem.games([]) == 0.0
    assert problem.games([(1, 3)]) == 1.0
    assert problem.regret([(1, 3)]) == 0.25


@pytest.mark.parametrize(
    ("couples", "message"),
    [
        ([(0, 4)], "the integers 0 to 3, got 4: use the index"),
        ([(0, -1)], "got -1"),
        ([(0, 1.0)], r"got 1\.0"),
        ([(0, True)], "got True"),
        ([("a", "b")], "got 'a'"),
        (Matching([("a", "b")]), "got 'a'"),
        (Matching([(0, 1)], waiting=[9]), "got 9"),
        ([(0, 1), (1, 2)], "got 1 twice"),
        ([(0, 1, 2)], "exactly two"),
        ([0, 1], "exactly two"),
    ],
)
def test_games_refuses_couples_that_are_not_a_matching(couples, message):
    problem = Problem([0.5, 1.0, 0.5, 1.0])
    for method in (problem.games, problem.regret):
        with pytest.raises(MatchingError, match=message):
            method(couples)


# --- the gaps ------------------------------------------------------------------------------------


@given(problems(most=11))
def test_gaps_are_the_regrets_of_the_neighbours(problem):
    regrets = [problem.regret(neighbour) for neighbour in neighbours(problem)]
    assert len(regrets) == 2 * math.ceil(problem.players / 2) - 2
    assert problem.neighbour_gaps == pytest.approx(np.array(regrets), abs=1e-12)
    assert problem.gap == min(problem.neighbour_gaps, default=math.inf)
    assert problem.strict_order == all(problem.neighbour_gaps > 0)


@given(problems())
def test_in_strict_order_the_nearest_matchings_are_neighbours(problem):
    """The paper's Delta is the least regret of all matchings but the optimum."""
    assume(problem.strict_order and problem.players > 2)
    everyone = list(range(problem.players))
    others = (each for each in all_matchings(everyone) if each != problem.optimum)
    assert problem.gap == pytest.approx(min(map(problem.regret, others)), abs=1e-12)


@given(problems(most=11))
def test_player_gap_is_the_least_of_all_labellings(problem):
    rates = sorted(problem.rates, reverse=True) + [0.0] * (problem.players % 2)
    couples = list(zip(rates[::2], rates[1::2], strict=True))
    labellings = [
        better[a] * (better[1 - a] - worse[b])
        for better, worse in pairwise(couples)
        for a in (0, 1)
        for b in (0, 1)
    ]
    assert problem.player_gap == pytest.approx(min(labellings, default=math.inf), abs=1e-12)
    assert len(problem.player_gaps) == len(problem.neighbour_gaps)
    assert np.all(problem.player_gaps >= problem.neighbour_gaps - 1e-12)


@given(problems(most=11))
def test_player_gaps_are_what_the_criterion_compares(problem):
    """The leader's better couple against the two couples that a swap gives."""
    leader = [list(couple) for couple in problem.optimum]
    for gap, neighbour in zip(problem.player_gaps, neighbours(problem), strict=True):
        new = [problem.games([c]) for c in neighbour if sorted(c) not in leader]
        better = max(problem.games([c]) for c in problem.optimum if c not in Matching(neighbour))
        # For odd n the couple with the phantom is missing, and plays no game.
        assert gap == pytest.approx(better - max(new), abs=1e-12)


@given(RATES, RATES, RATES, RATES)
def test_a_swap_loses_the_product_of_the_differences(i, i2, j, j2):
    problem = Problem([i, i2, j, j2])
    change = problem.games([(2, 1), (0, 3)]) - problem.games([(0, 1), (2, 3)])
    assert change == pytest.approx(-(i - j) * (i2 - j2), abs=1e-12)


def test_two_players_have_infinite_gaps():
    problem = Problem([0.5, 0.5])
    assert problem.neighbour_gaps.shape == problem.player_gaps.shape == (0,)
    assert problem.gap == problem.player_gap == math.inf
    assert problem.strict_order


def test_gaps_of_three_players_are_those_of_other_players_waiting():
    problem = Problem([0.25, 1.0, 0.5])
    assert problem.neighbour_gaps.tolist() == [0.375, 0.25]
    assert problem.regret(Matching([(0, 2)], waiting=[1])) == 0.375
    assert problem.regret(Matching([(0, 1)], waiting=[2])) == 0.25


def test_equal_rates_have_no_strict_order():
    problem = Problem([0.5] * 6)
    assert not problem.strict_order
    assert problem.gap == problem.player_gap == 0


def test_gaps_of_the_families_in_the_paper_are_known():
    assert Problem.from_zero(4, 0.1).gap == pytest.approx(0.01)
    assert Problem.around(0.5, 4, 0.1).gap == pytest.approx(0.01)
    assert Problem.around(0.5, 4, 0.1).player_gap == pytest.approx(0.45 * 0.1)


# --- building ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([0.5, 0.5, 0.5, 1.2], r"must lie in \[0, 1\], got 1\.2 for player 3: give probabilities"),
        ([-0.1, 0.5], r"got -0\.1 for player 0"),
        ([0.5, math.nan], "got nan for player 1: leave the player out"),
        ([0.5, math.inf], "got inf for player 1"),
        ([50, 80], r"got 50\.0 for player 0: .*percentages"),
        ([], r"at least 2 players, got an array of shape \(0,\)"),
        ([0.5], r"shape \(1,\)"),
        (0.5, r"shape \(\)"),
        ([[0.5, 0.5], [0.5, 0.5]], r"shape \(2, 2\): give a flat list"),
        ([[0.5], [0.5, 0.5]], "several lengths"),
        ([0.5, True], "must be numbers, got True for player 1"),
        (np.array([True, False]), "must be numbers"),
        (["0.5", 0.5], "got '0.5' for player 0: convert"),
        ("0.5", "got '0.5'"),
        ([0.5, None], "got None for player 1"),
        ([0.5, 1j], "must be numbers"),
        ({0: 0.5, 1: 0.5}, "must be numbers"),
        (["x" * 100] * 2, "must be numbers"),
        (np.array(["x" * 100] * 2), r"must be numbers, got .{57}\.\.\.: give"),
    ],
)
def test_bad_rates_are_refused(rates, message):
    with pytest.raises(ProblemError, match=message):
        Problem(rates)


# --- a value -------------------------------------------------------------------------------------


def test_rates_are_copied_and_read_only():
    given_rates = np.array([0.9, 0.1, 0.5])
    problem = Problem(given_rates, "mine")
    given_rates[0] = 0.0
    assert problem.rates.tolist() == [0.9, 0.1, 0.5]
    assert problem.rates.dtype == np.float64
    for array in (problem.rates, problem.neighbour_gaps, problem.player_gaps):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(FrozenInstanceError):
        problem.rates = given_rates


def test_equality_and_hash_are_by_rates():
    problem = Problem([0, 1])
    assert problem == Problem((0.0, 1.0), "other name") == Problem(np.array([-0.0, 1.0]))
    assert hash(problem) == hash(Problem([-0.0, 1.0]))
    assert problem != Problem([1, 0])
    assert problem != Problem([0, 1, 1])
    assert problem != [0, 1]


def test_copies_stay_read_only():
    problem = Problem([0.9, 0.1], "mine")
    for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem), copy.copy(problem)):
        assert twin == problem
        assert twin.name == "mine"
        assert not twin.rates.flags.writeable


def test_the_repr_shows_the_first_rates_and_the_name():
    assert repr(Problem([1, 0.25])) == "Problem([1.0, 0.25])"
    assert repr(Problem([1, 0.25], "mine")) == "Problem([1.0, 0.25], name='mine')"
    long = "Problem([1.0, 1.0, 0.9, 0.9, 0.8, 0.8, 0.7, 0.7, ... 22 players]"
    assert repr(Problem.from_zero(11, 0.1)) == f"{long}, name='from_zero(11, 0.1)')"


# --- couples with rates of their own -------------------------------------------------------------


def matrices(most=7):
    """Symmetric matrices of hundredths."""

    def symmetric(players):
        upper = st.lists(RATES, min_size=players**2, max_size=players**2)
        return upper.map(lambda flat: np.triu(np.reshape(flat, (players, players)), 1)).map(
            lambda half: half + half.T
        )

    return st.integers(2, most).flatmap(symmetric)


@given(matrices())
def test_no_matching_beats_the_optimum_of_a_matrix(matrix):
    problem = Problem.from_matrix(matrix)
    everyone = list(range(len(matrix)))
    games = [sum(matrix[i, j] for i, j in each) for each in all_matchings(everyone)]
    assert problem.best_games == pytest.approx(max(games), abs=1e-12)
    assert sorted(problem.optimum.players) == everyone
    assert len(problem.optimum) == problem.pairs
    weights = [matrix[couple] for couple in problem.optimum]
    assert weights == sorted(weights, reverse=True)
    for matching, expected in zip(all_matchings(everyone), games[:3], strict=False):
        assert problem.games(matching) == pytest.approx(expected, abs=1e-12)
        assert problem.regret(matching) == pytest.approx(max(games) - expected, abs=1e-12)


@given(problems())
def test_a_matrix_of_products_is_worth_what_the_rates_are(problem):
    twin = Problem.from_matrix(problem.couple_rates)
    assert twin.best_games == pytest.approx(problem.best_games, abs=1e-12)
    assert twin.regret(problem.optimum) == pytest.approx(0, abs=1e-12)
    assert twin != problem  # they are played by other draws
    assert np.array_equal(twin.couple_rates, problem.couple_rates)


def test_the_diagonal_of_a_matrix_is_ignored():
    problem = Problem.from_matrix([[math.nan, 0.5], [0.5, 7]])
    assert problem.couple_rates.tolist() == [[0, 0.5], [0.5, 0]]
    assert problem == Problem.from_matrix([[0, 0.5], [0.5, -1]])


def test_rates_of_couples_may_differ_by_rounding():
    problem = Problem.from_matrix([[0, 0.1 + 0.2], [0.3, 0]])
    assert np.array_equal(problem.couple_rates, problem.couple_rates.T)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([0.5, 0.5], r"a square matrix, .* got an array of shape \(2,\)"),
        ([[0, 0.5]], r"shape \(1, 2\)"),
        ([[0.5]], r"shape \(1, 1\)"),
        ([[0, 0.5], [0.4, 0]], "symmetric, got 0.5 for players 0 and 1 but 0.4 for 1 and 0"),
        ([[0, 1.5], [1.5, 0]], r"in \[0, 1\], got 1.5 for players 0 and 1: give the probability"),
        ([[0, math.nan], [math.nan, 0]], "got nan for players 0 and 1"),
        ([[0, 0.5], [0.5]], r"several lengths: give \[\[0"),
        ([["a", "b"], ["b", "a"]], "must be numbers"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(ProblemError, match=message):
        Problem.from_matrix(matrix)


def test_what_needs_products_is_refused_on_a_matrix_with_the_reason():
    problem = Problem.from_matrix([[0, 0.5], [0.5, 0]], "mine")
    assert not problem.has_player_rates
    for name in ("rates", "neighbour_gaps", "player_gaps", "gap", "player_gap", "strict_order"):
        with pytest.raises(ProblemError, match="need couples that play with the product"):
            getattr(problem, name)
    assert repr(problem) == "Problem.from_matrix(... 2 players, name='mine')"


# --- rates that change ---------------------------------------------------------------------------

PIECES = ([0.9, 0.9, 0.1, 0.1], [0.9, 0.1, 0.9, 0.1])


def test_the_best_matching_is_that_of_the_moment():
    problem = Problem.piecewise([0, 10], PIECES, "mine")
    assert [problem.at(round) for round in (0, 9, 10, 99)] == [
        Problem(PIECES[k]) for k in (0, 0, 1, 1)
    ]
    assert problem.at(10).optimum == Matching([(0, 2), (1, 3)])
    assert problem.pieces == (Problem(PIECES[0]), Problem(PIECES[1]))
    assert (problem.players, problem.pairs, problem.starts) == (4, 2, (0, 10))
    assert repr(problem) == "Problem.piecewise([0, 10], ... 4 players, name='mine')"


def test_a_problem_without_changes_is_its_only_piece():
    problem = Problem(PIECES[0])
    assert problem.pieces == (problem,)
    assert problem.at(10**9) is problem
    assert Problem.piecewise([0], PIECES[:1]) == problem


def test_pieces_may_be_problems():
    matrix = Problem.from_matrix([[0, 0.5], [0.5, 0]])
    problem = Problem.piecewise([0, 5], [[0.5, 0.5], matrix])
    assert problem.at(5) == matrix
    with pytest.raises(ProblemError, match="belongs to a moment"):
        Problem.piecewise([0, 7], [problem, matrix])


@pytest.mark.parametrize(
    "ask",
    [
        lambda problem: problem.rates,
        lambda problem: problem.couple_rates,
        lambda problem: problem.optimum,
        lambda problem: problem.best_games,
        lambda problem: problem.gap,
        lambda problem: problem.strict_order,
        lambda problem: problem.regret([(0, 1), (2, 3)]),
    ],
)
def test_what_belongs_to_a_moment_is_asked_of_the_moment(ask):
    problem = Problem.piecewise([0, 10], PIECES)
    with pytest.raises(ProblemError, match=r"change after 10 rounds, .* that at\(round\) returns"):
        ask(problem)
    ask(problem.at(10))


@pytest.mark.parametrize(
    ("starts", "rates", "message"),
    [
        ([1, 10], PIECES, r"ascend from 0, got \[1, 10\]: try \[0, 1000\]"),
        ([0, 0], PIECES, "ascend from 0"),
        ([0, 20, 10], [*PIECES, PIECES[0]], "ascend from 0"),
        ([], [], "ascend from 0"),
        ([0, 1.5], PIECES, "starts must be an integer of at least 0, got 1.5"),
        (10, PIECES, "starts must be a list of numbers of rounds, got 10"),
        ([0], PIECES, "got 1 starts and 2 pieces"),
        ([0, 10], [PIECES[0], [0.5, 0.5]], "same players, got 2 and 4 of them"),
        ([0, 10], [PIECES[0], [0.5, 1.5, 0, 0]], r"got 1.5 for player 1"),
        ([0, 10], 0.5, "must be a list of rates, got 0.5"),
    ],
)
def test_bad_pieces_are_refused(starts, rates, message):
    with pytest.raises(ProblemError, match=message):
        Problem.piecewise(starts, rates)


KINDS = [
    Problem(PIECES[0], "mine"),
    Problem.from_matrix([[0, 0.25], [0.25, 0]], "mine"),
    Problem.piecewise([0, 5], [[0.5, 0.5], Problem.from_matrix([[0, 0.1], [0.1, 0]])], "mine"),
    Problem.two_sided([0.5, 0.25], [1.0], "mine"),
    Problem.two_sided([0.5], [0.25, 1.0], "mine"),
    Problem.two_sided([0.5, 0.25], [1.0], "mine", draws="common"),
    Problem.piecewise(
        [0, 5],
        [Problem.two_sided([rate, 0.5], [0.75], draws="common") for rate in (0.25, 1.0)],
        "mine",
    ),
]


@pytest.mark.parametrize("problem", KINDS, ids=repr)
def test_every_kind_of_problem_survives_a_copy_and_its_definition(problem):
    plain = json.loads(json.dumps(problem.definition()))
    twins = [
        pickle.loads(pickle.dumps(problem)),
        copy.deepcopy(problem),
        Problem.from_definition(plain, "mine"),
    ]
    for twin in twins:
        assert twin == problem
        assert hash(twin) == hash(problem)
        assert twin.name == problem.name == "mine"
        assert not twin.at(0).couple_rates.flags.writeable
    assert [each == problem for each in KINDS].count(True) == 1
    assert problem.renamed("yours") == problem
    assert problem.renamed("yours").name == "yours"
