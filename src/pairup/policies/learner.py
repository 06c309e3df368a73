"""Learner: a policy on duty, with players by name and outcomes as they come."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pairup.errors import MatchingError, ObservationError, PlayerError
from pairup.kernels.rng import POLICY, stream_key
from pairup.kernels.steps import FULL, observe_step, propose_step, seat_step
from pairup.matching import Matching
from pairup.policies import archive
from pairup.policies.base import Policy, Terms, check_seed, get_policy

Couple = tuple[Hashable, Hashable]
_LEAST_ROOM = 4


class Estimate(NamedTuple):
    """What is known of a couple: how often it was proposed with known outcome, and played."""

    couple: Couple
    proposed: int
    played: int

    @property
    def rate(self) -> float:
        """Share of the proposals that were played."""
        return self.played / self.proposed


class Learner:
    """A policy that learns live.

    Made by `Policy.learner`. Outcomes may come late, in any order, and for some couples only;
    players may join and leave. An error leaves the learner as it was.

    Parameters
    ----------
    policy : Policy
        The rule to follow.
    players : iterable of hashable
        Names of the players present, in any number.
    seed : int
        Seed of the policy's own random draws, at least 0.

    Examples
    --------
    >>> from pairup import Unimodal
    >>> learner = Unimodal().learner(["ann", "bob", "cyd", "dan", "eve"], seed=1)
    >>> matching = learner.propose(available=["ann", "bob", "cyd"])
    >>> len(matching), len(matching.waiting)
    (1, 1)
    >>> learner.observe(matching, [True])
    >>> learner.estimates()[0].rate
    1.0
    >>> copy = type(learner).from_bytes(learner.to_bytes())
    >>> copy.propose() == learner.propose()
    True
    """

    def __init__(self, policy: Policy, players: Iterable[Hashable], seed: int = 0) -> None:
        check_seed(seed)
        names = list(players)
        _check_names(names)
        self._policy = policy
        self._seed = int(seed)
        self._slot: dict[Hashable, int] = {name: slot for slot, name in enumerate(names)}
        self._name: dict[int, Hashable] = dict(enumerate(names))
        self._capacity = len(names)
        self._awaited: dict[tuple[int, int], int] = {}
        self._state = policy.start(self._terms(len(names)))
        self._welcome()

    @property
    def policy(self) -> Policy:
        """The rule it follows."""
        return self._policy

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players present, in the order of their slots."""
        return tuple(self._name[slot] for slot in sorted(self._name))

    @property
    def leader(self) -> Matching | None:
        """The matching of the players seated last that looks best now, best couple first.

        None when the policy has no such opinion.
        """
        couples = self._policy.leader(self._state)
        return None if couples is None else self._matching(couples, self._seated)

    @property
    def awaited(self) -> dict[Couple, int]:
        """The couples proposed whose outcomes are not known yet, and how many are due."""
        return {(self._name[i], self._name[j]): due for (i, j), due in self._awaited.items()}

    def propose(self, available: Iterable[Hashable] | None = None) -> Matching:
        """Propose a matching of the players available now, by default all who are present.

        An odd one out stays waiting.
        """
        slots = self._present if available is None else self._slots_of(available)
        if len(slots) < 2:
            return Matching((), tuple(self._name[slot] for slot in slots))
        if not np.array_equal(slots, self._seated):
            self._seat(slots)
        couples = np.zeros((len(slots) // 2, 2), np.int64)
        while propose_step(self._state, couples) == FULL:
            self._state = self._policy.grow(self._state)
        for i, j in couples.tolist():
            self._awaited[i, j] = self._awaited.get((i, j), 0) + 1
        return self._matching(couples, slots)

    def observe(
        self,
        matching: Matching | Iterable[Couple],
        played: Sequence[bool] | Mapping[Couple, bool],
    ) -> None:
        """Learn which couples played.

        Parameters
        ----------
        matching
            Couples that were proposed, all of a matching or some of it.
        played
            For each couple whether it played: a sequence in the order of the couples, or a mapping
            from couples (in either order), in which couples not known yet may be missing.
        """
        couples = list(matching)
        outcomes = _outcomes(couples, played)
        rows = [tuple(sorted(self._slot_of(player) for player in couple)) for couple, _ in outcomes]
        due = dict(self._awaited)
        for (i, j), (couple, _) in zip(rows, outcomes, strict=True):
            if not due.get((i, j)):
                raise ObservationError(
                    f"no outcome of {couple[0]!r} and {couple[1]!r} is awaited: observe a couple "
                    "once for each time it was proposed"
                )
            due[i, j] -= 1
        self._awaited = {pair: count for pair, count in due.items() if count}
        slots = np.array(rows, np.int64).reshape(-1, 2)
        observe_step(self._state, slots, np.array([played for _, played in outcomes], np.bool_))

    def join(self, player: Hashable) -> None:
        """Let a player in."""
        _check_names([*self._slot, player])
        slot = next(slot for slot in range(len(self._name) + 1) if slot not in self._name)
        if slot >= self._capacity:
            self._enlarge()
        self._slot[player], self._name[slot] = slot, player
        self._welcome()

    def leave(self, player: Hashable) -> None:
        """Let a player go; what was learnt about it is forgotten, and outcomes still due lapse."""
        slot = self._slot_of(player)
        del self._slot[player], self._name[slot]
        self._awaited = {pair: due for pair, due in self._awaited.items() if slot not in pair}
        self._policy.forget(self._state, slot)
        self._welcome()

    def estimates(self) -> list[Estimate]:
        """List what is known of each couple with a known outcome, the best rate first."""
        statistics = self._policy.statistics(self._state)
        if statistics is None:
            return []
        tries, games = statistics
        known = [
            Estimate((self._name[i], self._name[j]), int(tries[i, j]), int(games[i, j]))
            for i, j in np.argwhere(tries).tolist()
        ]
        return sorted(known, key=lambda estimate: estimate.rate, reverse=True)

    def to_bytes(self) -> bytes:
        """Save the learner in a portable, versioned form; see `from_bytes`.

        Players' names must be strings, integers or tuples of those.
        """
        header = {
            "policy": self._policy.name,
            "options": self._policy.options,
            "seed": self._seed,
            "capacity": self._capacity,
            "players": [
                [slot, archive.pack_name(name)] for slot, name in sorted(self._name.items())
            ],
            "awaited": [[i, j, due] for (i, j), due in sorted(self._awaited.items())],
        }
        return archive.pack(header, self._policy.saved(self._state))

    @classmethod
    def from_bytes(cls, data: bytes) -> Learner:
        """Load a saved learner, which goes on as if it had never stopped.

        Raises
        ------
        ArchiveError
            The bytes are no saved learner, are damaged, or of another version.
        """
        header, arrays = archive.unpack(data)
        learner = cls.__new__(cls)
        learner._policy = get_policy(header["policy"], **header["options"])
        learner._seed = header["seed"]
        learner._capacity = header["capacity"]
        learner._name = {slot: archive.unpack_name(name) for slot, name in header["players"]}
        learner._slot = {name: slot for slot, name in learner._name.items()}
        learner._awaited = {(i, j): due for i, j, due in header["awaited"]}
        learner._state = learner._policy.start(learner._terms(learner._capacity))
        learner._welcome()
        learner._state = learner._policy.load(learner._state, arrays)
        learner._seat(learner._present)
        return learner

    def _terms(self, capacity: int) -> Terms:
        return Terms(capacity, np.uint64(stream_key(self._seed, 0, POLICY)))

    def _welcome(self) -> None:
        """Tell the policy who is present, and seat them all."""
        self._present = np.array(sorted(self._name), np.int64)
        self._policy.welcome(self._state, self._present)
        self._seat(self._present)

    def _seat(self, slots: np.ndarray) -> None:
        self._seated = slots
        seat_step(self._state, slots)

    def _enlarge(self) -> None:
        """Double the room, so that n players who join cost n^2 in all."""
        capacity = max(2 * self._capacity, _LEAST_ROOM)
        larger = self._policy.start(self._terms(capacity))
        self._state = self._policy.load(larger, self._policy.saved(self._state))
        self._capacity = capacity

    def _slot_of(self, player: Hashable) -> int:
        try:
            return self._slot[player]
        except (KeyError, TypeError):
            raise PlayerError(
                f"player {player!r} is not present: join({player!r}) lets it in"
            ) from None

    def _slots_of(self, available: Iterable[Hashable]) -> np.ndarray:
        names = list(available)
        slots = sorted(self._slot_of(name) for name in names)
        if len(set(slots)) < len(slots):
            twice = next(name for name in names if names.count(name) > 1)
            raise PlayerError(f"player {twice!r} is available twice: name each player once")
        return np.array(slots, np.int64)

    def _matching(self, couples: np.ndarray, slots: np.ndarray) -> Matching:
        """Name the players of `couples`; who of `slots` is in none, or with the phantom, waits."""
        rows = [(i, j) for i, j in couples.tolist() if j < self._capacity]
        coupled = {slot for row in rows for slot in row}
        return Matching(
            [(self._name[i], self._name[j]) for i, j in rows],
            [self._name[slot] for slot in slots.tolist() if slot not in coupled],
        )


def _check_names(names: Sequence[Hashable]) -> None:
    seen = set()
    for name in names:
        if name is None:
            raise PlayerError("a player cannot be called None: give any other hashable name")
        try:
            if name in seen:
                raise PlayerError(f"player {name!r} is present twice: give each its own name")
            seen.add(name)
        except TypeError:
            raise PlayerError(
                f"player {name!r} is not hashable: give a string, a number or a tuple"
            ) from None


def _outcomes(
    couples: Sequence[Couple], played: Sequence[bool] | Mapping[Couple, bool]
) -> list[tuple[Couple, bool]]:
    """Match each couple with its outcome."""
    for couple in couples:
        if not isinstance(couple, tuple) or len(couple) != 2 or couple[0] == couple[1]:
            raise MatchingError(f"a couple is a pair of two players, got {couple!r}")
    if isinstance(played, Mapping):
        outcomes = _outcomes_by_couple(couples, played)
    else:
        values = list(played)
        if len(values) != len(couples):
            raise ObservationError(
                f"each couple needs an outcome, got {len(values)} for {len(couples)} couples: "
                "give a mapping from couples if only some are known"
            )
        outcomes = list(zip(couples, values, strict=True))
    for couple, value in outcomes:
        if not isinstance(value, bool | np.bool_):
            raise ObservationError(
                f"the outcome of {couple[0]!r} and {couple[1]!r} must be True or False, "
                f"got {value!r}"
            )
    return outcomes


def _outcomes_by_couple(
    couples: Sequence[Couple], played: Mapping[Couple, bool]
) -> list[tuple[Couple, bool]]:
    known = {frozenset(couple): couple for couple in couples}
    for couple in played:
        if not isinstance(couple, tuple | frozenset) or frozenset(couple) not in known:
            raise ObservationError(
                f"{couple!r} has an outcome but is no couple of the matching: "
                f"its couples are {list(couples)!r}"
            )
    return [(known[frozenset(couple)], value) for couple, value in played.items()]
