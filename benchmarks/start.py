"""Seconds until a process is at work: the imports and the first compiled call.

    python -m benchmarks start

The first call is measured with compiled code in the cache, and without.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.workloads import CLIENT_BUDGET, START_BUDGET

_IMPORT = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
_CALL = """
import time
from pairup import Problem, get_policy, simulate
t = time.perf_counter()
simulate(Problem.from_zero(4, 0.1), get_policy("{policy}"), rounds=10, replications=1)
print(time.perf_counter() - t)
"""


def _seconds(script: str, **environment: str) -> float:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    done.check_returncode()
    return float(done.stdout)


def measure(quick: bool) -> list[dict[str, object]]:
    times = 2 if quick else 5
    rows = [
        _row(line, min(_seconds(_IMPORT.format(line)) for _ in range(times)), budget)
        for line, budget in (
            ("from pairup import simulate", START_BUDGET),
            ("import pairup.client", CLIENT_BUDGET),
        )
    ]
    for policy in ("unimodal", "sam"):
        script = _CALL.format(policy=policy)
        warm = min(_seconds(script) for _ in range(times))
        rows.append(_row(f"first call, {policy}, warm cache", warm, START_BUDGET))
        with tempfile.TemporaryDirectory() as empty:
            cold = _seconds(script, NUMBA_CACHE_DIR=empty)
        rows.append(_row(f"first call, {policy}, cold cache", cold, None))
    return rows


def _row(what: str, seconds: float, budget: float | None) -> dict[str, object]:
    return {
        "what": what,
        "seconds": round(seconds, 2),
        "budget": budget or "",
        "holds": "" if budget is None else seconds <= budget,
    }
