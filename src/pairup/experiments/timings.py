"""Timings: the measured time of a round of each policy on this machine.

They are kept beside the results, not in them: data must be the same on every machine.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pairup.experiments.atomic_files import write_atomically
from pairup.experiments.experiment import Experiment
from pairup.simulation.round_timer import time_rounds

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
