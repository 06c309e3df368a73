"""Progress: how far a run is, as numbers and as a bar on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pairup.simulation.progress import progress_bar


class RunProgress(NamedTuple):
    """How far a run is.

    `share` is in [0, 1], of the work that was left at the start, by the cost model; `rounds` were
    played in this run so far.
    """

    units: int
    done: int
    share: float
    rounds: int
    seconds: float


ProgressCallback = Callable[[RunProgress], None]


class Meter:
    """Counts what is done."""

    def __init__(self, units: int, reused: int, cost: float, report: ProgressCallback) -> None:
        self._units, self._done, self._all = units, reused, cost
        self._cost, self._start, self._report = 0.0, time.perf_counter(), report
        self.rounds = 0

    def add(self, cost: float, rounds: int) -> None:
        """Count one more work unit."""
        self._done += 1
        self._cost += cost
        self.rounds += rounds
        seconds = time.perf_counter() - self._start
        share = min(self._cost / self._all, 1.0)
        self._report(RunProgress(self._units, self._done, share, self.rounds, seconds))


@contextmanager
def report_progress(name: str, progress: bool | ProgressCallback) -> Iterator[ProgressCallback]:
    """Give the function that shows progress: the caller's, or a bar on a terminal, or nothing."""
    if callable(progress):
        yield progress
        return
    with progress_bar(name, progress) as show:
        yield lambda now: show(now.share, _describe(now))


def _describe(now: RunProgress) -> str:
    rate = now.rounds / max(now.seconds, 1e-9) / 1e6
    return f"{now.done}/{now.units} work units {rate:.1f}M rounds/s"
