"""Executors: where work units are computed, on threads here or on a Dask cluster."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pairup.errors import SimulationError
from pairup.experiments.unit_groups import MAX_AT_ONCE, UnitGroup
from pairup.experiments.work_units import WorkUnit
from pairup.simulation.compile_ahead import compile_ahead
from pairup.simulation.playthrough import play_replications


@contextmanager
def local_executor(groups: Sequence[UnitGroup]) -> Iterator[Executor]:
    """Start a thread for each group that a GPU plays, and one per core for the others."""
    on_gpu = sum(not group.on_core for group in groups)
    cores = os.cpu_count() or 1
    entries = {group.units[0].entry_index: group.units[0] for group in groups if group.on_core}
    games = [(unit.problem, unit.policy) for unit in entries.values()]
    with (
        ThreadPoolExecutor(cores) as compilers,
        ThreadPoolExecutor(min(on_gpu, MAX_AT_ONCE) or 1) as gpu,
        ThreadPoolExecutor(min(cores, len(groups))) as computers,
    ):
        compiled = dict(zip(entries, compile_ahead(games, compilers), strict=True))
        try:
            for entry, unit in entries.items():
                if compiled[entry].done() and not on_gpu:  # here Ctrl-C can end a compilation
                    _play_first_round(unit)
            yield LocalThreads(gpu, computers, compiled)
        except BaseException:
            for future in compiled.values():
                future.cancel()
            raise


class LocalThreads(Executor):
    """Threads that wait for a GPU, and threads that compute: the compiled loop releases the GIL."""

    def __init__(
        self, gpu: Executor, computers: Executor, compiled: Mapping[int, Future[None]]
    ) -> None:
        self._gpu, self._computers, self._compiled = gpu, computers, compiled
        self._compiling: defaultdict[int, threading.Lock] = defaultdict(threading.Lock)

    def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
        """Submit a call with a group to the threads of its engine.

        A group whose loop is still being compiled lets others go first.
        """
        group: UnitGroup = arguments[0]
        if not group.on_core:
            return self._gpu.submit(function, *arguments, **options)
        outcome: Future[Any] = Future()

        def compute() -> None:
            if outcome.set_running_or_notify_cancel():
                try:
                    outcome.set_result(self._compute(function, *arguments, **options))
                except BaseException as error:
                    outcome.set_exception(error)

        def start(compiled: Future[None]) -> None:
            if not outcome.cancelled():
                self._computers.submit(compute)

        self._compiled[group.units[0].entry_index].add_done_callback(start)
        return outcome

    def _compute(self, function: Any, group: UnitGroup, *arguments: Any, **options: Any) -> Any:
        """Play a round first, alone: threads that find no machine code would each compile it."""
        with self._compiling[group.units[0].entry_index]:
            _play_first_round(group.units[0], options.get("stop"))
        return function(group, *arguments, **options)


def _play_first_round(unit: WorkUnit, stop: threading.Event | None = None) -> None:
    """Play a round, which compiles the loop if it is not on disk, or reads it."""
    if stop is None or not stop.is_set():
        play_replications(unit.problem, unit.policy, 1, range(1), unit.seed, [1])


@contextmanager
def dask_executor(address: str, timeout: float = 10.0) -> Iterator[Executor]:
    """Connect to a Dask cluster, for `run_experiment`.

    Parameters
    ----------
    address
        Address of the scheduler, such as ``"tcp://10.0.0.1:8786"``.
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
        yield client.get_executor(pure=False)  # work units have their own keys
