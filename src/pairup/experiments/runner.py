"""Runner: the work units of an experiment are computed anywhere and kept as they finish."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from pairup.checks import check_choice, check_instance
from pairup.errors import PolicyError, ResultsError, SimulationError
from pairup.experiments.experiment import Experiment
from pairup.experiments.results import ReadUnit, Results, RunSummary, join_results
from pairup.experiments.scheduler import compute_tasks, make_tasks
from pairup.experiments.storage import RunLog, compact, hold_folder, read_part, write_part
from pairup.experiments.work_units import (
    WorkUnit,
    make_manifest,
    split_horizon_check,
    split_into_units,
)
from pairup.policies.contract import check_fit
from pairup.simulation.progress_bar import progress_bar
from pairup.simulation.result import measured_rows
from pairup.simulation.simulate import Engine

if TYPE_CHECKING:
    import polars as pl

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


def run_experiment(
    experiment: Experiment,
    out: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool | ProgressCallback = False,
    engine: Engine = "cpu",
) -> Results:
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
        "cuda" plays on an NVIDIA GPU all but third-party policies, and says so where the cores of
        this machine would be faster. With `dask_executor` each worker has a GPU. The data are the
        same, bit for bit.

    Raises
    ------
    PolicyError
        A policy cannot play a problem; nothing is compiled or written.
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
    >>> first.run.computed, again.run.computed, again.run.reused
    (24, 0, 24)
    >>> run_experiment(small).frame.equals(first.frame)
    True
    """
    _check_arguments(out, executor, progress, engine)
    if engine == "cuda" and executor is None:
        from pairup.simulation.batches.batch import check_gpu  # slow to import

        check_gpu()
    _check_fits(experiment)
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
        results = run(read, keep, lambda: compact(folder, experiment))
        assert results.run is not None
        log.add(**vars(results.run) | {"seconds": round(results.run.seconds, 3)})
    return results


def _check_arguments(out: object, executor: object, progress: object, engine: object) -> None:
    if not isinstance(out, str | PathLike | None):
        raise ResultsError(f'out must be the path of a folder, got {out!r}: try "results"')
    if executor is not None:
        check_instance(
            "executor", executor, Executor, SimulationError, example="ThreadPoolExecutor(4)"
        )
    if not callable(progress):
        check_instance("progress", progress, bool, SimulationError, example="True")
    check_choice("engine", engine, get_args(Engine), SimulationError)


def _check_fits(experiment: Experiment) -> None:
    """Refuse a policy that cannot play a problem, before anything is compiled or written."""
    for entry, posed in itertools.product(experiment.entries, experiment.problems):
        try:
            check_fit(entry.policy, posed.problem)
        except PolicyError as error:
            raise PolicyError(f"{entry.label} on {posed.problem.name}: {error}") from None


def _run(
    name: str,
    units: Sequence[WorkUnit],
    executor: Executor | None,
    engine: Engine,
    progress: bool | ProgressCallback,
    read: ReadUnit,
    keep: Keep,
    finish: Callable[[], Results],
) -> Results:
    start = time.perf_counter()
    left = [unit for unit in units if read(unit.key) is None]
    reused = len(units) - len(left)
    whole = sum(unit.cost for unit in left)
    done, cost, rounds = reused, 0.0, 0
    stream = compute_tasks(make_tasks(left, engine), executor)
    with _progress_callback(name, progress) as report, closing(stream):
        for task, measured, under_way in stream:
            for unit, rows in zip(task.units, measured, strict=True) if task else ():
                keep(unit.key, measured_rows(unit.replications, unit.checkpoints, *rows))
                done, cost = done + 1, cost + unit.cost
                rounds += unit.rounds_played
            seconds = time.perf_counter() - start
            # Costs that are added up in another order need not make the whole.
            share = 1.0 if done == len(units) else min((cost + under_way) / whole, 1.0)
            report(RunProgress(len(units), done, share, rounds, seconds))
    results = finish()
    seconds = time.perf_counter() - start
    summary = RunSummary(len(units), len(left), reused, seconds, rounds)
    return dataclasses.replace(results, run=summary)


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
