import math
from itertools import combinations

import numpy as np
import pytest
import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup.compiled.matchings import max_matching
from pairup.compiled.matchings.sparse_matching import (
    FULL_HEAP,
    NO_MATCHING,
    SOLVED,
    new_couple_graph,
    new_sparse_workspace,
    solve_graph,
    solve_nearly,
)
from pairup.compiled.matchings.sparse_search import EventHeap
from pairup.compiled.state_fields import new_state
from tests.support.twins import matching as naive_matching

ROUNDING = 1e-13  # of the greatest weight, per player

WEIGHTS = {
    "uniform": lambda random, couples: random.random(couples),
    "tied": lambda random, couples: random.integers(0, 3, couples).astype(float),
    "zero": lambda random, couples: np.zeros(couples),
    "heavy tails": lambda random, couples: np.abs(random.standard_cauchy(couples)) ** 3,
    "far from zero": lambda random, couples: 1e9 + random.random(couples),
    "tiny": lambda random, couples: 1e-200 * random.random(couples),
}


def random_couples(random, n, density):
    return [couple for couple in combinations(range(n), 2) if random.random() < density]


def line_couples(n, window):
    return [(i, j) for i in range(n) for j in range(i + 1, min(n, i + window + 1))]


def graph_of(n, couples):
    low, high = np.array(couples, np.int64).reshape(-1, 2).T
    return new_couple_graph(n, low, high)


def assert_best(workspace, graph, weights, available=None, *, perfect=False):
    """Solve, check against the proof, and return the couples found and their weight."""
    n = len(workspace.mate)
    available = np.ones(n, np.bool_) if available is None else available
    assert solve_graph(workspace, graph, weights, available, perfect) == SOLVED
    used = np.abs(workspace.weight[: workspace.start[n]])
    tolerance = ROUNDING * float(used.max(initial=0.0))
    naive_matching.assert_proven_on_graph(workspace, tolerance, perfect=perfect)
    found = naive_matching.couples_of_graph(workspace)
    number = {(int(i), int(j)): k for k, (i, j) in enumerate(zip(*graph[:2], strict=True))}
    assert all(available[i] and available[j] for i, j in found)
    return found, math.fsum(weights[number[couple]] for couple in found)


@pytest.mark.parametrize("family", WEIGHTS)
def test_finds_the_best_of_all_matchings_with_most_couples(family):
    random = np.random.default_rng(0)
    for _ in range(25):
        for n, density in ((4, 0.7), (6, 0.5), (8, 0.4)):
            couples = random_couples(random, n, density)
            weights = WEIGHTS[family](random, len(couples))
            workspace = new_sparse_workspace(n, len(couples))
            found, weight = assert_best(workspace, graph_of(n, couples), weights)
            best, most = naive_matching.best_of_graph(couples, weights.tolist())
            assert weight == pytest.approx(best, rel=1e-13)
            if family in ("tied", "zero"):
                assert len(found) == most


@pytest.mark.parametrize("family", WEIGHTS)
def test_proves_its_matching_for_many_players(family):
    random = np.random.default_rng(1)
    for n, density in ((20, 0.3), (41, 0.1), (100, 0.05), (100, 0.5)):
        couples = random_couples(random, n, density)
        weights = WEIGHTS[family](random, len(couples))
        assert_best(new_sparse_workspace(n, len(couples)), graph_of(n, couples), weights)


@pytest.mark.parametrize("family", WEIGHTS)
def test_starts_from_the_last_matching_and_finds_what_a_new_one_finds(family):
    """Weights change: some, all a little, all altogether; and players come and go."""
    random = np.random.default_rng(2)
    for n, density in ((8, 0.5), (30, 0.15)):
        couples = random_couples(random, n, density)
        graph, weights = graph_of(n, couples), WEIGHTS[family](random, len(couples))
        workspace = new_sparse_workspace(n, len(couples))
        for turn in range(30):
            available = random.random(n) < (1.0 if turn % 3 else 0.8)
            found, weight = assert_best(workspace, graph, weights, available)
            cold = new_sparse_workspace(n, len(couples))
            same, its_weight = assert_best(cold, graph, weights, available)
            assert weight == pytest.approx(its_weight, rel=1e-12)
            if family in ("tied", "zero"):
                assert len(found) == len(same)
            fresh = WEIGHTS[family](random, len(couples))
            if turn % 10 == 9:
                weights = fresh
            elif turn % 3 == 2:
                weights = weights + (fresh - weights) / 100
            else:
                weights = np.where(random.random(len(couples)) < 0.1, fresh, weights)


def test_couples_of_equal_weights_stay():
    random = np.random.default_rng(3)
    couples = random_couples(random, 40, 0.2)
    weights = random.random(len(couples))
    workspace, graph = new_sparse_workspace(40, len(couples)), graph_of(40, couples)
    found, _ = assert_best(workspace, graph, weights)
    for _ in range(5):
        assert assert_best(workspace, graph, weights)[0] == found


def test_thousands_of_players_on_a_line_are_matched_best():
    """The duals prove it; the thousands of blossoms and searches leave no trace."""
    n = 3_000
    couples, random = line_couples(n, 10), np.random.default_rng(4)
    graph, workspace = graph_of(n, couples), new_sparse_workspace(n, len(couples))
    for _ in range(2):
        rates = random.random(n)
        assert_best(workspace, graph, rates[graph.low] * rates[graph.high])


def test_many_players_in_several_parts_are_matched_whatever_their_numbers_are():
    random, n, found = np.random.default_rng(5), 700, []
    couples = np.array([each for each in line_couples(n, 6) if each[0] // 150 == each[1] // 150])
    weights = random.integers(1, 9, len(couples)).astype(float)
    for numbers in (np.arange(n), np.arange(n)[::-1], random.permutation(n)):
        renamed = np.sort(numbers[couples], axis=1)
        order = np.lexsort(renamed.T[::-1])
        workspace = new_sparse_workspace(n, len(couples))
        graph = graph_of(n, renamed[order])
        _, weight = assert_best(workspace, graph, weights[order])
        assert sorted(workspace.order) == list(range(n))
        found.append(weight)
    assert len(set(found)) == 1


@pytest.mark.parametrize("perfect", [False, True])
def test_a_complete_graph_is_matched_as_the_dense_search_does(perfect):
    random = np.random.default_rng(5)
    for n in (2, 8, 20):
        couples = list(combinations(range(n), 2))
        for _ in range(20):
            weights = random.random(len(couples))
            table = np.zeros((n, n))
            table[tuple(np.array(couples).T)] = weights
            dense = max_matching.new_matching_workspace(n)
            assert max_matching.solve(dense, table + table.T, np.arange(n)) == SOLVED
            workspace = new_sparse_workspace(n, len(couples))
            found, _ = assert_best(workspace, graph_of(n, couples), weights, perfect=perfect)
            assert found == naive_matching.couples_of(dense, range(n))


def test_a_perfect_matching_is_found_if_there_is_one():
    random, impossible = np.random.default_rng(6), 0
    for _ in range(300):
        n = 2 * int(random.integers(1, 5))
        couples = random_couples(random, n, 0.4)
        weights = random.normal(size=len(couples))
        table = np.full((n, n), -math.inf)
        for (i, j), weight in zip(couples, weights, strict=True):
            table[i, j] = table[j, i] = weight
        graph, workspace = graph_of(n, couples), new_sparse_workspace(n, len(couples))
        best = naive_matching.best(table, range(n))
        if best is None:
            impossible += 1
            assert solve_graph(workspace, graph, weights, np.ones(n, np.bool_), True) == NO_MATCHING
        else:
            _, weight = assert_best(workspace, graph, weights, perfect=True)
            assert weight == pytest.approx(best[1], abs=1e-12)
    assert 0 < impossible < 300  # both happen


def test_as_many_infinite_weights_as_possible_come_first():
    random = np.random.default_rng(7)
    couples = list(combinations(range(7), 2))
    workspace, graph = new_sparse_workspace(7, len(couples)), graph_of(7, couples)
    for _ in range(100):
        weights = 10.0 ** random.integers(-3, 4) * random.random(len(couples))
        weights[random.random(len(couples)) < 0.2] = math.inf
        weights[random.random(len(couples)) < 0.4] = -math.inf
        table = np.full((7, 7), -math.inf)
        table[graph.low, graph.high] = table[graph.high, graph.low] = weights
        worths = (
            naive_matching.worth(table, each) for each in naive_matching.matchings([*range(7)])
        )
        best = max(worth for worth in worths if worth[1] > -math.inf)
        found, _ = assert_best(workspace, graph, weights)
        assert naive_matching.worth(table, found) == (best[0], pytest.approx(best[1], rel=1e-12))


def weight_by_rustworkx(couples, weights):
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(1 + max(max(couple) for couple in couples)))
    scale = len(weights) + 1  # most couples among the best matchings
    edges = [(*couple, int(weight)) for couple, weight in zip(couples, weights, strict=True)]
    graph.add_edges_from(edges)
    found = rustworkx.max_weight_matching(graph, weight_fn=lambda weight: scale * weight + 1)
    of = {couple: int(weight) for *couple, weight in edges for couple in [tuple(couple)]}
    return sum(of[min(each), max(each)] for each in found), len(found)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_equals_rustworkx_on_integers_with_ties(data):
    n = data.draw(st.integers(2, 16))
    listed = st.sampled_from(list(combinations(range(n), 2)))
    couples = sorted(data.draw(st.sets(listed, min_size=1, max_size=4 * n)))
    most = data.draw(st.sampled_from([1, 3, 100, 2**40]))
    draws = st.lists(st.integers(0, most), min_size=len(couples), max_size=len(couples))
    graph, workspace = graph_of(n, couples), new_sparse_workspace(n, len(couples))
    for _ in range(3):  # from nothing, then from the last matching
        weights = np.array(data.draw(draws), float)
        found, weight = assert_best(workspace, graph, weights)
        assert (int(weight), len(found)) == weight_by_rustworkx(couples, weights)


def test_equals_rustworkx_on_thousands_of_graphs():
    random = np.random.default_rng(8)
    for _ in range(1_000):
        n, most = int(random.integers(2, 30)), int(random.choice([1, 3, 100, 10**9]))
        couples = random_couples(random, n, 4 / n) or [(0, 1)]
        weights = random.integers(0, most + 1, len(couples)).astype(float)
        workspace = new_sparse_workspace(n, len(couples))
        everybody = np.ones(n, np.bool_)
        assert solve_graph(workspace, graph_of(n, couples), weights, everybody, False) == SOLVED
        number = {couple: k for k, couple in enumerate(couples)}
        found = naive_matching.couples_of_graph(workspace)
        weight = sum(int(weights[number[couple]]) for couple in found)
        assert (weight, len(found)) == weight_by_rustworkx(couples, weights)


def test_a_heap_that_is_full_is_cleared_out_and_never_written_beyond():
    """With ever less room the matching stays the best one, until it is refused."""
    random, seen = np.random.default_rng(9), set()
    for _ in range(40):
        n = 40
        couples = random_couples(random, n, 0.3)
        weights = np.repeat(random.random(n), n).reshape(n, n)[tuple(np.array(couples).T)]
        weights = weights * random.random(n)[np.array(couples)[:, 1]]
        graph = graph_of(n, couples)
        best, _ = assert_best(new_sparse_workspace(n, len(couples)), graph, weights)
        for capacity in (200, 60, 30, 12, 3):
            workspace = new_sparse_workspace(n, len(couples))._replace(
                heap=new_state(EventHeap, {"events": capacity})
            )
            status = solve_graph(workspace, graph, weights, np.ones(n, np.bool_), False)
            seen.add((capacity, status))
            if status == SOLVED:
                assert naive_matching.couples_of_graph(workspace) == best
    assert {(60, SOLVED), (3, FULL_HEAP)} <= seen


def test_searches_that_go_too_far_are_given_up_and_the_rest_is_matched_as_before():
    random, n = np.random.default_rng(0), 60
    couples = line_couples(n, 4)
    graph, weights = graph_of(n, couples), random.random(len(couples))
    workspace, everybody = new_sparse_workspace(n, len(couples)), np.ones(n, np.bool_)
    found, _ = assert_best(workspace, graph, weights, perfect=True)
    for most, single in ((0, False), (4, True)):
        workspace.mate[:], workspace.dual[:] = -1, 0.5 * weights.max()
        assert solve_nearly(workspace, everybody, most) == SOLVED
        matched = np.flatnonzero(workspace.mate >= 0)
        assert (workspace.mate[workspace.mate[matched]] == matched).all()
        assert (len(matched) < n) == single
        if not single:
            assert naive_matching.couples_of_graph(workspace) == found
            naive_matching.assert_proven_on_graph(workspace, ROUNDING, perfect=True)
