"""Progress: how far a sweep is, as numbers and as a bar on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple


class RunProgress(NamedTuple):
    """How far a sweep is.

    `share` is in [0, 1], of the work that was left at the start, by the cost model; `rounds` were
    played in this run so far.
    """

    blocks: int
    done: int
    share: float
    rounds: int
    seconds: float


ProgressCallback = Callable[[RunProgress], None]


class Meter:
    """Counts what is done."""

    def __init__(self, blocks: int, reused: int, cost: float, report: ProgressCallback) -> None:
        self._blocks, self._done, self._all = blocks, reused, cost
        self._cost, self._start, self._report = 0.0, time.perf_counter(), report
        self.rounds = 0

    def add(self, cost: float, rounds: int) -> None:
        """Count one block more."""
        self._done += 1
        self._cost += cost
        self.rounds += rounds
        seconds = time.perf_counter() - self._start
        share = min(self._cost / self._all, 1.0)
        self._report(RunProgress(self._blocks, self._done, share, self.rounds, seconds))


@contextmanager
def reporter(name: str, progress: bool | ProgressCallback) -> Iterator[ProgressCallback]:
    """Give the function that shows progress: the caller's, a bar on a terminal, or silence."""
    if callable(progress):
        yield progress
        return
    from rich.console import Console  # slow to import, and only for a bar

    console = Console(stderr=True)
    with _bar(name, console) if progress and console.is_terminal else nullcontext(_silent) as show:
        yield show


def _silent(_: RunProgress) -> None:
    """Show nothing."""


@contextmanager
def _bar(name: str, console: Any) -> Iterator[ProgressCallback]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    rate, counts = TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[counts]}")
    name_column = TextColumn("{task.description}")
    columns = (name_column, BarColumn(), TaskProgressColumn(), counts, rate, TimeLeft())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(name, total=1.0, counts="", rate="")

        def show(now: RunProgress) -> None:
            rate = f"{now.rounds / max(now.seconds, 1e-9) / 1e6:.1f}M rounds/s"
            counts = f"{now.done}/{now.blocks} blocks"
            bar.update(task, completed=now.share, counts=counts, rate=rate)

        yield show
