"""The time that a policy takes per round."""

from __future__ import annotations

import time

from pairup.policies.base import Policy
from pairup.problem import Problem
from pairup.simulation.playthrough import Playthrough


def time_rounds(
    problem: Problem, policy: Policy, rounds: int, seed: int = 0, seconds: float = 0.1
) -> tuple[float, int]:
    """Time the first replication from its first round on, in this thread.

    Compilation and the making of the policy's state are not timed. The clock is that of the
    thread, so that other work on the machine counts little.

    Parameters
    ----------
    problem, policy, rounds, seed
        As in `simulate`.
    seconds
        About when to stop, where the replication takes longer.

    Returns
    -------
    nanoseconds : float
        Processor time per round, over the rounds timed.
    played : int
        Rounds timed.

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
