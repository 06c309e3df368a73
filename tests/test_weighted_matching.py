import math
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from pairup import Matching, MatchingError, Problem, best_matching
from tests.support.twins import matching as naive_matching


def symmetric(weights):
    upper = np.triu(np.asarray(weights, float), 1)
    return upper + upper.T


def weight(weights, matching):
    return math.fsum(weights[i, j] for i, j in matching)


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6, 7, 8])
def test_all_players_are_matched_except_one_of_an_odd_number(players):
    random = np.random.default_rng(players)
    for _ in range(50):
        weights = symmetric(random.normal(size=(players, players)))
        matching = best_matching(weights)
        assert sorted(matching.players) == list(range(players))
        assert len(matching) == players // 2
        full = [
            each
            for each in naive_matching.matchings(list(range(players)))
            if len(each) == players // 2
        ]
        greatest = max(weight(weights, each) for each in full)
        assert weight(weights, matching) == pytest.approx(greatest, abs=1e-12)


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6, 7, 8])
def test_players_stay_out_if_that_is_worth_more(players):
    random = np.random.default_rng(players)
    for turn in range(50):
        weights = symmetric(random.normal(size=(players, players)) - turn / 25)
        matching = best_matching(weights, perfect=False)
        assert sorted(matching.players) == list(range(players))
        assert all(weights[i, j] >= 0 for i, j in matching)
        greatest = max(
            weight(weights, each) for each in naive_matching.matchings(list(range(players)))
        )
        assert weight(weights, matching) == pytest.approx(greatest, abs=1e-12)


def test_the_best_matching_of_a_problem_is_its_optimum():
    for players in (6, 9):
        problem = Problem.random(players, seed=players)
        weights = np.outer(problem.rates, problem.rates)
        assert best_matching(weights) == problem.optimum


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_weights_may_have_any_size(scale):
    weights = [[0, scale, -scale, scale], [scale, 0, scale, -scale]]
    weights += [[-scale, scale, 0, -scale], [scale, -scale, -scale, 0]]
    assert best_matching(weights) == Matching([(0, 3), (1, 2)])


def test_there_may_be_few_or_no_players():
    assert best_matching([]) == best_matching(np.zeros((0, 0))) == Matching(())
    assert best_matching([[0]]) == Matching((), [0])
    assert best_matching([[0]], perfect=False) == Matching((), [0])


def test_integers_and_booleans_are_weights():
    assert best_matching([[False, True], [True, False]], perfect=False) == Matching([(0, 1)])
    assert best_matching(np.array([[0, -3], [-3, 0]])) == Matching([(0, 1)])


def test_the_diagonal_is_ignored():
    weights = np.full((2, 2), 1.0)
    np.fill_diagonal(weights, np.nan)
    assert best_matching(weights) == Matching([(0, 1)])


def test_infinite_weights_come_first_and_the_others_decide_among_them():
    weights = np.zeros((6, 6))
    for i, j in combinations(range(6), 2):
        weights[i, j] = weights[j, i] = 10.0 * i + j
    for i, j in ((0, 1), (0, 2)):
        weights[i, j] = weights[j, i] = math.inf
    infinite, finite = naive_matching.best(weights, range(6))
    matching = best_matching(weights)
    assert naive_matching.worth(weights, matching) == (infinite, finite) == (1, 68.0)


def test_an_odd_player_whose_couples_are_all_forbidden_waits():
    weights = np.full((3, 3), -math.inf)
    weights[1, 2] = weights[2, 1] = -7.0
    assert best_matching(weights) == Matching([(1, 2)], [0])


def test_players_may_stay_out_if_all_couples_are_forbidden():
    weights = np.full((4, 4), -math.inf)
    assert best_matching(weights, perfect=False) == Matching((), range(4))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0, 1, 2], [1, 0, 3]], r"got shape \(2, 3\)"),
        ([1, 2], r"got shape \(2,\)"),
        (3, r"got shape \(\)"),
        (np.zeros((0, 2)), r"got shape \(0, 2\)"),
        ([[0, 1], [1]], "rows of different lengths"),
        ([["a", "b"], ["b", "a"]], "got <U1 such as np.str_\\('a'\\)"),
        ([[None, 1], [1, None]], "got object such as None"),
        ([[0, 1j], [1j, 0]], "got complex128"),
        ([[0, math.nan], [math.nan, 0]], "got nan for players 0 and 1"),
        ([[0, 1], [2, 0]], "got 1.0 for players 0 and 1 but 2.0 for 1 and 0"),
        ([[0, math.inf], [-math.inf, 0]], "must be symmetric"),
        ([[0, -math.inf], [-math.inf, 0]], "for all couples of player 0"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    with pytest.raises(MatchingError, match=message):
        best_matching(weights)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_weights_may_differ_from_their_mirror_images_by_rounding(form):
    random = np.random.default_rng(5)
    weights = symmetric(random.normal(size=(8, 8)))
    rounded = weights + np.triu(np.spacing(weights), 1)
    assert not np.array_equal(rounded, rounded.T)
    assert best_matching(form(rounded)) == best_matching(form(weights))
    weights[0, 1], weights[1, 0] = 1e-17, -1e-17  # what is left of a difference of larger numbers
    assert len(best_matching(form(weights))) == 4
    weights[0, 1] += 1e-9
    with pytest.raises(MatchingError, match="must be symmetric"):
        best_matching(form(weights))


def test_weights_that_forbid_every_perfect_matching_are_refused():
    weights = np.full((4, 4), -math.inf)  # a star: all know player 0 alone
    weights[0, :] = weights[:, 0] = 1.0
    with pytest.raises(MatchingError, match=r"forbidden couples in every one: allow more"):
        best_matching(weights)
    assert len(best_matching(weights, perfect=False)) == 1


def stored(weights):
    """The same weights in a sparse array, which stores those that are not -inf."""
    rows, columns = np.nonzero(weights > -math.inf)
    return sparse.coo_array((weights[rows, columns], (rows, columns)), shape=weights.shape)


@pytest.mark.parametrize("perfect", [True, False])
@pytest.mark.parametrize("form", ["coo", "csr", "csc", "lil"])
def test_a_sparse_array_is_matched_as_the_same_weights_in_full(form, perfect):
    random, refused = np.random.default_rng(0), 0
    for players in (2, 3, 6, 7, 8):
        for _ in range(25):
            weights = symmetric(random.normal(size=(players, players)))
            weights[symmetric(random.random((players, players)) < 0.5) > 0] = -math.inf
            given = stored(weights).asformat(form)
            try:
                expected = best_matching(weights, perfect=perfect)
            except MatchingError as error:
                with pytest.raises(MatchingError, match=str(error)[:50]):
                    best_matching(given, perfect=perfect)
                refused += 1
                continue
            assert best_matching(given, perfect=perfect) == expected
    assert (refused > 0) == perfect


def test_few_couples_in_a_full_array_are_matched_as_in_a_sparse_one():
    random = np.random.default_rng(1)
    weights = symmetric(random.random((60, 60)))
    weights[symmetric(random.random((60, 60)) < 0.9) > 0] = -math.inf
    assert best_matching(weights, perfect=False) == best_matching(stored(weights), perfect=False)


def test_a_stored_zero_is_a_couple_and_a_missing_entry_is_not():
    given = sparse.coo_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(3, 3))
    assert best_matching(given) == Matching([(0, 1)], [2])
    assert best_matching(given, perfect=False) == Matching([(0, 1)], [2])
    assert best_matching(sparse.coo_array((4, 4)), perfect=False) == Matching((), range(4))


def test_the_diagonal_of_a_sparse_array_is_ignored():
    given = sparse.csr_array(np.array([[math.nan, 1.0], [1.0, math.inf]]))
    assert best_matching(given) == Matching([(0, 1)])


def test_the_sparse_array_given_is_not_changed():
    given = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert best_matching(given) == Matching([(0, 1)])
    assert given.nnz == 3  # its duplicates too


@pytest.mark.parametrize(
    ("entries", "shape", "message"),
    [
        (([1.0], ([0], [1])), (2, 3), r"got shape \(2, 3\)"),
        (([1j], ([0], [1])), (2, 2), "got complex128: give floats"),
        (([1.0], ([0], [1])), (2, 2), "got 1.0 for players 0 and 1 but nothing for 1 and 0"),
        (([1.0, 2.0], ([0, 1], [1, 0])), (2, 2), "got 1.0 for players 0 and 1 but 2.0 for 1"),
        (([math.nan] * 2, ([0, 1], [1, 0])), (2, 2), "got nan for players 0 and 1"),
        (([1.0] * 2, ([0, 1], [1, 0])), (4, 4), "forbidden couples for all couples of player 2"),
    ],
)
def test_bad_sparse_weights_are_refused(entries, shape, message):
    with pytest.raises(MatchingError, match=message):
        best_matching(sparse.coo_array(entries, shape=shape))
