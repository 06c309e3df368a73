"""Workloads: what is measured, how, and the budget that it is measured against."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from pairup import SAM, Oracle, Policy, Problem, Uniform, Unimodal
from pairup.simulation.playthrough import Playthrough, play_replications

Run = Callable[[int], object]  # plays on to a round

_SLICE = 20_000  # rounds that are timed at once: a few milliseconds

POLICIES: dict[str, Policy] = {
    "V1 UCB": Unimodal(compare="matchings", index="ucb", clock="round"),
    "V2 UCB": Unimodal(compare="players", index="ucb", clock="round"),
    "V1 KL": Unimodal(compare="matchings", index="kl"),
    "V2 KL": Unimodal(compare="players", index="kl"),
    "SAM": SAM(),
    "Uniform": Uniform(),
    "Oracle": Oracle(),
}

# Nanoseconds per round at L = 10, over 1,000,000 rounds on one core.
ROUND_BUDGET = {"V1 UCB": 200, "V2 UCB": 200, "V2 KL": 500, "SAM": 100}
# The same for every registered policy: an exact matching per round, unless it has its own budget.
RIVAL_BUDGET = 10_000
RIVAL_BUDGETS = {  # by registered name
    "sam": 100,
    "rank_one_thompson": 1_000,
    "hierarchical_thompson": 25_000,
    "pmed": 50_000,
}
LIMIT_BUDGET = 1.3  # multiple of the C loop's time
THREADS_BUDGET = 1.9  # speed-up over one thread
START_BUDGET = 0.5  # seconds, for the import and for the first call from a warm cache
CLIENT_BUDGET = 0.2  # seconds, for the import of the client


def problem_of(pairs: int) -> Problem:
    """Experiment 1 of the paper; beyond eleven couples the rates fill [0, 1]."""
    return Problem.from_zero(pairs, 0.1 if pairs <= 11 else 1 / (pairs - 1))


def best_of(times: int, work: Callable[..., object], *arguments: object) -> float:
    """Return the shortest of some repetitions, in seconds: the rest is the machine's noise."""
    least = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work(*arguments)
        least = min(least, time.perf_counter() - start)
    return least


def play(policy: Policy, pairs: int, rounds: int, replication: int = 0) -> object:
    """Play one replication, in this thread."""
    replications = range(replication, replication + 1)
    return play_replications(problem_of(pairs), policy, rounds, replications, 0, [rounds])


class Compiled:
    """Replication 0 of seed 0 in the compiled loop, to be played on in steps."""

    def __init__(self, policy: Policy, problem: int | Problem, rounds: int) -> None:
        problem = problem_of(problem) if isinstance(problem, int) else problem
        self.playthrough = Playthrough(problem, policy, rounds, 0, 0)

    def __call__(self, until: int) -> tuple[int, float]:
        self.playthrough.play_to(until)
        totals = self.playthrough.totals
        return int(totals.games[0]), float(totals.regret[0])


def nanoseconds(starts: Sequence[Callable[[], Run]], rounds: int, times: int) -> list[float]:
    """Return the nanoseconds per round of each run on one core, measured in turns.

    A run repeats bit for bit, so each of its slices is the same work every time. Of each slice we
    take the shortest of all repetitions: on a shared machine hardly any whole run is undisturbed,
    but each slice is at some point. The clock is the thread's own.
    """
    step = min(_SLICE, rounds)
    checkpoints = range(step, rounds + 1, step)
    least = np.full((len(starts), len(checkpoints)), np.inf)
    for _ in range(times):
        runs = [start() for start in starts]
        for index, until in enumerate(checkpoints):
            for which, run in enumerate(runs):
                before = time.thread_time_ns()
                run(until)
                took = time.thread_time_ns() - before
                least[which, index] = min(least[which, index], took)
    return (least.sum(axis=1) / rounds).tolist()
