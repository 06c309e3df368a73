"""Batches: many replications of a policy on a problem, played side by side.

As many are played at once as fit, in launches of about half a second.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.randomness import POLICY
from pairup.compiled.simulation_loop import new_totals
from pairup.compiled.state_fields import fields_of
from pairup.errors import SimulationError
from pairup.policies.contract import Interruptions, Policy, StartContext, check_fit
from pairup.problem import Problem
from pairup.simulation.batches.layout import Layout, leaves, make_layout, stacked, with_leaves
from pairup.simulation.batches.loop_source import BEGIN, make_table
from pairup.simulation.batches.memory import DeviceMemory, Loop, Memory
from pairup.simulation.playthrough import Measurements, ShowShare, start_state
from pairup.simulation.replication import (
    new_replication,
    new_replications,
    replicated_ground,
    stream_keys,
    stream_words,
)

Array = NDArray[Any]
_EARLY_GROWTH = 4  # times that tables are enlarged before the first round
_MORE_PLAYERS = 4  # with these added, every array of players is larger
_PLAYERS = (8, 16, 24, 32)  # loops are compiled for up to these numbers, and for one number beyond
_MAX_REPLICATIONS = 131_072  # at once: more do not make a card faster
_MEMORY_SHARE = 0.4  # of a card's free memory, so that tables can grow
_FIRST_ROUNDS = 64  # of the first launch
_LAUNCH_SECONDS = 0.5  # a launch cannot be interrupted


@dataclass(frozen=True)
class BatchStart(StartContext):
    """What a policy knows before it starts a batch: a key for each replication.

    Arrays that a policy makes of its keys have the replication as one more axis, the last.
    """

    key: Any  # an array of keys

    def keys(self, count: int) -> NDArray[np.uint64]:
        """Return keys of as many streams of the policy's own, for each replication."""
        each = [stream_words(self.key, purpose) for purpose in range(count)]
        return np.array(each, np.uint64)


class Batch:
    """Replications `numbers` of a policy on a problem, played as far as asked.

    The arguments are those of `simulate`; `rounds` is the policy's horizon. The
    numbers are those of `Playthrough`, bit for bit, wherever `memory` and its loop are.
    """

    def __init__(
        self,
        problem: Problem,
        policy: Policy,
        rounds: int,
        seed: int,
        numbers: Sequence[int],
        memory: Memory,
    ) -> None:
        check_policy(policy, problem)
        self._problem, self._policy, self._memory = problem, policy, memory
        self._rounds, self._seed, self._numbers = rounds, seed, numbers
        self._round, self._piece = 0, 0
        self._interruptions = defaultdict[int, Interruptions](lambda: Interruptions(policy))
        self._players = memory.put(np.arange(problem.players))
        self._status = memory.empty((len(numbers),), np.int64)
        self._totals = new_totals(problem.players)
        self._total_columns = _Columns.same(leaves(self._totals), len(numbers), memory)
        self._enter_piece()

    def play_to(self, round: int) -> None:
        """Play on to a round."""
        while self._round < round:
            until = min(round, self._next_change())
            status = self._run(until)
            while np.any(status):
                self._resolve(status)
                status = self._run(until)
            self._round = until

    @property
    def regret(self) -> NDArray[np.float64]:
        """Regret of each replication so far."""
        return self._total("regret")

    @property
    def games(self) -> NDArray[np.int64]:
        """Games of each replication so far."""
        return self._total("games")

    @property
    def nbytes(self) -> int:
        """Size of all its arrays."""
        return sum(int(column.nbytes) for column in self._columns.placed)

    def _total(self, name: str) -> Array:
        column = self._total_columns.placed[self._totals._fields.index(name)]
        return self._memory.get(column)[0].copy()

    # The replications and the states, which change when the rates do

    def _next_change(self) -> int:
        starts = self._problem.starts
        while self._piece + 1 < len(starts) and starts[self._piece + 1] <= self._round:
            self._piece += 1
            self._enter_piece()
        last = self._piece + 1 == len(starts)
        return self._rounds if last else int(starts[self._piece + 1])

    def _enter_piece(self) -> None:
        """Place the replications of the piece that is played now; the first starts the policy."""
        piece = self._problem.pieces[self._piece]
        self._replication = new_replication(piece, self._seed, self._numbers[0])
        together = leaves(new_replications(piece, self._seed, self._numbers))
        self._replication_columns = _Columns.own(together, self._memory)
        if self._piece == 0 or self._policy.is_told_rates:
            self._start()

    def _start(self) -> None:
        keys, count = stream_keys(self._seed, self._numbers, POLICY), len(self._numbers)
        if self._are_alike:
            players, memory = self._problem.players, self._memory
            self._state = self._started(self._context(players, keys[0]))
            together = leaves(self._started(self._context(players, keys, BatchStart)))
            self._state_columns = _Columns.mixed(leaves(self._state), together, count, memory)
        else:
            states = [self._started_alone(*each) for each in zip(self._numbers, keys, strict=True)]
            self._state = states[0]
            self._state_columns = _Columns.own(stacked(states), self._memory)
        self._loop: Loop | None = None
        self._run(BEGIN)

    @property
    def _are_alike(self) -> bool:
        """Whether the states begin equal but for their keys: no rates, graph or sides."""
        told = self._policy.is_told_rates or self._policy.is_told_column_order
        return not told and self._problem.is_complete and self._problem.sides is None

    def _context(
        self, players: int, key: Any, kind: type[StartContext] = StartContext
    ) -> StartContext:
        # A GPU computes several times as fast in single precision.
        return kind(players, key, self._rounds, precision=np.float32)

    def _started(self, context: StartContext) -> Any:
        state = self._policy.start(context)
        self._policy.set_present(state, np.arange(context.capacity))
        for _ in range(_EARLY_GROWTH if self._grows else 0):
            state = self._policy.grow(state)
        return state

    def _started_alone(self, number: int, key: np.uint64) -> Any:
        """Start one replication with what its policy knows, on its graph or sides."""
        problem, seed = self._problem, self._seed
        replication = new_replication(problem.pieces[self._piece], seed, number)
        ground = replicated_ground(problem, seed, number)
        return start_state(self._policy, self._rounds, key, replication, ground)

    @property
    def _grows(self) -> bool:
        return type(self._policy).grow is not Policy.grow

    # The loop

    @property
    def _columns(self) -> _Columns:
        return self._state_columns + self._replication_columns + self._total_columns

    def _run(self, until: int) -> NDArray[np.int64]:
        trees = self._state, self._replication, self._totals
        if self._loop is None:
            self.layout = self._make_layout(trees)
            self._loop = self._memory.make_loop(self.layout)
        sizes = self.layout.sizes(trees)
        assert sizes is not None
        address, columns = self._memory.address, self._columns
        addresses = [
            where
            for column, start in zip(columns.placed, columns.starts, strict=True)
            for where in (address(column), 0 if start is None else address(start))
        ]
        players = address(self._players), self._problem.players
        table = self._memory.put(make_table(address(self._status), players, sizes, addresses))
        self._loop(until, len(self._numbers), table)
        for each in (self._state_columns, self._replication_columns, self._total_columns):
            each.starts = [None] * len(each.placed)
        return self._memory.get(self._status)

    def _make_layout(self, trees: tuple[Any, ...]) -> Layout:
        """Lay the replications out for all problems of about this size, or for this one alone."""
        exact, own = _shapes(trees), self._problem.players
        limits = self._memory.max_local_bytes, self._memory.shared_bytes
        most = next((each for each in _PLAYERS if own <= each), 0)
        if not self._are_alike:
            nothing = [False] * len(exact)
            return make_layout(trees, [exact], nothing, nothing, *limits)
        more = self._declared_shapes(trees, own + _MORE_PLAYERS)
        is_indexed = [one != other for one, other in zip(exact, more, strict=True)]
        rules = self._growing(trees), is_indexed, *limits
        if most:
            shapes = [self._declared_shapes(trees, each) for each in range(most, most - 4, -1)]
            layout = make_layout(trees, shapes, *rules)
            if layout.sizes(trees):
                return layout
        return make_layout(trees, [exact], *rules)

    def _growing(self, trees: tuple[Any, ...]) -> list[bool]:
        """Return, for each array, whether it is part of a table that can grow."""
        return [self._grows and field.can_grow for tree in trees for field in fields_of(tree)]

    def _declared_shapes(self, trees: tuple[Any, ...], players: int) -> list[tuple[int, ...]]:
        """Return the shapes of all arrays for a number of players; tables that grow are as here."""
        fields, replication = [each for tree in trees for each in fields_of(tree)], trees[1]
        sizes = self._policy.sizes(self._context(players, np.uint64(0))) | {
            "players": players,
            "rated": players * (len(replication.rates) > 0),
            "coupled": players * (len(replication.couple_rates) > 0),
            "valued": players * (len(replication.worth) > 0),
        }
        return [
            array.shape if self._grows and field.can_grow else field.shape(sizes)
            for field, array in zip(fields, leaves(trees), strict=True)
        ]

    def _resolve(self, status: NDArray[np.int64]) -> None:
        """Change the states whose steps were interrupted as the policy says: mostly a larger table.

        If that changes the size of arrays, tables are enlarged for all replications.
        """
        get, interrupted = self._memory.get, np.flatnonzero(status).tolist()
        columns = [get(column) for column in self._state_columns.placed]
        states = [
            with_leaves(self._state, [column[..., r].copy() for column in columns])
            for r in range(len(status))
        ]
        rounds = get(self._total_columns.placed[self._totals._fields.index("round")])[0]
        for r in interrupted:
            interruptions, round = self._interruptions[r], int(rounds[r])
            states[r] = interruptions.resolved(states[r], int(status[r]), round)
        changed = {tuple(_shapes(states[r])) for r in interrupted} - {tuple(_shapes(self._state))}
        if changed:
            self._loop = None
            states = [
                each if tuple(_shapes(each)) in changed else self._policy.grow(each)
                for each in states
            ]
            self._check_alike(states)
        self._state = states[0]
        self._state_columns = _Columns.own(stacked(states), self._memory)

    def _check_alike(self, states: list[Any]) -> None:
        """Refuse tables that grow differently: all replications of a batch have the same sizes."""
        if len({tuple(_shapes(state)) for state in states}) > 1:
            raise SimulationError(
                f"the tables of {self._policy.name} for {self._problem.players} players grow "
                'differently in each replication, which engine="cuda" cannot play: use engine="cpu"'
            )


@dataclass
class _Columns:
    """Arrays of a batch where they lie, and what all replications begin with, where that is one."""

    placed: list[Any]
    starts: list[Any]

    def __add__(self, other: _Columns) -> _Columns:
        return _Columns(self.placed + other.placed, self.starts + other.starts)

    @classmethod
    def own(cls, arrays: list[Array], memory: Memory) -> _Columns:
        """Place arrays that have the replication as their last axis."""
        return cls([memory.put(array) for array in arrays], [None] * len(arrays))

    @classmethod
    def same(cls, arrays: list[Array], count: int, memory: Memory) -> _Columns:
        """Place arrays that are the same for all replications."""
        placed = [memory.empty((*array.shape, count), array.dtype) for array in arrays]
        return cls(placed, [memory.put(array) for array in arrays])

    @classmethod
    def mixed(
        cls, single: list[Array], together: list[Array], count: int, memory: Memory
    ) -> _Columns:
        """Place arrays made of keys, which have the replication as one more axis, and others."""
        columns = cls([], [])
        for one, many in zip(single, together, strict=True):
            if many.shape == (*one.shape, count):
                columns += cls.own([many], memory)
            else:
                columns += cls.same([one], count, memory)
        return columns


def check_policy(policy: Policy, problem: Problem) -> None:
    """Refuse a policy that cannot play a problem in a batch."""
    check_fit(policy, problem)
    if not is_ours(type(policy)):
        raise SimulationError(
            f'engine="cuda" plays the policies of pairup, and {policy.known_as} is third-party: '
            'use engine="cpu"'
        )


def _shapes(state: Any) -> list[tuple[int, ...]]:
    return [leaf.shape for leaf in leaves(state)]


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

    `show` gets the share done. When `stop` is set, the call ends after the launch under way, in
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
    played, launch = 0, _FIRST_ROUNDS
    for checkpoint in checkpoints:
        while played < checkpoint:
            if stop is not None and stop.is_set():
                raise SimulationError("the simulation was stopped before its last round")
            began, until = time.monotonic(), min(played + launch, checkpoint)
            batch.play_to(until)
            if until - played == launch:
                launch = _next_launch(launch, time.monotonic() - began)
            played = until
            show(played / rounds)
        regret.append(batch.regret)
        games.append(batch.games)
    return np.stack(regret, axis=1), np.stack(games, axis=1)


def _next_launch(rounds: int, seconds: float) -> int:
    """Return how many rounds to launch next, from the time that the last ones took."""
    return int(np.clip(rounds * _LAUNCH_SECONDS / max(seconds, 1e-3), rounds // 2, 4 * rounds)) or 1
