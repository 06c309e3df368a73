"""Two threads against one: the compiled loop releases the GIL.

python -m benchmarks threads
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from benchmarks.workloads import POLICIES, THREADS_BUDGET, best_of, problem_of
from pairup import simulate


def measure(quick: bool) -> list[dict[str, object]]:
    rounds = 100_000 if quick else 500_000
    rows = []
    for name in ("V2 UCB", "V2 KL", "SAM"):
        times = {1: float("inf"), 2: float("inf")}
        for _ in range(3):
            for threads in times:
                times[threads] = min(times[threads], best_of(1, _run, name, rounds, threads))
        rows.append(
            {
                "policy": name,
                "one thread, s": round(times[1], 2),
                "two threads, s": round(times[2], 2),
                "speed-up": round(times[1] / times[2], 2),
                "budget": THREADS_BUDGET,
                "holds": times[1] / times[2] >= THREADS_BUDGET,
            }
        )
    return rows


def _run(name: str, rounds: int, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        simulate(problem_of(10), POLICIES[name], rounds, replications=8, executor=pool)
