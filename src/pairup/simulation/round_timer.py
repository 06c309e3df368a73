"""The time that a policy takes per round."""

import time

from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.simulation.playthrough import Playthrough


def time_rounds(
    problem: Problem, policy: Policy, rounds: int, seed: int = 0, seconds: float = 0.1
) -> tuple[float, int]:
    """Time the first replication; returns nanoseconds per round, and how many rounds were timed.

    It plays in this thread from the first round on, for about `seconds` at most. Compilation and
    the making of the policy's state are not timed. The clock is that of the thread, so that other
    work on the machine counts little.

    Examples
    --------
    >>> from pairup import Problem, Unimodal
    >>> time_rounds(Problem.from_zero(4, 0.1), Unimodal(), rounds=50)[1]
    50
    """
    Playthrough(problem, policy, 1, seed, 0).play_to(1)  # compiled, or read from disk
    playthrough = Playthrough(problem, policy, rounds, seed, 0)
    spent, played, step = 0, 0, 1
    while played < rounds and spent < seconds * 1e9:
        played = min(played + step, rounds)
        before = time.thread_time_ns()
        playthrough.play_to(played)
        took = time.thread_time_ns() - before
        spent += took
        step *= 2 if took < seconds * 1e8 else 1  # so that the last step is not a long one
    return spent / played, played
