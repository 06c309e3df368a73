"""Nanoseconds per round of the paper's policies on one core, by the number of couples.

python -m benchmarks rounds
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.workloads import POLICIES, ROUND_BUDGET, Compiled, nanoseconds

_ROUNDS = {2: 1_000_000, 4: 1_000_000, 10: 1_000_000, 50: 100_000}


def measure(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for name, policy in POLICIES.items():
        row: dict[str, Any] = {"policy": name}
        for pairs, rounds in _ROUNDS.items():
            start = partial(Compiled, policy, pairs, rounds)
            start()(1)  # compiled or fetched from the cache
            (cost,) = nanoseconds([start], rounds, 2 if quick else 12)
            row[f"L = {pairs}"] = round(cost)
            if pairs == 10:
                row["budget at L = 10"] = ROUND_BUDGET.get(name, "")
                row["holds"] = row["L = 10"] <= ROUND_BUDGET[name] if name in ROUND_BUDGET else ""
        rows.append(row)
    return rows
