"""Policies in plain Python, to try out an idea before it is compiled.

The compiled loop asks for a plan in every round, and the host makes it by calling the policy: so
such a policy plays what all others play, only slowly.
"""

from __future__ import annotations

import copy
import dataclasses
import traceback
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.steps import OK, STALE, provide
from pairup.errors import PolicyError
from pairup.policies.contract import Policy, StartContext

_AVAILABLE, _PLANNED, _SEEN, _ROUND = range(4)  # places in the counters
_RESERVED = {"start", "replan", "learner"}  # what this class does in its own way
_PLAYING = "_pairup_playing"  # in the attributes of the copy that plays


class _Arrays(NamedTuple):
    counters: np.ndarray  # numbers of players available, of couples planned and seen, of rounds
    available: np.ndarray
    plan: np.ndarray  # couples of this round
    couples: np.ndarray  # of the last round
    played: np.ndarray


class PythonState(_Arrays):
    """The arrays that the compiled loop sees, and `player`, the copy of the policy that plays."""

    player: PythonPolicy


def set_available(state, players):
    """Forget the plan, which was for others."""
    state.counters[_AVAILABLE] = len(players)
    state.counters[_PLANNED] = 0
    for place in range(len(players)):
        state.available[place] = players[place]


def propose(state, couples):
    """Write the plan, or ask for one."""
    if state.counters[_PLANNED] == 0 and len(couples) > 0:
        return STALE
    for row in range(len(couples)):
        couples[row, 0] = state.plan[row, 0]
        couples[row, 1] = state.plan[row, 1]
    state.counters[_PLANNED] = 0
    state.counters[_ROUND] += 1
    return OK


def observe(state, couples, played):
    """Note what the policy is shown before its next proposal."""
    state.counters[_SEEN] = len(played)
    for row in range(len(played)):
        state.couples[row, 0] = couples[row, 0]
        state.couples[row, 1] = couples[row, 1]
        state.played[row] = played[row]


provide(PythonState, set_available=set_available, propose=propose, observe=observe)


@dataclasses.dataclass(frozen=True)
class PythonPolicy(Policy):
    """A policy in plain Python: no Numba, no declaration of a state.

    Derive a class with `propose`, and mostly `begin` and `observe`. Annotated attributes are its
    options, as in a dataclass. It is simulated, compared and raced as any other policy, on the same
    random numbers, and each of its proposals is checked; it plays about a hundred times slower,
    on one core. It cannot play on graphs or two sides, serve live players, be saved, or play on a
    GPU: compile it for that, see docs/how-to/add-a-policy.md.

    Each replication is played by a copy of its own, which may set any attributes.

    Examples
    --------
    >>> from pairup import Problem, PythonPolicy, simulate
    >>> class Neighbours(PythonPolicy):
    ...     def propose(self, available):
    ...         return list(zip(available[::2], available[1::2]))
    >>> simulate(Problem([1, 1], "mine"), Neighbours(), rounds=10, replications=2)
    Run(Neighbours() on mine: 2 x 10 rounds, mean regret 0.0)
    """

    name: ClassVar[str] = "python"
    serves_pools: ClassVar[bool] = False  # nothing of what it learns could be saved
    nominal_ns: ClassVar[int] = 10_000

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for reserved in sorted(_RESERVED & vars(cls).keys()):
            raise PolicyError(
                f"{cls.__name__}.{reserved}: pairup calls a method of this name itself; give it "
                "another one, and get ready in begin(players, rng)"
            )
        dataclasses.dataclass(frozen=True)(cls)
        cls.__setattr__ = _set_attribute  # type: ignore[method-assign]

    def begin(self, players: int, rng: np.random.Generator) -> None:
        """Get ready for a replication of `players`, called 0 to players - 1.

        Random numbers are drawn from `rng`, so that a run can be repeated.
        """
        return

    @abstractmethod
    def propose(self, available: list[int]) -> Iterable[Sequence[int]]:
        """Return couples of the players available, as many as there can be, nobody twice."""

    def observe(self, couples: list[tuple[int, int]], played: list[bool]) -> None:
        """Learn which of the couples that were proposed played."""
        return

    def start(self, context: StartContext) -> PythonState:
        half = max(context.capacity // 2, 1)
        state = PythonState(
            np.zeros(4, np.int64),
            np.zeros(context.capacity, np.int64),
            np.zeros((half, 2), np.int64),
            np.zeros((half, 2), np.int64),
            np.zeros(half, np.bool_),
        )
        state.player = copy.copy(self)
        vars(state.player)[_PLAYING] = True
        with self._named("begin"):
            state.player.begin(context.capacity, np.random.default_rng(int(context.key)))
        return state

    def replan(self, state: PythonState) -> PythonState:
        player, seen = state.player, int(state.counters[_SEEN])
        round = int(state.counters[_ROUND]) + 1
        if seen:
            couples = [(int(i), int(j)) for i, j in state.couples[:seen]]
            with self._named("observe", round - 1):
                player.observe(couples, state.played[:seen].tolist())
            state.counters[_SEEN] = 0
        available = state.available[: state.counters[_AVAILABLE]].tolist()
        with self._named("propose", round):
            proposed = player.propose(available)
            got = list(proposed) if isinstance(proposed, Iterable) else proposed
        state.plan[: len(available) // 2] = self._checked(got, available, round)
        state.counters[_PLANNED] = 1
        return state

    @contextmanager
    def _named(self, method: str, round: int = 0) -> Iterator[None]:
        """Turn what a method raises into an error that names it, the round and the line."""
        try:
            yield
        except PolicyError:
            raise
        except Exception as error:
            code = getattr(type(self), method).__code__  # not entered where arguments do not fit
            line = code.co_firstlineno
            for entry in traceback.extract_tb(error.__traceback__):
                line = entry.lineno if entry.filename == code.co_filename else line
            where = f"{Path(code.co_filename).name}, line {line}"
            when = f" in round {round}" if round else ""
            raise PolicyError(
                f"{self.name}: {method} failed{when}: {type(error).__name__}: {error} ({where})"
            ) from error

    def _checked(self, got: Any, available: list[int], round: int) -> NDArray[np.int64]:
        """Return couples, the lower player first; what is not a full matching is refused."""
        count = len(available) // 2
        rows: NDArray[Any] = np.zeros((0, 2), np.int64)
        if isinstance(got, list) and got:
            try:
                rows = np.array([tuple(couple) for couple in got])
                got = rows.tolist()
            except (TypeError, ValueError):  # not couples, or of several lengths
                rows = np.zeros(0)
        players = np.unique(rows)
        if rows.shape != (count, 2) or rows.dtype.kind not in "iu":
            rule = f"propose must return {count} couples of players"
        elif len(players) < rows.size:
            rule = "a player can be in one couple only"
        elif not np.isin(players, available).all():
            rule = f"couples are of the players available, {available}"
        else:
            return np.sort(rows.astype(np.int64), axis=1)
        raise PolicyError(f"{self.name} broke a rule in round {round}: {rule}, got {got!r}")

    def learner(
        self, players: Iterable[Hashable], seed: int = 0, *, floor: float = 0.0
    ) -> NoReturn:
        raise PolicyError(
            f"{self.name} is in plain Python, and plays in simulations only: for live players, "
            "compile it, see docs/how-to/add-a-policy.md"
        )


def _set_attribute(self: Any, name: str, value: Any) -> None:
    """Set an attribute of the copy that plays; the options of a policy never change."""
    if _PLAYING not in vars(self):
        raise dataclasses.FrozenInstanceError(
            f"cannot assign to {name!r}: options do not change, set it in begin(players, rng)"
        )
    object.__setattr__(self, name, value)
