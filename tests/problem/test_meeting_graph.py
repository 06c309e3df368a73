import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup import Matching, MatchingError, Problem, ProblemError, bounds
from pairup.problem.meeting_graph import MeetingGraph
from tests.support.twins.matching import matchings


def best_worth(problem, couples, worth):
    rates, best = problem.rates.tolist(), 0.0
    for each in matchings(range(problem.players)):
        if set(each) <= set(couples):
            best = max(best, math.fsum(worth[i][j] * rates[i] * rates[j] for i, j in each))
    return best


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_the_optimum_is_the_best_of_all_matchings_and_has_most_couples(data):
    n = data.draw(st.integers(2, 8))
    pairs = list(itertools.combinations(range(n), 2))
    couples = sorted(data.draw(st.sets(st.sampled_from(pairs))))
    number = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
    rates = data.draw(st.lists(number, min_size=n, max_size=n))
    worth = np.zeros((n, n))
    for i, j in couples:
        worth[i, j] = worth[j, i] = data.draw(number)
    problem = Problem(rates, allowed=couples, worth=worth)
    optimum = problem.optimum
    assert set(optimum.players) == set(range(n))
    assert set(optimum) <= set(couples)
    best = best_worth(problem, couples, worth)
    assert problem.best_games == pytest.approx(best, rel=1e-12, abs=1e-300)
    assert problem.regret(optimum) == 0.0
    waiting = set(optimum.waiting)
    assert not any(waiting.issuperset(couple) for couple in couples)
    values = [worth[c] * problem.rates[c[0]] * problem.rates[c[1]] for c in optimum]
    assert values == sorted(values, reverse=True)


def test_the_optimum_is_perfect_where_that_costs_nothing():
    rates = [1.0, 1.0, 1.0, 1.0]
    problem = Problem(rates, allowed=[(0, 1), (1, 2), (2, 3)])
    assert problem.optimum == Matching([(0, 1), (2, 3)])
    worth = np.array([[0, 0, 0, 0], [0, 0, 9, 0], [0, 9, 0, 0], [0, 0, 0, 0]])
    problem = Problem(rates, allowed=[(0, 1), (1, 2), (2, 3), (0, 3)], worth=worth)
    assert problem.optimum == Matching([(1, 2), (0, 3)])


def test_a_matrix_and_a_list_of_couples_say_the_same():
    table = np.zeros((4, 4), bool)
    table[0, 1] = table[1, 0] = table[3, 2] = table[2, 3] = True
    one = Problem([0.5] * 4, allowed=table)
    other = Problem([0.5] * 4, allowed=[(1, 0), (2, 3), (0, 1)])
    assert one == other
    assert hash(one) == hash(other)
    assert one != Problem([0.5] * 4)
    assert one != Problem([0.5] * 4, allowed=table, worth=np.full((4, 4), 2))


def test_all_couples_worth_one_are_no_graph_at_all():
    plain = Problem([0.1, 0.2, 0.3])
    assert Problem(plain.rates, allowed=np.ones((3, 3), bool), worth=np.ones((3, 3))) == plain
    assert Problem.random_graph(5, 1.0, seed=4).graph is None
    assert Problem.random_graph(5, 1.0, seed=4) == Problem.random(5, seed=4)
    assert Problem.groups(5, 1, seed=4) == Problem.random(5, seed=4)


def test_regret_and_games_are_in_worth():
    worth = np.array([[0, 4, 1], [4, 0, 1], [1, 1, 0]])
    problem = Problem([0.5, 0.5, 1.0], worth=worth)
    assert problem.optimum == Matching([(0, 1)], [2])
    assert problem.best_games == 1.0
    assert problem.regret([(0, 2)]) == 0.5


def test_couples_that_are_not_allowed_are_refused_in_a_matching():
    problem = Problem([0.5] * 4, allowed=[(0, 1)])
    with pytest.raises(MatchingError, match="players 2 and 3 may not meet"):
        problem.games([(0, 1), (2, 3)])


def test_a_problem_with_a_graph_survives_its_definition_and_pickling():
    for problem in (
        Problem.random_graph(6, 0.5, seed=1, random_worth=True),
        Problem.line(6, 0.3),
        Problem.groups(6, 2),
        Problem.from_matrix(np.full((3, 3), 0.5), allowed=[(0, 2)]),
        Problem.piecewise([0, 9], [Problem([0.1, 0.2, 0.3], allowed=[(0, 2)])] * 2),
        Problem([0.5, 0.4], allowed=[]),
    ):
        assert Problem.from_definition(problem.definition()) == problem
        assert pickle.loads(pickle.dumps(problem)) == problem
        assert problem.renamed("other") == problem
    assert "allowed" not in Problem([0.5, 0.4]).definition()


def test_pieces_share_the_allowed_couples():
    graph = [(0, 1)]
    problem = Problem.piecewise([0, 5], [Problem([0.1, 0.9, 0.5], allowed=graph)] * 2)
    assert problem.at(7).optimum == Matching([(0, 1)], [2])
    with pytest.raises(ProblemError, match="give all pieces the same"):
        Problem.piecewise([0, 5], [Problem([0.1, 0.9, 0.5], allowed=graph), [0.1, 0.2, 0.3]])


def test_gaps_and_the_limit_need_the_complete_graph():
    problem = Problem([0.9, 0.7, 0.5], allowed=[(0, 1), (1, 2)])
    with pytest.raises(ProblemError, match="all couples may meet"):
        _ = problem.gap
    limit = bounds.lower(problem)
    assert math.isnan(limit.constant)
    assert "not in groups within which all may meet" in limit.reason


def test_the_limits_of_groups_add_up_in_worth():
    rates = [0.9, 0.8, 0.8, 0.5, 0.6, 0.4, 0.3, 0.2, 0.5]
    groups = [[0, 2, 4, 6], [1, 3, 5, 7], [8]]
    worth = np.zeros((9, 9))
    for group, each in zip(groups, (3.0, 0.5, 1.0), strict=True):
        worth[np.ix_(group, group)] = each
    allowed = (worth > 0) & ~np.eye(9, dtype=bool)
    problem = Problem(rates, allowed=allowed, worth=worth)
    limit = bounds.lower(problem)
    first, second = (bounds.lower(Problem(np.array(rates)[group])) for group in groups[:2])
    assert limit.constant == pytest.approx(3.0 * first.constant + 0.5 * second.constant)
    spent = sum(often * problem.regret(matching) for matching, often in limit.exploration)
    assert spent == pytest.approx(limit.certified)


def test_the_limit_of_equal_worth_is_that_of_games_times_the_worth():
    plain = Problem([0.9, 0.8, 0.4, 0.3])
    dear = Problem(plain.rates, worth=np.full((4, 4), 5.0))
    assert bounds.lower(dear).constant == pytest.approx(5.0 * bounds.lower(plain).constant)


RATES = [0.5, 0.4, 0.3]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"allowed": [(0, 3)]}, "players 0 to 2, got 3"),
        ({"allowed": [(0, "b")]}, "players 0 to 2, got 'b'"),
        ({"allowed": np.ones((2, 2), bool)}, r"got shape \(2, 2\)"),
        (
            {"allowed": [[0, 1, 0], [1, 0, 0], [0, 0, 0]]},
            r"of Booleans, got \[0, 1, 0\]",
        ),
        ({"allowed": np.triu(np.ones((3, 3), bool), 1)}, "must be symmetric, got True for players"),
        ({"worth": np.full((3, 3), -1)}, "at least 0 .* got -1.0 for players 0 and 1"),
        ({"worth": np.full((3, 3), math.nan)}, "got nan for players 0 and 1"),
        ({"worth": np.full((3, 3), math.inf)}, "got inf for players 0 and 1"),
        ({"worth": np.triu(np.ones((3, 3)), 1)}, "worth must be symmetric, got 1.0"),
        ({"worth": np.ones((2, 2))}, r"of shape \(2, 2\)"),
        ({"worth": [[1, 2], [1]]}, "several lengths"),
        ({"worth": [["a"] * 3] * 3}, "got an array of <U1"),
    ],
)
def test_bad_rules_are_refused(rules, message):
    with pytest.raises(ProblemError, match=message):
        Problem(RATES, **rules)


def test_a_couple_of_one_player_is_refused():
    with pytest.raises(MatchingError, match="with itself"):
        MeetingGraph(3, [(1, 1)])
