"""Runner: an experiment split into work units, played anywhere, kept as they finish.

A block is some replications of one policy on one problem, about a second of work. Its key is a
hash of all that determines its numbers, so that a run which was killed, or which has more
replications or policies than the last, computes only what is not there yet.
"""

from __future__ import annotations

import json
import os
import platform
import queue
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pairup.errors import PairupError, ResultsError, SimulationError
from pairup.experiments.progress import Meter, ProgressCallback, reporter
from pairup.experiments.spec import Experiment, canonical_json
from pairup.experiments.storage import (
    SCHEMA_VERSION,
    Numbers,
    compact,
    read_manifest,
    read_part,
    read_runs,
    sweep_temporaries,
    write_part,
    write_whole,
    writing,
)
from pairup.experiments.work_units import WorkUnit, compute_unit, split_into_units
from pairup.simulation.playthrough import play_replications

_IN_FLIGHT = 4096  # blocks that an executor holds at once


@dataclass(frozen=True)
class RunSummary:
    """What a sweep did: blocks of the experiment, and those computed now; rounds played now."""

    blocks: int
    computed: int
    reused: int
    seconds: float
    rounds: int


def run_experiment(
    experiment: Experiment,
    out: str | Path,
    executor: Executor | None = None,
    progress: bool | ProgressCallback = False,
) -> RunSummary:
    """Run an experiment, or what is left of it, into a folder.

    The data are the same bit for bit on every executor, and however often the run was stopped.
    Stop it as you like, Ctrl-C or kill -9: finished blocks are kept, and the next run goes on.

    Parameters
    ----------
    experiment
        From `load_experiment`, say.
    out
        Folder of the results; made where it is missing. It may hold an earlier state of the
        experiment of the same name, fewer replications for instance: blocks that did not change
        are reused, others stay beside them, unread.
    executor
        Where blocks run: any `concurrent.futures.Executor`, or `dask_executor`. By default on
        threads, one a core; the compiled loop releases the GIL.
    progress
        True shows a bar on a terminal (and nothing elsewhere). A function is called with a
        `RunProgress` after each block.

    Raises
    ------
    ResultsError
        The folder cannot be written to, is full, holds another experiment, or another run is
        writing to it. Finished blocks stay valid.
    SimulationError
        A block failed, or its worker was lost.

    Examples
    --------
    >>> import tempfile
    >>> from pairup import load_experiment, run_experiment
    >>> small = load_experiment("experiment-1").scaled(rounds=100, replications=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run_experiment(small, folder)
    ...     again = run_experiment(small, folder)
    >>> first.computed, again.computed, again.reused
    (60, 0, 60)
    """
    start, folder = time.perf_counter(), Path(out)
    blocks = split_into_units(experiment)
    with _only_run(folder):
        _prepare(folder, experiment, blocks)
        left = [block for block in blocks if read_part(folder, block.key) is None]
        log = _RunLog(folder, executor)
        # Longest first, so that no long one starts when the others are through.
        left.sort(key=lambda block: -block.cost)
        with reporter(experiment.name, progress) as report:
            cost = sum(block.cost for block in left)
            meter = Meter(len(blocks), len(blocks) - len(left), cost, report)
            _compute(left, folder, executor, meter)
        compact(folder)
        summary = RunSummary(
            blocks=len(blocks),
            computed=len(left),
            reused=len(blocks) - len(left),
            seconds=time.perf_counter() - start,
            rounds=meter.rounds,
        )
        log.end(summary)
    return summary


def _compute(
    blocks: Sequence[WorkUnit], folder: Path, executor: Executor | None, meter: Meter
) -> None:
    """Play blocks and keep each as it comes back."""
    if not blocks:
        return
    stop = threading.Event()
    with _engine(executor, blocks) as pool:
        finished: queue.SimpleQueue[Future[Numbers]] = queue.SimpleQueue()
        running: dict[Future[Numbers], WorkUnit] = {}
        waiting = iter(blocks)
        try:
            for _ in blocks:
                _submit(pool, waiting, running, finished, stop)
                future = _next(finished)
                block = running.pop(future)
                numbers = _result(future, block)
                write_part(folder, block.key, block.replications, block.marks, numbers)
                meter.add(block.cost, block.rounds_played)
        except BaseException:
            stop.set()
            for future in running:
                future.cancel()
            raise


def _submit(
    pool: Executor,
    waiting: Iterator[WorkUnit],
    running: dict[Future[Numbers], WorkUnit],
    finished: queue.SimpleQueue[Future[Numbers]],
    stop: threading.Event,
) -> None:
    """Fill the executor up."""
    arguments = (stop,) if isinstance(pool, ThreadPoolExecutor) else ()  # it cannot travel
    while len(running) < _IN_FLIGHT:
        block = next(waiting, None)
        if block is None:
            return
        future = pool.submit(compute_unit, block, *arguments)
        running[future] = block
        future.add_done_callback(finished.put)


def _next(finished: queue.SimpleQueue[Future[Numbers]]) -> Future[Numbers]:
    while True:  # in short waits, because a long one would not hear Ctrl-C everywhere
        with suppress(queue.Empty):
            return finished.get(timeout=0.5)


def _result(future: Future[Numbers], block: WorkUnit) -> Numbers:
    try:
        return future.result()
    except PairupError:
        raise
    except Exception as error:  # CancelledError included: the cluster is gone
        raise SimulationError(
            f"{block.policy} on {block.problem.name}, replications {block.replications.start} to "
            f"{block.replications.stop - 1}, was lost: {type(error).__name__}: {error}. Finished "
            "blocks are kept: run again to go on"
        ) from error


@contextmanager
def _engine(executor: Executor | None, blocks: Sequence[WorkUnit]) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    # Compiled here once: threads that all find no machine code would each compile it.
    for block in {block.entry: block for block in blocks}.values():
        play_replications(block.problem, block.policy, 1, range(1), block.seed, [1])
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(blocks))) as threads:
        yield threads


@contextmanager
def dask_executor(address: str, timeout: float = 10.0) -> Iterator[Executor]:
    """Connect to a Dask cluster, for `run_experiment`.

    Parameters
    ----------
    address
        Of the scheduler, such as ``"tcp://10.0.0.1:8786"``.
    timeout
        Seconds to wait for its answer.

    Raises
    ------
    SimulationError
        dask.distributed is not installed, or no scheduler answers.

    Examples
    --------
    ::

        with dask_executor("tcp://10.0.0.1:8786") as executor:
            run_experiment(experiment, "results", executor=executor)
    """
    try:
        from distributed import Client
    except ImportError:
        raise SimulationError(
            'dask.distributed is not installed: pip install "pairup[dask]"'
        ) from None
    try:
        client = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TypeError, ValueError) as error:  # TimeoutError is an OSError
        raise SimulationError(
            f"no Dask scheduler answers at {address} ({error}): start one with `dask scheduler`, "
            "it prints its address"
        ) from None
    with client:
        yield client.get_executor(pure=False)  # blocks have their own keys


def _prepare(folder: Path, experiment: Experiment, blocks: Sequence[WorkUnit]) -> None:
    """Note in the folder what is about to be run, and clean it of half-written files."""
    path = folder / "experiment.json"
    manifest = {
        "schema": SCHEMA_VERSION,
        "experiment": experiment.definition(),
        "blocks": [
            {
                "key": block.key,
                "policy": block.entry,
                "problem": block.posed,
                "replications": [block.replications.start, block.replications.stop],
            }
            for block in blocks
        ],
    }
    sweep_temporaries(folder)
    text = json.dumps(manifest, indent=1, sort_keys=True, default=_plain).encode()
    if path.exists():
        held = read_manifest(folder)["experiment"]["name"]
        if held != experiment.name:
            raise ResultsError(
                f"{folder} holds the results of {held!r}, not of {experiment.name!r}: choose "
                "another folder"
            )
        if path.read_bytes() == text:
            return
        with writing(folder):  # it would be of the experiment as it was
            (folder / "results.parquet").unlink(missing_ok=True)
    write_whole(path, text)


def _plain(value: Any) -> Any:
    return json.loads(canonical_json(value))


class _RunLog:
    """Notes in ``run.json`` when, where and for how long an experiment ran.

    Apart from the data, which must not change with the time it took.
    """

    def __init__(self, folder: Path, executor: Executor | None) -> None:
        self._path = folder / "run.json"
        self._runs = read_runs(folder)
        self._runs.append(
            {
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": None,  # stays so when the run is killed
                "command": sys.argv,
                "engine": "threads" if executor is None else type(executor).__name__,
                "cores": os.cpu_count(),
                "machine": platform.platform(),
                "versions": {"python": platform.python_version()} | _versions(),
            }
        )
        self._write()

    def end(self, summary: RunSummary) -> None:
        self._runs[-1] |= {
            "seconds": round(summary.seconds, 3),
            "blocks": summary.blocks,
            "computed": summary.computed,
            "reused": summary.reused,
            "rounds": summary.rounds,
        }
        self._write()

    def _write(self) -> None:
        write_whole(self._path, json.dumps({"runs": self._runs}, indent=1).encode())


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("pairup", "numba", "numpy", "polars")}


@contextmanager
def _only_run(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second run out of it while this one lasts."""
    with writing(folder):
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        lock = open(folder / ".lock", "a")  # noqa: SIM115 - held over the yield
    with lock:
        try:
            import fcntl  # POSIX only; elsewhere nothing keeps a second run out

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system frees it, even on kill -9
        except ImportError:
            pass
        except BlockingIOError:
            raise ResultsError(
                f"another run is writing to {folder}: wait for it, or choose another folder"
            ) from None
        except OSError:
            pass  # a network file system without locks
        yield
