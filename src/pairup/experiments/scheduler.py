"""Scheduler: work units become tasks of an engine, computed on threads or on any executor.

A core plays one work unit at a time; a GPU plays all replications of a policy on a problem at once,
and several such tasks side by side.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from pairup.compiled.kernel_cache import is_ours
from pairup.errors import PairupError, SimulationError
from pairup.experiments.work_units import WorkUnit, check_code
from pairup.simulation.compilation import compile_loops
from pairup.simulation.playthrough import Measurements, ShowShare, play_replications
from pairup.simulation.simulate import Engine, run_calls

_MAX_ON_GPU = 96  # tasks that a GPU plays side by side
_MAX_REPLICATIONS = 131_072  # of a task: what a GPU plays at once, and loses when it is stopped
_CORE_SPEED = 100  # a core plays a round about this many times as fast as a thread of a GPU


@dataclass(frozen=True, eq=False)
class Task:
    """Work units that an engine plays at once: all of them have one policy and one problem."""

    units: tuple[WorkUnit, ...]
    engine: Engine = "cpu"
    memory_share: float = 1.0  # of a GPU, whose memory other tasks use beside this one

    @property
    def cost(self) -> float:
        """Nominal cost in seconds of a core."""
        return sum(unit.cost for unit in self.units)


class Progress(NamedTuple):
    """A task that has finished, or None; what it measured; the nominal cost of running ones."""

    task: Task | None
    measured: list[Measurements]
    under_way: float


def make_tasks(units: Sequence[WorkUnit], engine: Engine) -> list[Task]:
    """Return the tasks of work units, the longest first, so that none starts at the end.

    A GPU plays all of them but third-party policies, which are left to the cores.
    """
    ordered = sorted(units, key=lambda unit: -unit.cost)  # stable: replications stay in order
    on_gpu = [unit for unit in ordered if engine == "cuda" and is_ours(type(unit.policy))]
    together: dict[tuple[int, int, int], list[WorkUnit]] = {}
    for unit in on_gpu:
        together.setdefault((unit.entry_index, unit.problem_index, unit.rounds), []).append(unit)
    parts = [part for some in together.values() for part in _split(some)]
    parts.sort(key=lambda part: -part[0].cost / len(part[0].replications))
    share = 1 / max(min(len(parts), _MAX_ON_GPU), 1)
    own = {id(unit) for unit in on_gpu}
    return [Task(tuple(part), "cuda", share) for part in parts] + [
        Task((unit,)) for unit in ordered if id(unit) not in own
    ]


def _split(units: list[WorkUnit]) -> Iterator[list[WorkUnit]]:
    size = max(_MAX_REPLICATIONS // len(units[0].replications), 1)
    return (units[first : first + size] for first in range(0, len(units), size))


def compute_task(
    task: Task, stop: threading.Event | None = None, show: ShowShare = lambda share: None
) -> list[Measurements]:
    """Play the replications of a task; called by workers. `show` gets the share that is done."""
    first = task.units[0]
    check_code(first)
    numbers = [number for unit in task.units for number in unit.replications]
    game = first.problem, first.policy, first.rounds, numbers, first.seed, first.checkpoints, stop
    if task.engine == "cpu":
        regret, games = play_replications(*game)
    else:
        from pairup.simulation.batches.batch import play_batches  # slow to import

        regret, games = play_batches(*game, show, memory_share=task.memory_share)
    ends = list(itertools.accumulate(len(unit.replications) for unit in task.units))
    return [
        (regret[start:end], games[start:end]) for start, end in zip([0, *ends], ends, strict=False)
    ]


def compute_tasks(tasks: Sequence[Task], executor: Executor | None) -> Generator[Progress]:
    """Compute tasks and yield each as it finishes; closing it stops the others.

    It yields also when none has finished for half a second, if a GPU plays. Without an executor
    they are computed on threads of this process.
    """
    if not tasks:
        return
    stop, shares = threading.Event(), dict[Task, float]()  # of tasks that a GPU plays now
    with _threads(tasks) if executor is None else nullcontext(executor) as pool:

        def call(task: Task) -> Callable[[], list[Measurements]]:
            if not isinstance(pool, ThreadPoolExecutor):  # a process could not be sent the rest
                return functools.partial(compute_task, task)
            show = functools.partial(shares.__setitem__, task)
            return functools.partial(compute_task, task, stop, show)

        with closing(run_calls(pool, map(call, tasks), stop)) as finished:
            for done in finished:
                if done is not None:
                    task = tasks[done[0]]
                    measured = _result(done[1], task)
                    shares.pop(task, None)
                    yield Progress(task, measured, _under_way(shares))
                elif shares:
                    yield Progress(None, [], _under_way(shares))


def _under_way(shares: dict[Task, float]) -> float:
    return sum(task.cost * share for task, share in list(shares.items()))


@contextmanager
def _threads(tasks: Sequence[Task]) -> Iterator[ThreadPoolExecutor]:
    """Start a thread per core, or one for each task that a GPU plays: they only wait for it."""
    on_core = [task.units[0] for task in tasks if task.engine == "cpu"]
    games = {
        (unit.entry_index, unit.problem_index): (unit.problem, unit.policy) for unit in on_core
    }
    compile_loops(games.values())
    cores = os.cpu_count() or 1
    if len(on_core) < len(tasks):
        _advise_cores(tasks, cores)
    at_once = cores if len(on_core) == len(tasks) else _MAX_ON_GPU
    with ThreadPoolExecutor(min(len(tasks), at_once)) as pool:
        yield pool


def _advise_cores(tasks: Sequence[Task], cores: int) -> None:
    """Print a line of advice on standard error if cores would be faster than a GPU."""
    count = sum(len(unit.replications) for task in tasks for unit in task.units)
    if count < _CORE_SPEED * cores:
        print(
            f"pairup: {count:,} replications are too few for a GPU; without --cuda the cores of "
            f"this machine, {cores}, would play them faster",
            file=sys.stderr,
        )


def _result(future: Future[list[Measurements]], task: Task) -> list[Measurements]:
    try:
        return future.result()
    except PairupError:
        raise
    except Exception as error:  # whatever the executor makes of a worker that is gone
        first, last = task.units[0], task.units[-1]
        raise SimulationError(
            f"a work unit of {first.policy} on {first.problem.name}, replications "
            f"{first.replications.start} to {last.replications.stop - 1}, was lost: "
            f"{type(error).__name__}: {error}. Finished work units are kept: run again to continue"
        ) from error


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
