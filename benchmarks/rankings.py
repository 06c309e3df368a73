"""Nanoseconds per round of policies on two sides, on click models of ten items in five positions.

    python -m benchmarks rankings

Over 100,000 rounds each.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.workloads import Compiled, nanoseconds
from pairup import GRAB, Policy, Problem, RankOneThompson, UniRank

_ROUNDS = 100_000
_SETTINGS = ("std", "small", "big", "xsmall")
_POLICIES: dict[str, Policy] = {
    "GRAB": GRAB(),
    "GRAB log T": GRAB(clock="horizon"),
    "UniRank": UniRank(),
    "Rank one": RankOneThompson(),
}


def measure(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for name, policy in _POLICIES.items():
        row: dict[str, Any] = {"policy": name}
        for setting in _SETTINGS:
            start = partial(Compiled, policy, Problem.click_model(setting), _ROUNDS)
            start()(1)  # compiled or fetched from the cache
            (cost,) = nanoseconds([start], _ROUNDS, 2 if quick else 12)
            row[setting] = round(cost)
        rows.append(row)
    return rows
