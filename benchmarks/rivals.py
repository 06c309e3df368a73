"""Nanoseconds per round of every registered policy, by the choice of its options.

    python -m benchmarks rivals

All at L = 10.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.workloads import RIVAL_BUDGET, RIVAL_BUDGETS, Compiled, nanoseconds
from pairup import Policy, PolicyError, get_policy, policy_names
from pairup.testing.variants import variants_of

_PAIRS = 10


def measure(quick: bool) -> list[dict[str, Any]]:
    """Policies registered later appear by themselves; those that refuse ten couples say so."""
    rounds = 100_000 if quick else 1_000_000
    return [_row(policy, rounds, 1 if quick else 3) for policy in _variants()]


def _variants() -> list[Policy]:
    """Make every registered policy with every combination of its `Literal` options."""
    classes = [type(get_policy(name)) for name in policy_names()]
    return [variant.given for policy_class in classes for variant in variants_of(policy_class)]


def _row(policy: Policy, rounds: int, times: int) -> dict[str, Any]:
    start = partial(Compiled, policy, _PAIRS, rounds)
    budget = RIVAL_BUDGETS.get(policy.name, RIVAL_BUDGET)
    row: dict[str, Any] = {"policy": str(policy), f"L = {_PAIRS}": "refused", "budget": budget}
    try:
        start()(1)  # compiled or fetched from the cache
    except PolicyError:
        return row | {"holds": ""}
    (cost,) = nanoseconds([start], rounds, times)
    return row | {f"L = {_PAIRS}": round(cost), "holds": cost <= budget}
