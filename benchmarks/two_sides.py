"""Nanoseconds per round on two sides, ten rows and five columns, by assignments.

    python -m benchmarks two_sides

The setting is `std` of the articles on rankings. *General* is the same problem as a graph of the
couples across, whose matchings are found by the search for any graph; it proposes the same.
"""

from __future__ import annotations

import time

from pairup import ESCB, CombThompson, CombUCB, EpsilonGreedy, Policy, Problem, RankOneThompson
from pairup.simulation.playthrough import Playthrough

_ROWS = [0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01]
_COLUMNS = [1.0, 0.75, 0.6, 0.3, 0.1]
_POLICIES: tuple[Policy, ...] = (
    RankOneThompson(),
    CombUCB(),
    CombUCB(index="kl"),
    CombThompson(),
    ESCB(search="approximate"),
    EpsilonGreedy(),
)
_BUDGETS = {"rank_one_thompson": 1_000}
_BUDGET = 20_000


def measure(quick: bool) -> list[dict[str, object]]:
    rounds = 20_000 if quick else 200_000
    across = [(i, len(_ROWS) + k) for i in range(len(_ROWS)) for k in range(len(_COLUMNS))]
    sides = Problem.two_sided(_ROWS, _COLUMNS)
    graph = Problem(_ROWS + _COLUMNS, allowed=across)
    return [_row(policy, sides, graph, rounds) for policy in _POLICIES]


def _row(policy: Policy, sides: Problem, graph: Problem, rounds: int) -> dict[str, object]:
    ours, general = (_nanoseconds(problem, policy, rounds) for problem in (sides, graph))
    budget = _BUDGETS.get(policy.name, _BUDGET)
    return {
        "policy": str(policy),
        "two sides, ns": round(ours),
        "general, ns": round(general),
        "budget": budget,
        "holds": ours <= budget,
    }


def _nanoseconds(problem: Problem, policy: Policy, rounds: int) -> float:
    playthrough = Playthrough(problem, policy, rounds, 0, 0)
    playthrough.play_to(1)  # compiled or fetched from the cache
    start = time.thread_time()
    playthrough.play_to(rounds)
    return (time.thread_time() - start) * 1e9 / rounds
