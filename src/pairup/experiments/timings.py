"""Timings: the measured time of a round of each policy on this machine.

They are kept beside the results, not in them: data must be the same on every machine.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pairup.experiments.experiment import Experiment
from pairup.experiments.result_files import write_atomically
from pairup.policies import Policy
from pairup.problem import Problem
from pairup.simulation.compilation import play_first_round
from pairup.simulation.playthrough import Playthrough

_SECONDS = 0.3  # for each policy, on all problems together
_FILE = "timings.json"


@dataclass(frozen=True)
class Timing:
    """Nanoseconds of processor time per round, on average over the rounds timed."""

    nanoseconds: float
    rounds: int


Timings = Mapping[tuple[str, str], Timing]  # by the problem's name and the policy's label


def measure_timings(
    experiment: Experiment, seconds: float = _SECONDS
) -> dict[tuple[str, str], Timing]:
    """Time one replication of each policy on each problem, in this thread.

    Each policy gets this many seconds; a longer replication is timed over its first rounds.

    Examples
    --------
    >>> from pairup import load_experiment
    >>> small = load_experiment("experiment-2").scaled(rounds=20)
    >>> measure_timings(small)["around(0.5, 4, 0.1)", "SAM"].rounds
    20
    """
    share = seconds / len(experiment.problems)
    rounds, seed = experiment.rounds, experiment.seed
    return {
        (posed.problem.name, entry.label): Timing(
            *time_rounds(posed.problem, entry.policy, rounds, seed, share)
        )
        for entry in experiment.entries
        for posed in experiment.problems
    }


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
    play_first_round(problem, policy)
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


def write_timings(folder: str | Path, experiment: Experiment, timings: Timings) -> None:
    """Write timings to ``timings.json`` beside the results of an experiment."""
    options = {entry.label: entry.options for entry in experiment.entries}
    rows = [
        {"problem": problem, "policy": policy, "options": options[policy]} | asdict(timing)
        for (problem, policy), timing in timings.items()
    ]
    noted = {"machine": platform.platform(), "timings": rows}
    write_atomically(Path(folder) / _FILE, json.dumps(noted, indent=1).encode())


def read_timings(folder: str | Path, experiment: Experiment) -> dict[tuple[str, str], Timing]:
    """Read the timings in a folder of those policies whose options match the experiment's."""
    options = {entry.label: entry.options for entry in experiment.entries}
    with suppress(OSError, KeyError, TypeError, ValueError):
        rows = json.loads((Path(folder) / _FILE).read_bytes())["timings"]
        return {
            (row["problem"], row["policy"]): Timing(float(row["nanoseconds"]), int(row["rounds"]))
            for row in rows
            if options.get(row["policy"]) == row["options"]
        }
    return {}
