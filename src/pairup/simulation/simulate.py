"""Simulation: a policy plays a problem, again and again, on common random numbers."""

import itertools
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import partial
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from pairup.checks import check_choice, check_instance, checked_integer, checked_seed
from pairup.errors import SimulationError
from pairup.policies.contract import Policy, check_fit
from pairup.problem import Problem
from pairup.simulation.compilation import play_first_round
from pairup.simulation.playthrough import Measurements, play_replications
from pairup.simulation.progress_bar import progress_bar
from pairup.simulation.result import Run

_POINTS_PER_DECADE = 12  # of the default checkpoints
_MAX_IN_FLIGHT = 4096  # calls that an executor holds at once

T = TypeVar("T")
Engine = Literal["cpu", "cuda"]


def simulate(  # noqa: PLR0913 - all but three have defaults
    problem: Problem,
    policy: Policy,
    rounds: int,
    replications: int | range = 20,
    seed: int = 0,
    checkpoints: Sequence[int] | None = None,
    executor: Executor | None = None,
    progress: bool = False,
    engine: Engine = "cpu",
) -> Run:
    """Play a problem with a policy.

    Replication r of seed s is the same for every policy: in each round each player accepts or
    declines by a number drawn from (s, r, round, player) alone; where couples have rates of their
    own, each couple plays by one from (s, r, round, couple). So policies meet the same players
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
        added. By default twelve per decade, evenly spaced in log scale.
    executor
        Where replications run: any `concurrent.futures.Executor`. By default on threads, one
        per core; the compiled loop releases the GIL.
    progress
        Show a bar on standard error, where that is a terminal, or below the cell of a notebook.
    engine
        "cuda" plays on an NVIDIA GPU, one replication per thread: worth it from thousands of
        replications on. The numbers are the same, bit for bit. It needs the extra `cuda` and takes
        no executor; see docs/how-to/play-on-a-gpu.md.

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
    check_choice("engine", engine, get_args(Engine), SimulationError)
    if engine == "cuda" and executor is not None:
        raise SimulationError(
            f'engine="cuda" plays on a GPU, and takes no executor, got {executor!r}: leave it out'
        )
    numbers = _checked_replications(replications)
    checked_integer("rounds", rounds, SimulationError, minimum=1, advice="try 100")
    checked_seed(seed)
    checked = _checked_checkpoints(checkpoints, rounds)
    settings: dict[str, Any] = {"seed": int(seed), "checkpoints": checked.tolist()}
    if engine == "cuda":
        from pairup.simulation.batches.batch import play_batches  # slow to import

        with progress_bar("replications", progress) as show:
            regret, games = play_batches(
                problem,
                policy,
                int(rounds),
                numbers,
                **settings,
                show=lambda share: show(share, ""),
            )
        return Run(problem, policy, int(seed), np.array(numbers), checked, regret, games)
    check_fit(policy, problem)
    if executor is None:
        play_first_round(problem, policy)  # threads that find no machine code would each compile it
    play = partial(play_replications, problem, policy, int(rounds), **settings)
    threads = min(os.cpu_count() or 1, len(numbers))
    with ThreadPoolExecutor(threads) if executor is None else nullcontext(executor) as pool:
        played = _play_all(pool, play, numbers, progress)
    regret, games = (np.concatenate(column) for column in zip(*played, strict=True))
    return Run(problem, policy, int(seed), np.array(numbers), checked, regret, games)


def _play_all(
    pool: Executor, play: Callable[..., Measurements], numbers: range, progress: bool
) -> list[Measurements]:
    """Play all replications, or stop them all when one fails."""
    stop, played = threading.Event(), dict[int, Measurements]()
    if isinstance(pool, ThreadPoolExecutor):  # it cannot travel to another process
        play = partial(play, stop=stop)
    calls = [partial(play, range(number, number + 1)) for number in numbers]
    with (
        progress_bar("replications", progress) as show,
        closing(run_calls(pool, calls, stop)) as finished,
    ):
        for place, future in filter(None, finished):
            played[place] = future.result()
            show(len(played) / len(calls), f"{len(played)}/{len(calls)}")
    return [played[place] for place in range(len(calls))]


def run_calls(
    pool: Executor, calls: Iterable[Callable[[], T]], stop: threading.Event
) -> Generator[tuple[int, Future[T]] | None]:
    """Make calls on an executor; yields the place and the future of each as it finishes.

    It yields None when none has finished for half a second. Closing it, an error and Ctrl-C set
    `stop`, for the calls that run, and cancel the others.
    """
    finished: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
    running, waiting = dict[Future[T], int](), enumerate(calls)
    try:
        while True:
            for place, call in itertools.islice(waiting, _MAX_IN_FLIGHT - len(running)):
                future = pool.submit(call)
                running[future] = place
                future.add_done_callback(finished.put)
            if not running:
                return
            try:  # in short waits, because a long one would not hear Ctrl-C everywhere
                future = finished.get(timeout=0.5)
            except queue.Empty:
                yield None
            else:
                yield running.pop(future), future
    except BaseException:
        stop.set()
        for future in running:
            future.cancel()
        raise


def log_spaced(rounds: int, per_decade: int = _POINTS_PER_DECADE) -> NDArray[np.int64]:
    """Return rounds evenly spaced in log scale, from 1 to `rounds`.

    Examples
    --------
    >>> log_spaced(100, per_decade=2).tolist()
    [1, 3, 10, 32, 100]
    """
    count = max(int(np.ceil(np.log10(rounds) * per_decade)), 1)
    return np.unique(np.rint(np.geomspace(1, rounds, count + 1)).astype(np.int64))


def _checked_checkpoints(checkpoints: Iterable[int] | None, rounds: int) -> NDArray[np.int64]:
    if checkpoints is None:
        return log_spaced(rounds)
    try:
        given = np.asarray(list(checkpoints))
        if given.size and (given.ndim != 1 or given.dtype.kind not in "iu"):
            raise ValueError
    except (TypeError, ValueError):  # not iterable, or ragged
        raise SimulationError(
            f"checkpoints must be a list of integers, got {checkpoints!r}: try [{rounds}]"
        ) from None
    for checkpoint in given:
        if not 1 <= checkpoint <= rounds:
            raise SimulationError(
                f"checkpoints must lie in [1, {rounds}], the rounds played, got {checkpoint}"
            )
    return np.unique(np.append(given, rounds).astype(np.int64))


def _checked_replications(replications: int | range) -> range:
    if not isinstance(replications, range):
        name, advice = "replications", "try 100"
        return range(checked_integer(name, replications, SimulationError, minimum=1, advice=advice))
    if len(replications) == 0 or min(replications) < 0:
        raise SimulationError(
            f"replications must be numbers of at least 0, got {replications!r}: try range(20)"
        )
    return replications
