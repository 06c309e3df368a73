"""Nanoseconds a round of every policy on one core, by the number of couples."""

from __future__ import annotations

from benchmarks.workloads import POLICIES, ROUND_BUDGET, best_of, play

_ROUNDS = {2: 1_000_000, 4: 1_000_000, 10: 1_000_000, 50: 100_000}


def measure(quick: bool) -> list[dict[str, object]]:
    rows = []
    for name, policy in POLICIES.items():
        row: dict[str, object] = {"policy": name}
        for pairs, full in _ROUNDS.items():
            rounds = full // 10 if quick else full
            play(policy, pairs, 1)
            seconds = best_of(2 if quick else 4, lambda: play(policy, pairs, rounds))  # noqa: B023
            row[f"L = {pairs}"] = round(seconds / rounds * 1e9)
        budget = ROUND_BUDGET.get(name)
        row["budget at L = 10"] = budget or ""
        row["holds"] = "" if budget is None else row["L = 10"] <= budget  # type: ignore[operator]
        rows.append(row)
    return rows
