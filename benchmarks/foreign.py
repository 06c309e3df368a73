"""Third-party policies: what the check of proposals costs, and what plain Python does.

python -m benchmarks foreign
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from benchmarks.workloads import problem_of
from pairup import Policy
from pairup.simulation import playthrough

BUDGET = 0.1  # of the round
PAGE = Path(__file__).parents[1] / "docs/how-to/add-a-policy.md"


def measure(quick: bool) -> list[dict[str, object]]:
    policy, sketch = _documented("mine.py", "SortedMeans"), _documented("sketch.py", "Sketch")
    rounds, times = 2_000 if quick else 20_000, 5 if quick else 20
    rows = []
    for pairs in (4, 10, 50):
        costs = {
            checked: _nanoseconds(policy, pairs, checked, rounds // pairs, times)
            for checked in (False, True)
        }
        share = costs[True] / costs[False] - 1
        rows.append(
            {
                "policy": "SortedMeans of the documentation",
                "pairs": pairs,
                "unchecked, ns": round(costs[False]),
                "checked, ns": round(costs[True]),
                "share": f"{share:.1%}",
                "budget": f"{BUDGET:.0%}",
                "holds": share < BUDGET,
            }
        )
    for pairs in (4, 10):
        compiled = _nanoseconds(policy, pairs, True, rounds // pairs, times)
        plain = _nanoseconds(sketch, pairs, True, rounds // 10 // pairs, times)
        rows.append(
            {
                "policy": "Sketch of the documentation, in plain Python",
                "pairs": pairs,
                "plain, ns": round(plain),
                "compiled, ns": round(compiled),
                "ratio": round(plain / compiled),
            }
        )
    return rows


def _documented(file: str, policy: str) -> Policy:
    """Return a policy of the guide."""
    names: dict[str, Any] = {"__name__": __name__}  # where dataclasses look up annotations
    source = re.search(rf'```python title="{file}"\n(.*?)```', PAGE.read_text(), re.S)[1]
    exec(source, names)
    return names[policy]()


def _nanoseconds(policy: Policy, pairs: int, checked: bool, rounds: int, times: int) -> float:
    """Return the best time per round of several stretches."""
    ours, playthrough.is_ours = playthrough.is_ours, lambda _: not checked
    try:
        played = playthrough.Playthrough(problem_of(pairs), policy, rounds * (times + 1), 0, 0)
    finally:
        playthrough.is_ours = ours
    played.play_to(rounds)
    best = float("inf")
    for stretch in range(2, times + 2):
        before = time.thread_time_ns()
        played.play_to(stretch * rounds)
        best = min(best, time.thread_time_ns() - before)
    return best / rounds
