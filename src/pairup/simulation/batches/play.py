"""Replications in batches: as many at once as fit, in launches of about half a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from pairup.errors import SimulationError
from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.simulation.batches.batch import Batch
from pairup.simulation.batches.memory import DeviceMemory, Memory
from pairup.simulation.playthrough import Measurements

_MAX_REPLICATIONS = 131_072  # at once: more do not make a card faster
_MEMORY_SHARE = 0.4  # of a card's free memory, so that tables can grow
_FIRST_ROUNDS = 64  # of the first launch
_LAUNCH_SECONDS = 0.5  # a launch cannot be interrupted

ShowShare = Callable[[float], None]  # takes the share done, in [0, 1]


def play_batches(  # noqa: PLR0913 - those of `play_replications`, and some with defaults
    problem: Problem,
    policy: Policy,
    rounds: int,
    replications: Sequence[int],
    seed: int,
    checkpoints: Sequence[int],
    stop: threading.Event | None = None,
    show: ShowShare = lambda share: None,
    memory: Memory | None = None,
    memory_share: float = 1.0,
) -> Measurements:
    """Play replications side by side; the arguments and results are those of `play_replications`.

    `show` is told the share done. When `stop` is set, the call ends after the launch under way, in
    about half a second, with a `SimulationError`. By default a GPU plays; `memory_share` is what it
    may use of its free memory.
    """
    place: Memory = DeviceMemory() if memory is None else memory
    size, parts = block_size(problem, policy, rounds, place, memory_share), list[Measurements]()
    for first in range(0, len(replications), size):
        part = replications[first : first + size]
        batch = Batch(problem, policy, rounds, seed, part, place)

        def show_part(share: float, first: int = first, count: int = len(part)) -> None:
            show((first + share * count) / len(replications))

        parts.append(_play(batch, rounds, checkpoints, stop, show_part))
    regret, games = (np.concatenate(column) for column in zip(*parts, strict=True))
    return regret, games


def check_gpu() -> None:
    """Refuse, with one line that says what is missing, a machine on which no GPU can play."""
    DeviceMemory()


def block_size(
    problem: Problem, policy: Policy, rounds: int, memory: Memory, share: float = 1.0
) -> int:
    """Return how many replications to play at once."""
    one = Batch(problem, policy, rounds, 0, range(1), memory)
    room = share * _MEMORY_SHARE * memory.free_bytes
    return int(np.clip(room / one.nbytes, 1, _MAX_REPLICATIONS))


def _play(
    batch: Batch,
    rounds: int,
    checkpoints: Sequence[int],
    stop: threading.Event | None,
    show: ShowShare,
) -> Measurements:
    """Play a batch in launches."""
    regret, games = [], []
    now, launch = 0, _FIRST_ROUNDS
    for checkpoint in checkpoints:
        while now < checkpoint:
            if stop is not None and stop.is_set():
                raise SimulationError("the simulation was stopped before its last round")
            began, until = time.monotonic(), min(now + launch, checkpoint)
            batch.play_to(until)
            if until - now == launch:
                launch = _next_launch(launch, time.monotonic() - began)
            now = until
            show(now / rounds)
        regret.append(batch.regret)
        games.append(batch.games)
    return np.stack(regret, axis=1), np.stack(games, axis=1)


def _next_launch(rounds: int, seconds: float) -> int:
    """Return how many rounds to launch next, after so many took so long."""
    return int(np.clip(rounds * _LAUNCH_SECONDS / max(seconds, 1e-3), rounds // 2, 4 * rounds)) or 1
