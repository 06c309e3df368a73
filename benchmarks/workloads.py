"""What is measured, and the budget it is measured against."""

from __future__ import annotations

import time
from collections.abc import Callable

from pairup import SAM, Oracle, Policy, Problem, Uniform, Unimodal
from pairup.simulate import play_block

POLICIES: dict[str, Policy] = {
    "V1 UCB": Unimodal(compare="matchings", index="ucb", clock="round"),
    "V2 UCB": Unimodal(compare="players", index="ucb", clock="round"),
    "V1 KL": Unimodal(compare="matchings", index="kl"),
    "V2 KL": Unimodal(compare="players", index="kl"),
    "SAM": SAM(),
    "Uniform": Uniform(),
    "Oracle": Oracle(),
}

# Nanoseconds a round at L = 10, over 1,000,000 rounds on one core.
ROUND_BUDGET = {"V1 UCB": 200, "V2 UCB": 200, "V2 KL": 500, "SAM": 100}
LIMIT_BUDGET = 1.3  # times the C loop
THREADS_BUDGET = 1.9  # times one thread
START_BUDGET = 0.5  # seconds, for the import and for the first call from a warm cache


def problem_of(pairs: int) -> Problem:
    """Experiment 1 of the paper; beyond eleven couples the rates fill [0, 1]."""
    return Problem.from_zero(pairs, 0.1 if pairs <= 11 else 1 / (pairs - 1))


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the least seconds of some repetitions: the rest is the machine's noise."""
    least = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - start)
    return least


def play(policy: Policy, pairs: int, rounds: int, replication: int = 0) -> object:
    """Play one replication, in this thread."""
    replications = range(replication, replication + 1)
    return play_block(problem_of(pairs), policy, rounds, replications, 0, [rounds])
