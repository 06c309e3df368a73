"""Runner: the work units of an experiment are computed anywhere and kept as they finish."""

from __future__ import annotations

import functools
import itertools
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pairup.checks import check_choice
from pairup.errors import PairupError, SimulationError
from pairup.experiments.executors import LocalThreads, local_executor
from pairup.experiments.experiment import Experiment
from pairup.experiments.results import ReadUnit, Results, join_results, unit_rows
from pairup.experiments.storage import RunLog, compact, hold_folder, read_part, write_part
from pairup.experiments.unit_groups import UnitGroup, compute_group, group_units
from pairup.experiments.work_units import (
    WorkUnit,
    make_manifest,
    split_horizon_check,
    split_into_units,
)
from pairup.simulation.playthrough import Measurements
from pairup.simulation.progress_bar import progress_bar
from pairup.simulation.simulate import Engine

if TYPE_CHECKING:
    import polars as pl

_MAX_IN_FLIGHT = 4096  # work units that an executor holds at once

Keep = Callable[[str, "pl.DataFrame"], None]  # takes the key and the rows of a work unit


class RunProgress(NamedTuple):
    """How far a run is.

    `share` is in [0, 1], of the work that was left at the start, by nominal cost; `rounds` were
    played in this run so far.
    """

    units: int
    done: int
    share: float
    rounds: int
    seconds: float


ProgressCallback = Callable[[RunProgress], None]


@dataclass(frozen=True)
class RunSummary:
    """What a run did, and the results of the experiment.

    Some of its work units were computed by this run, others were reused; it played `rounds`.
    """

    units: int
    computed: int
    reused: int
    seconds: float
    rounds: int
    results: Results = field(repr=False)


def run_experiment(
    experiment: Experiment,
    out: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool | ProgressCallback = False,
    engine: Engine = "cpu",
) -> RunSummary:
    """Run an experiment, or what is left of it, into a folder or in memory.

    The data are the same bit for bit on every executor, and however often the run was stopped.
    You can stop it at any time, even with kill -9: finished work units are kept in the folder, and
    the next run resumes where it left off.

    Parameters
    ----------
    experiment
        For example from `load_experiment`.
    out
        Folder of the results, created if it is missing. It may hold an earlier state of the
        experiment of the same name, for example with fewer replications: work units that did not
        change are reused, and others are kept but not read. With None nothing is written.
    executor
        Where work units are computed: any `concurrent.futures.Executor`, or `dask_executor`. By
        default on threads, one per core; the compiled loop releases the GIL.
    progress
        True shows a bar on a terminal or in a notebook (and nothing elsewhere). A function is
        called with a `RunProgress` after each work unit.
    engine
        "cuda" plays on an NVIDIA GPU; the cores of this machine take the work units that they would
        end sooner. With `dask_executor` each worker has a GPU. The data are the same, bit for bit.

    Raises
    ------
    ResultsError
        The folder cannot be written to, is full, holds another experiment, or another run is
        writing to it. Finished work units stay valid.
    SimulationError
        A work unit failed, or its worker was lost.

    Examples
    --------
    >>> import tempfile
    >>> from pairup import load_experiment, run_experiment
    >>> small = load_experiment("experiment-2").scaled(rounds=100, replications=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run_experiment(small, folder)
    ...     again = run_experiment(small, folder)
    >>> first.computed, again.computed, again.reused
    (24, 0, 24)
    >>> run_experiment(small).results.frame.equals(first.results.frame)
    True
    """
    check_choice("engine", engine, get_args(Engine), SimulationError)
    if engine == "cuda" and executor is None:
        from pairup.simulation.batches.play import check_gpu  # slow to import

        check_gpu()
    units, horizon_units = split_into_units(experiment), split_horizon_check(experiment)
    manifest = make_manifest(experiment, units, horizon_units)
    run = functools.partial(
        _run, experiment.name, [*units, *horizon_units], executor, engine, progress
    )
    if out is None:
        kept: dict[str, pl.DataFrame] = {}
        return run(kept.get, kept.__setitem__, lambda: join_results(experiment, manifest, kept.get))
    folder = Path(out)
    with hold_folder(folder, manifest):
        where = "threads" if executor is None else type(executor).__name__
        log = RunLog(folder, where if engine == "cpu" else f"{where}, {engine}")
        read, keep = functools.partial(read_part, folder), functools.partial(write_part, folder)
        summary = run(read, keep, lambda: compact(folder, experiment))
        facts = {key: value for key, value in vars(summary).items() if key != "results"}
        log.add(**facts | {"seconds": round(summary.seconds, 3)})
    return summary


def _run(
    name: str,
    units: Sequence[WorkUnit],
    executor: Executor | None,
    engine: Engine,
    progress: bool | ProgressCallback,
    read: ReadUnit,
    keep: Keep,
    finish: Callable[[], Results],
) -> RunSummary:
    start = time.perf_counter()
    left = [unit for unit in units if read(unit.key) is None]
    reused = len(units) - len(left)
    whole = sum(unit.cost for unit in left)
    groups = group_units(left, engine, share=executor is None)
    shares: dict[UnitGroup, float] = {}  # of groups under way
    done, cost, rounds = reused, 0.0, 0
    stream = _compute(groups, executor, shares)
    with _progress_callback(name, progress) as report, closing(stream):
        for group, measured in stream:
            for unit, rows in zip(group.units, measured, strict=True) if group else ():
                keep(unit.key, unit_rows(unit.replications, unit.checkpoints, rows))
                done, cost = done + 1, cost + unit.cost
                rounds += unit.rounds_played
            seconds = time.perf_counter() - start
            under_way = sum(each.cost * share for each, share in list(shares.items()))
            # Costs that are added up in another order need not make the whole.
            share = 1.0 if done == len(units) else min((cost + under_way) / whole, 1.0)
            report(RunProgress(len(units), done, share, rounds, seconds))
    results = finish()
    seconds = time.perf_counter() - start
    return RunSummary(len(units), len(left), reused, seconds, rounds, results)


@contextmanager
def _progress_callback(name: str, progress: bool | ProgressCallback) -> Iterator[ProgressCallback]:
    """Return the function that shows progress: the caller's, a bar on a terminal, or none."""
    if callable(progress):
        yield progress
        return
    with progress_bar(name, progress) as show:
        yield lambda now: show(now.share, _describe(now))


def _describe(now: RunProgress) -> str:
    rate = now.rounds / max(now.seconds, 1e-9) / 1e6
    return f"{now.done}/{now.units} work units {rate:.1f}M rounds/s"


def _compute(
    groups: Sequence[UnitGroup],
    executor: Executor | None,
    shares: dict[UnitGroup, float],
) -> Generator[tuple[UnitGroup | None, list[Measurements]]]:
    """Compute groups of work units and yield each as it finishes; closing it stops the others.

    It yields None when no group has finished but `shares`, the progress of running ones, changed.
    """
    if not groups:
        return
    stop = threading.Event()
    finished: queue.SimpleQueue[Future[list[Measurements]]] = queue.SimpleQueue()
    running: dict[Future[list[Measurements]], UnitGroup] = {}
    waiting, left = iter(groups), len(groups)
    with _pool(groups, executor) as pool:
        try:
            while left:
                for group in itertools.islice(waiting, _MAX_IN_FLIGHT - len(running)):
                    future = pool.submit(
                        compute_group, group, **_watching(group, pool, stop, shares)
                    )
                    running[future] = group
                    future.add_done_callback(finished.put)
                try:  # in short waits, because a long one would not hear Ctrl-C everywhere
                    future = finished.get(timeout=0.5)
                except queue.Empty:
                    if shares:
                        yield None, []
                    continue
                group, left = running.pop(future), left - 1
                measured = _result(future, group)
                shares.pop(group, None)
                yield group, measured
        except BaseException:
            stop.set()
            for future in running:
                future.cancel()
            raise


def _pool(
    groups: Sequence[UnitGroup], executor: Executor | None
) -> AbstractContextManager[Executor]:
    return local_executor(groups) if executor is None else nullcontext(executor)


def _watching(
    group: UnitGroup, pool: Executor, stop: threading.Event, shares: dict[UnitGroup, float]
) -> dict[str, Any]:
    """Return how a thread is stopped and reports progress; neither can be sent to a process."""
    if not isinstance(pool, ThreadPoolExecutor | LocalThreads):
        return {}
    if group.on_core:
        return {"stop": stop}
    return {"stop": stop, "show": functools.partial(shares.__setitem__, group)}


def _result(future: Future[list[Measurements]], group: UnitGroup) -> list[Measurements]:
    try:
        return future.result()
    except PairupError:
        raise
    except Exception as error:  # whatever the executor makes of a worker that is gone
        first, last = group.units[0], group.units[-1]
        raise SimulationError(
            f"a work unit of {first.policy} on {first.problem.name}, replications "
            f"{first.replications.start} to {last.replications.stop - 1}, was lost: "
            f"{type(error).__name__}: {error}. Finished work units are kept: run again to continue"
        ) from error
