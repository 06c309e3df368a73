"""Roster: which player has which slot of a policy's state."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.checks import checked_list
from pairup.errors import MatchingError, PlayerError, did_you_mean
from pairup.matching import as_couple

SlotCouple = tuple[int, int]  # a couple by the slots of its players, ascending
Couples = NDArray[np.int64]  # the same in the rows of an array
Slots = NDArray[np.int64]


class Roster:
    """The players by their names, each in a slot of its own: those present and those kept.

    A kept player is away, and finds its slot again. A player who is new gets the first free slot,
    so that slots stay few. `names` has the player in each slot, None where there is none.

    Examples
    --------
    >>> roster = Roster(["ann", "bob", "cyd"])
    >>> roster.leave("ann"), roster.join("dan")
    (0, 0)
    >>> roster.players
    ('dan', 'bob', 'cyd')
    >>> roster.leave("bob", keep=True), roster.join("eve"), roster.join("bob")
    (1, 3, 1)
    """

    def __init__(self, players: Iterable[Hashable]) -> None:
        self._slot: dict[Hashable, int] = {}  # of the players present
        self._kept: dict[Hashable, int] = {}
        self._free: list[int] = []  # a heap of the slots below len(names) that nobody has
        self.names: list[Hashable | None] = []
        if not isinstance(players, str):  # "abcd" stands for four players
            players = checked_list("players", players, PlayerError, items="players")
        for player in players:
            self.join(player)

    @classmethod
    def restored(
        cls, present: Iterable[tuple[int, Hashable]], kept: Iterable[tuple[int, Hashable]]
    ) -> Roster:
        """Make a roster of players in the slots that they have; two must not share one."""
        roster, size = cls(()), 0
        for players, group in ((roster._slot, present), (roster._kept, kept)):
            for slot, player in group:
                roster._check_new(player)
                players[player] = slot
                size = max(size, slot + 1)
        roster.names = [None] * size
        for player, slot in chain(roster._slot.items(), roster._kept.items()):
            roster.names[slot] = player
        roster._free = [slot for slot, name in enumerate(roster.names) if name is None]
        return roster

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players present, in the order of their slots."""
        return tuple(self.named(self.slots))

    @property
    def kept(self) -> tuple[Hashable, ...]:
        """The players kept, in the order of their slots."""
        return tuple(sorted(self._kept, key=self._kept.__getitem__))

    @property
    def slots(self) -> Slots:
        """The slots of the players present, ascending."""
        return np.sort(np.fromiter(self._slot.values(), np.int64, len(self._slot)))

    @property
    def kept_slots(self) -> Slots:
        """The slots of the players kept, ascending."""
        return np.sort(np.fromiter(self._kept.values(), np.int64, len(self._kept)))

    def __len__(self) -> int:
        return len(self._slot)

    def named(self, slots: Slots) -> list[Any]:
        """Return the names of the players in some slots."""
        return [self.names[slot] for slot in slots.tolist()]

    def join(self, player: Hashable) -> int:
        """Admit a player, and return its slot: the one it had, or the first that is free."""
        if self.is_kept(player):
            self._slot[player] = self._kept.pop(player)
        else:
            self._check_new(player)
            self._slot[player] = self._take_slot(player)
        return self._slot[player]

    def leave(self, player: Hashable, *, keep: bool = False) -> int:
        """Remove a player, and return the slot it had, which is free unless it is kept."""
        slot = self.slot(player)
        del self._slot[player]
        if keep:
            self._kept[player] = slot
        else:
            self._release(slot)
        return slot

    def keep(self, player: Hashable) -> int:
        """Assign a slot to an unknown player, without admitting it."""
        self._check_new(player)
        self._kept[player] = self._take_slot(player)
        return self._kept[player]

    def drop(self, player: Hashable) -> int:
        """Free the slot of a kept player, and return it."""
        slot = self.kept_slot(player)
        del self._kept[player]
        self._release(slot)
        return slot

    def rename(self, names: Mapping[Hashable, Hashable]) -> None:
        """Rename players who are present or kept; all keep their slots.

        Nothing changes if a name is refused.
        """
        if not isinstance(names, Mapping):
            raise PlayerError(
                f"names must map old names to new ones, got {names!r}: give a dict, {{old: new}}"
            )
        slots = {player: self.known_slot(player) for player in names}
        self._check_new_names(names)
        for group in (self._slot, self._kept):
            group.update({names[old]: group.pop(old) for old in names if old in group})
        for player, slot in slots.items():
            self.names[slot] = names[player]

    def _check_new_names(self, names: Mapping[Hashable, Hashable]) -> None:
        for name in names.values():
            self._check_new(name, released=names)
        if len(set(names.values())) < len(names):
            twice, _ = Counter(names.values()).most_common(1)[0]
            raise PlayerError(f"two players would be called {twice!r}: give each its own name")

    def _take_slot(self, player: Hashable) -> int:
        if self._free:
            slot = heapq.heappop(self._free)
            self.names[slot] = player
        else:
            slot = len(self.names)
            self.names.append(player)
        return slot

    def _release(self, slot: int) -> None:
        self.names[slot] = None
        heapq.heappush(self._free, slot)

    def knows(self, player: Hashable) -> bool:
        """Whether a player is present or kept."""
        return player in self._slot or player in self._kept

    def is_kept(self, player: Hashable) -> bool:
        """Whether a player left and is kept."""
        try:
            return player in self._kept
        except TypeError:  # not hashable, so not a name
            return False

    def _check_new(self, player: Hashable, released: Container[Hashable] = ()) -> None:
        """Refuse a name that a player has, unless it is one of those `released`."""
        if player is None:
            raise PlayerError("a player cannot be called None: give any other hashable name")
        try:
            known = player in self._slot
        except TypeError:
            raise PlayerError(
                f"player {player!r} is not hashable: give a string, a number or a tuple"
            ) from None
        if player in released:
            return
        if known:
            raise PlayerError(f"player {player!r} is present already: give each its own name")
        if player in self._kept:
            raise PlayerError(f"player {player!r} is kept already: give each its own name")

    def slot(self, player: Hashable) -> int:
        """Return the slot of a player, or refuse a player who is not present."""
        try:
            return self._slot[player]
        except (KeyError, TypeError):  # TypeError: not hashable, so not a name
            raise self._unknown(player) from None

    def kept_slot(self, player: Hashable) -> int:
        """Return the slot of a kept player, or refuse another one."""
        if self.is_kept(player):
            return self._kept[player]
        hint = did_you_mean(player, self._kept)
        raise PlayerError(f"player {player!r} is not one who left and was kept{hint}")

    def known_slot(self, player: Hashable) -> int:
        """Return the slot of a player who is present or kept, or refuse another one."""
        return self._kept[player] if self.is_kept(player) else self.slot(player)

    def known_slots(self, players: Sequence[Hashable]) -> Slots:
        """Return the slots of players who are present or kept, or refuse another one."""
        slots = self.find_slots(players)
        for x in np.flatnonzero(slots < 0).tolist():
            self.slot(players[x])  # refuses the player
        return slots

    def find_slots(self, players: Sequence[Hashable]) -> Slots:
        """Return the slots of players who are present or kept, -1 for others."""
        try:
            found = list(map(self._slot.get, players))
        except TypeError:
            named = (player for player in players if not isinstance(player, Hashable))
            raise self._unknown(next(named)) from None
        if None in found:
            pairs = zip(found, players, strict=True)
            found = [self._kept.get(name, -1) if slot is None else slot for slot, name in pairs]
        return np.array(found, np.int64)

    def slots_of(self, available: Iterable[Hashable]) -> Slots:
        """Return the slots of some players, in their order; each must be present and named once."""
        names = checked_list("available", available, PlayerError, items="players")
        try:
            slots = np.array([self._slot[name] for name in names], np.int64)
        except (KeyError, TypeError):
            slots = np.array([self.slot(name) for name in names], np.int64)
        if len(set(names)) < len(names):
            twice, _ = Counter(names).most_common(1)[0]
            raise PlayerError(f"player {twice!r} is available twice: name each player once")
        return slots

    def slot_couple(self, couple: Iterable[Hashable]) -> SlotCouple:
        """Return the slots of the two players of a couple, the lower first."""
        one, other = (self.slot(player) for player in as_couple(couple))
        return (one, other) if one < other else (other, one)

    def couples(self, what: str, couples: Iterable[Iterable[Hashable]]) -> Couples:
        """Return the slots of the players of some couples in the rows of an array."""
        given = checked_list(what, couples, MatchingError, items="couples", advice="write [(a, b)]")
        if set(map(type, given)) == {tuple}:  # as in a matching: the same in a fraction of the time
            try:
                one = [self._slot[name] for name, _ in given]
                other = [self._slot[name] for _, name in given]
            except (KeyError, TypeError, ValueError):
                pass  # the message is made below
            else:
                slots = np.sort(np.array([one, other], np.int64), axis=0)
                if np.all(slots[0] != slots[1]):
                    return np.ascontiguousarray(slots.T)
        return np.array([self.slot_couple(each) for each in given], np.int64).reshape(-1, 2)

    def describe(self, couple: Sequence[int]) -> str:
        """Name the players of a couple, for a message."""
        return f"{self.names[couple[0]]!r} and {self.names[couple[1]]!r}"

    def copy(self) -> Roster:
        """Return a roster with the same players in the same slots."""
        copy = Roster(())
        copy._slot, copy._kept = dict(self._slot), dict(self._kept)
        copy._free, copy.names = list(self._free), list(self.names)
        return copy

    def _unknown(self, player: Hashable) -> PlayerError:
        return PlayerError(f"player {player!r} is not present{did_you_mean(player, self._slot)}")
