"""Milliseconds for the best matching of players on a line, each of whom may meet ten on each side.

    python -m benchmarks sparse_matchings

The weight of a couple is the product of its players' rates, which are uniform. *Cold* is from
nothing; *warm*, from the best matching for weights that differ by a hundredth. The complete graph
is the one of as many players, solved as `best_matching` solves it and by the sparse search. All of
them take turns with rustworkx on the same graph.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import rustworkx

from pairup.compiled.matchings import max_matching
from pairup.compiled.matchings.sparse_matching import (
    CoupleGraph,
    new_couple_graph,
    new_sparse_workspace,
    solve_graph,
)

_NEAREST = 10
_MIN_RATIO = 10.0  # times faster than rustworkx at 2,000 players
_MAX_MS = {2_000: 50.0, 10_000: 1_000.0}
_RUSTWORKX_UP_TO = 2_000
_COMPLETE = (20, 200)


def measure(quick: bool) -> list[dict[str, object]]:
    times = 2 if quick else 5
    rows = [_line(players, times) for players in (1_000, 2_000, 10_000)]
    return rows + [_complete(players, times) for players in _COMPLETE]


def _line(players: int, times: int) -> dict[str, object]:
    pairs = [(i, i + d) for i in range(players) for d in range(1, _NEAREST + 1) if i + d < players]
    graph = new_couple_graph(players, *np.array(pairs).T)
    rates = np.random.default_rng(1).random(players)
    weights = rates[graph.low] * rates[graph.high]
    cold, workspace = math.inf, new_sparse_workspace(players, len(pairs))
    warm, rival, random = math.inf, math.inf, np.random.default_rng(2)
    for _ in range(times):
        workspace = new_sparse_workspace(players, len(pairs))
        cold = min(cold, _ms(_solve, workspace, graph, weights))
        near = weights * (1.0 + 0.01 * random.standard_normal(len(weights)))
        warm = min(warm, _ms(_solve, workspace, graph, near))
        if players <= _RUSTWORKX_UP_TO:
            rival = min(rival, _ms(_solve_by_rustworkx, graph, weights))
    ratio = rival / cold if players <= _RUSTWORKX_UP_TO else math.inf
    return {
        "what": f"line, {players:,} players",
        "cold, ms": round(cold, 1),
        "warm, ms": round(warm, 1),
        "rustworkx, ms": round(rival, 1) if rival < math.inf else "",
        "times faster": round(ratio, 1) if ratio < math.inf else "",
        "holds": ratio >= _MIN_RATIO and cold <= _MAX_MS.get(players, math.inf),
    }


def _complete(players: int, times: int) -> dict[str, object]:
    low, high = np.triu_indices(players, 1)
    graph, rates = new_couple_graph(players, low, high), np.random.default_rng(1).random(players)
    table = np.outer(rates, rates)
    dense = sparse = rival = math.inf
    for _ in range(times):
        square = max_matching.new_matching_workspace(players)
        workspace = new_sparse_workspace(players, len(low))
        everybody = np.arange(players)
        dense = min(dense, _ms(max_matching.solve, square, table, everybody))
        sparse = min(sparse, _ms(_solve, workspace, graph, table[low, high]))
        rival = min(rival, _ms(_solve_by_rustworkx, graph, table[low, high]))
    return {
        "what": f"complete, {players:,} players, dense search / sparse search",
        "cold, ms": f"{dense:.2f} / {sparse:.2f}",
        "warm, ms": "",
        "rustworkx, ms": round(rival, 1),
        "times faster": round(rival / dense, 1),
        "holds": "",
    }


def _solve(workspace: object, graph: CoupleGraph, weights: np.ndarray) -> None:
    solve_graph(workspace, graph, weights, np.ones(len(graph.start) - 1, np.bool_), False)


def _solve_by_rustworkx(graph: CoupleGraph, weights: np.ndarray) -> None:
    network = rustworkx.PyGraph()
    network.add_nodes_from(range(len(graph.start) - 1))
    whole = np.rint(weights * 2**40).astype(np.int64).tolist()  # it takes integers
    network.add_edges_from(list(zip(graph.low.tolist(), graph.high.tolist(), whole, strict=True)))
    rustworkx.max_weight_matching(network, weight_fn=int)


def _ms(call: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    call(*arguments)
    return 1e3 * (time.perf_counter() - started)
