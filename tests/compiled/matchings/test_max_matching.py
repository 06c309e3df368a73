import math

import numpy as np
import pytest
import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup.compiled.matchings.max_matching import (
    NO_MATCHING,
    SOLVED,
    new_matching_workspace,
    reset,
    solve,
)
from tests.support.twins import matching as naive_matching

ROUNDING = 1e-13  # of the greatest weight, a couple

FAMILIES = {
    "normal": lambda random, n: random.normal(size=(n, n)),
    "uniform": lambda random, n: random.random((n, n)),
    "tied": lambda random, n: random.integers(0, 3, (n, n)),
    "signs": lambda random, n: random.integers(-1, 2, (n, n)),
    "heavy tails": lambda random, n: random.standard_cauchy((n, n)) ** 3,
    "rank one": lambda random, n: np.outer(*[random.random(n)] * 2),
    "two halves": lambda random, n: (
        np.equal.outer(*[np.arange(n) < n // 2] * 2) + 0.1 * random.random((n, n))
    ),
    "all equal": lambda random, n: np.full((n, n), -2.5),
    "far from zero": lambda random, n: 1e9 + random.random((n, n)),
    "tiny": lambda random, n: 1e-200 * random.random((n, n)),
}


def symmetric(weights):
    upper = np.triu(np.asarray(weights, float), 1)
    return upper + upper.T


def assert_best(workspace, weights, players):
    """Solve, and check against a proof and, when they are few, all matchings."""
    assert solve(workspace, weights, players) == SOLVED
    found = naive_matching.couples_of(workspace, players)
    used = workspace.weight[: len(players), : len(players)]
    tolerance = ROUNDING * float(np.abs(used[np.isfinite(used)]).max())
    naive_matching.assert_proven(workspace, len(players), tolerance)
    if len(players) <= 8:
        infinite, weight = naive_matching.best(weights, players)
        worth = naive_matching.worth(weights, found)
        assert worth[0] == infinite
        assert worth[1] == pytest.approx(weight, rel=0, abs=tolerance * len(players))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_finds_the_best_of_all_matchings(family):
    random = np.random.default_rng(0)
    for _ in range(40):
        for n in (2, 4, 6, 8):
            weights = symmetric(FAMILIES[family](random, n))
            assert_best(new_matching_workspace(n), weights, np.arange(n))


@pytest.mark.parametrize("family", FAMILIES)
def test_proves_its_matching_for_many_players(family):
    random = np.random.default_rng(1)
    for n in [*range(10, 41, 2), 100]:
        assert_best(new_matching_workspace(n), symmetric(FAMILIES[family](random, n)), np.arange(n))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [6, 8, 20])
def test_starts_from_the_last_matching(family, n):
    """Some weights change, then all of them a little, then all of them altogether."""
    random = np.random.default_rng(n)
    weights = symmetric(FAMILIES[family](random, n))
    workspace, players = new_matching_workspace(n), np.arange(n)
    for turn in range(40):
        assert_best(workspace, weights, players)
        fresh = symmetric(FAMILIES[family](random, n))
        changed = random.random((n, n)) < 0.1
        if turn % 10 == 9:
            weights = fresh
        elif turn % 3 == 2:
            weights = weights + (fresh - weights) / 100
        else:
            weights = np.where(changed | changed.T, fresh, weights)


def test_couples_of_equal_weights_stay():
    random = np.random.default_rng(2)
    for n in (4, 10, 20):
        weights = symmetric(random.random((n, n)))
        workspace, players = new_matching_workspace(n), np.arange(n)
        found = assert_best(workspace, weights, players)
        for _ in range(5):
            assert assert_best(workspace, weights, players) == found


def test_matches_some_of_the_slots():
    random = np.random.default_rng(3)
    workspace = new_matching_workspace(13)
    weights = symmetric(random.normal(size=(13, 13)))
    for turn in range(300):
        players = random.permutation(13)[: 2 * random.integers(1, 7)]
        found = assert_best(workspace, weights, players if turn % 2 else np.sort(players))
        assert {i for couple in found for i in couple} == set(players.tolist())


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9, 1.0])
def test_as_many_infinite_weights_as_possible_come_first(share):
    random = np.random.default_rng(4)
    for n in (2, 4, 6, 8):
        workspace = new_matching_workspace(n)
        for turn in range(60):
            weights = symmetric(10.0 ** random.integers(-3, 4) * random.normal(size=(n, n)))
            unseen = random.random((n, n)) < share
            weights[unseen | unseen.T] = math.inf
            if turn % 2:  # else from the last matching
                reset(workspace)
            assert_best(workspace, weights, np.arange(n))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_forbidden_couples_are_never_matched(share):
    random, impossible = np.random.default_rng(5), 0
    for n in (2, 4, 6, 8):
        workspace = new_matching_workspace(n)
        for turn in range(80):
            weights = symmetric(random.normal(size=(n, n)))
            weights[symmetric(random.random((n, n)) < share / 5) > 0] = math.inf
            weights[symmetric(random.random((n, n)) < share) > 0] = -math.inf
            if naive_matching.best(weights, range(n)) is None:
                assert solve(workspace, weights, np.arange(n)) == NO_MATCHING
                impossible += 1
            else:
                assert_best(workspace, weights, np.arange(n))
            if turn % 2:
                reset(workspace)
    assert 0 < impossible < 4 * 80  # both happen


def weight_by_rustworkx(weights):
    n = len(weights)
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from([(i, j, int(weights[i, j])) for i in range(n) for j in range(i)])
    couples = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    assert len(couples) == n // 2
    return sum(int(weights[i, j]) for i, j in couples)


@settings(deadline=None)
@given(st.data())
def test_equals_rustworkx_on_integers(data):
    n = 2 * data.draw(st.integers(1, 12))
    most = data.draw(st.sampled_from([1, 2, 10, 10**6, 2**40]))
    draws = st.lists(st.integers(-most, most), min_size=n * n, max_size=n * n)
    workspace = new_matching_workspace(n)
    for _ in range(3):  # from nothing, then from the last matching
        weights = symmetric(np.reshape(data.draw(draws), (n, n)))
        assert solve(workspace, weights, np.arange(n)) == SOLVED
        found = sum(int(weights[i, j]) for i, j in naive_matching.couples_of(workspace, range(n)))
        assert found == weight_by_rustworkx(weights)


def test_equals_rustworkx_on_thousands_of_graphs():
    random = np.random.default_rng(6)
    for turn in range(2_000):
        n = 2 * int(random.integers(1, 13))
        most = int(random.choice([1, 3, 100, 10**9]))
        weights = symmetric(random.integers(-most, most, (n, n)) // (1 + turn % 3))
        workspace = new_matching_workspace(n)
        assert solve(workspace, weights, np.arange(n)) == SOLVED
        found = sum(int(weights[i, j]) for i, j in naive_matching.couples_of(workspace, range(n)))
        assert found == weight_by_rustworkx(weights)
