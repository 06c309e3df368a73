"""Simulation: a policy plays a problem, again and again, on common random numbers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.checks import check_instance, checked_integer, checked_seed
from pairup.errors import SimulationError
from pairup.kernels.runtime.compilation import for_state
from pairup.kernels.runtime.dispatch import FULL, set_available_step
from pairup.kernels.runtime.loop import Tally, World, new_tally, play
from pairup.kernels.runtime.randomness import POLICY, stream_key
from pairup.policies.base import Policy, StartContext
from pairup.problem import Problem
from pairup.simulation.replication import new_world
from pairup.simulation.result import Run

_POINTS_A_DECADE = 12  # of the default checkpoints
_SLICE = 1_000_000  # players' turns between two looks at whether to stop: a hundredth of a second

Block = tuple[NDArray[np.float64], NDArray[np.int64]]


def simulate(
    problem: Problem,
    policy: Policy,
    rounds: int,
    replications: int | range = 20,
    seed: int = 0,
    checkpoints: Sequence[int] | None = None,
    executor: Executor | None = None,
    progress: bool = False,
) -> Run:
    """Let a policy play a problem.

    Replication r of seed s is the same whoever plays it: in each round each player accepts or
    declines by a number drawn from (s, r, round, player) alone. So policies meet the same players
    on the same days, and the result does not depend on threads, on the executor or on how the
    replications are split over calls. In each replication the players' labels are shuffled, so
    that no policy gains from the order in which a problem lists them.

    Parameters
    ----------
    problem
        Who plays.
    policy
        Who proposes.
    rounds
        Number of rounds of each replication, at least 1.
    replications
        How many replications, or which ones (``range(20, 40)`` continues ``range(20)``).
    seed
        At least 0.
    checkpoints
        Rounds after which regret and games are noted, in (0, rounds]; the last round is always
        added. By default twelve a decade, evenly spaced in log scale.
    executor
        Where replications run: any `concurrent.futures.Executor`. By default on threads, one a
        core; the compiled loop releases the GIL.
    progress
        Show a bar on the terminal.

    Returns
    -------
    Run
        Regret and games of each replication at each checkpoint.

    Examples
    --------
    >>> from pairup import Problem, Unimodal, simulate
    >>> problem = Problem.from_zero(4, 0.1)
    >>> run = simulate(problem, Unimodal(), rounds=1_000, replications=8, seed=7)
    >>> again = simulate(problem, Unimodal(), rounds=1_000, replications=range(4, 8), seed=7)
    >>> bool((run.regret[4:] == again.regret).all())
    True
    """
    check_instance("problem", problem, Problem, SimulationError, example="Problem([0.9, 0.8])")
    check_instance("policy", policy, Policy, SimulationError, example='get_policy("unimodal")')
    if executor is not None:
        check_instance(
            "executor", executor, Executor, SimulationError, example="ThreadPoolExecutor(2)"
        )
    numbers = _checked_replications(replications)
    checked_integer("rounds", rounds, SimulationError, minimum=1, advice="try 100")
    checked_seed(seed)
    marks = _checked_marks(checkpoints, rounds)
    stop = threading.Event()
    task = _Task(problem, policy, rounds, seed, marks)
    task.start_state(numbers[0])  # an impossible policy fails here, not in a worker
    with _executor(executor, task, numbers) as pool:
        stopper = stop if isinstance(pool, ThreadPoolExecutor) else None  # it cannot travel
        futures: list[Future[Block]] = []
        try:
            futures.extend(pool.submit(_replicate, task, number, stopper) for number in numbers)
            blocks = _gather(futures, len(numbers) if progress else 0)
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    regret, games = (np.stack(column) for column in zip(*blocks, strict=True))
    return Run(problem, policy, int(seed), np.array(numbers), marks, regret, games)


def play_block(
    problem: Problem,
    policy: Policy,
    rounds: int,
    replications: range,
    seed: int,
    checkpoints: Sequence[int],
    stop: threading.Event | None = None,
) -> Block:
    """Play some replications one after the other, here and in this thread.

    It is the unit of work of a sweep: what it gives depends on its arguments alone, and all of
    them but `stop` can travel to another process. The arguments are those of `simulate`.

    Parameters
    ----------
    stop
        When it is set, the block ends within a hundredth of a second with a `SimulationError`.

    Returns
    -------
    regret, games : ndarray, shape (replications, checkpoints)
        As in `Run`.

    Examples
    --------
    >>> from pairup import Problem, Unimodal, simulate
    >>> problem = Problem.from_zero(4, 0.1)
    >>> regret, games = play_block(problem, Unimodal(), 100, range(2, 5), 7, [10, 100])
    >>> run = simulate(problem, Unimodal(), 100, range(2, 5), 7, [10, 100])
    >>> bool((run.regret == regret).all() and (run.games == games).all())
    True
    """
    task = _Task(problem, policy, rounds, seed, _checked_marks(checkpoints, rounds))
    played = [_replicate(task, number, stop) for number in replications]
    regret, games = (np.stack(column) for column in zip(*played, strict=True))
    return regret, games


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
        Of processor time for each round timed.
    played : int
        Rounds timed.

    Examples
    --------
    >>> from pairup import Problem, Unimodal
    >>> time_rounds(Problem.from_zero(4, 0.1), Unimodal(), rounds=50)[1]
    50
    """
    _replicate(_Task(problem, policy, 1, seed, np.array([1])), 0)  # compiled, or read from disk
    task = _Task(problem, policy, rounds, seed, np.array([rounds]))
    world, state, tally = task.world(0), task.start_state(0), new_tally(problem.players)
    spent, played, step = 0, 0, 1
    while played < rounds and spent < seconds * 1e9:
        played = min(played + step, rounds)
        before = time.thread_time_ns()
        state = _play_until(policy, state, world, tally, played, None)
        took = time.thread_time_ns() - before
        spent += took
        step *= 2 if took < seconds * 1e8 else 1  # so that the last step is no long one
    return spent / played, played


class _Task:
    """One simulation, as it travels to workers."""

    def __init__(
        self, problem: Problem, policy: Policy, rounds: int, seed: int, marks: NDArray[np.int64]
    ) -> None:
        self.problem, self.policy = problem, policy
        self.rounds, self.seed, self.marks = int(rounds), int(seed), marks

    def world(self, replication: int) -> World:
        return new_world(self.problem, self.seed, replication)

    def start_state(self, replication: int) -> Any:
        players = self.problem.players
        key = np.uint64(stream_key(self.seed, replication, POLICY))
        context = StartContext(players, key, self.rounds, self.world(replication).rates)
        state = self.policy.start(context)
        present = np.arange(players)
        self.policy.set_present(state, present)
        for_state(set_available_step, state)(state, present)
        return state


def _replicate(task: _Task, replication: int, stop: threading.Event | None = None) -> Block:
    """Play one replication; returns regret and games at the marks."""
    world, state = task.world(replication), task.start_state(replication)
    tally = new_tally(task.problem.players)
    regret, games = np.zeros(len(task.marks)), np.zeros(len(task.marks), np.int64)
    for index, mark in enumerate(task.marks):
        state = _play_until(task.policy, state, world, tally, mark, stop)
        regret[index], games[index] = tally.regret[0], tally.games[0]
    return regret, games


def _play_until(
    policy: Policy, state: Any, world: World, tally: Tally, mark: int, stop: threading.Event | None
) -> Any:
    rounds = max(_SLICE // len(world.rates), 1)
    loop = for_state(play, state)
    while tally.round[0] < mark:
        if stop is not None and stop.is_set():
            raise SimulationError("the simulation was stopped before its last round")
        if loop(state, world, tally, min(mark, tally.round[0] + rounds)) == FULL:
            state = policy.grow(state)
    return state


def _executor(
    executor: Executor | None, task: _Task, numbers: range
) -> AbstractContextManager[Executor]:
    if executor is not None:
        return nullcontext(executor)
    # Compiled here once: threads that all find no machine code would each compile it.
    _replicate(_Task(task.problem, task.policy, 1, task.seed, np.array([1])), numbers[0])
    return ThreadPoolExecutor(min(os.cpu_count() or 1, len(numbers)))


def _gather(futures: Sequence[Future[Block]], shown: int) -> list[Block]:
    """Wait for all futures, or for the first that fails."""
    with _bar(shown) as advance:
        left = set(futures)
        while left:
            done, left = wait(left, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
                advance()
    return [future.result() for future in futures]


@contextmanager
def _bar(total: int) -> Iterator[Callable[[], None]]:
    """Show a bar of `total` replications, or nothing at all for 0."""
    if not total:
        yield lambda: None
        return
    from rich.progress import Progress  # slow to import, and only for a bar

    with Progress() as progress:
        task = progress.add_task("replications", total=total)
        yield lambda: progress.advance(task)


def log_spaced(rounds: int, a_decade: int = _POINTS_A_DECADE) -> NDArray[np.int64]:
    """Return rounds evenly spaced in log scale, from 1 to `rounds`.

    Examples
    --------
    >>> log_spaced(100, a_decade=2).tolist()
    [1, 3, 10, 32, 100]
    """
    count = max(int(np.ceil(np.log10(rounds) * a_decade)), 1)
    return np.unique(np.rint(np.geomspace(1, rounds, count + 1)).astype(np.int64))


def _checked_marks(checkpoints: Iterable[int] | None, rounds: int) -> NDArray[np.int64]:
    if checkpoints is None:
        return log_spaced(rounds)
    try:
        marks = np.asarray(list(checkpoints))
        if marks.size and (marks.ndim != 1 or marks.dtype.kind not in "iu"):
            raise ValueError
    except (TypeError, ValueError):  # not iterable, or ragged
        raise SimulationError(
            f"checkpoints must be a list of integers, got {checkpoints!r}: try [{rounds}]"
        ) from None
    for mark in marks:
        if not 1 <= mark <= rounds:
            raise SimulationError(
                f"checkpoints must lie in [1, {rounds}], the rounds played, got {mark}"
            )
    return np.unique(np.append(marks, rounds).astype(np.int64))


def _checked_replications(replications: int | range) -> range:
    if isinstance(replications, range):
        if len(replications) == 0 or min(replications) < 0:
            raise SimulationError(
                f"replications must be some numbers of at least 0, got {replications!r}: "
                "try range(20)"
            )
        return replications
    return range(
        checked_integer("replications", replications, SimulationError, minimum=1, advice="try 100")
    )
