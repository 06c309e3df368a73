"""Roster: which player has which slot of a policy's state."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from pairup.checks import checked_list
from pairup.errors import MatchingError, PlayerError, did_you_mean
from pairup.matching import as_couple

SlotCouple = tuple[int, int]  # a couple by the slots of its players, ascending


class Roster:
    """The players present by their names, each in a slot of its own.

    A player who joins gets the first free slot, so that slots stay few. `names` has the player in
    each slot.

    Examples
    --------
    >>> roster = Roster(["ann", "bob", "cyd"])
    >>> roster.leave("ann"), roster.join("dan")
    (0, 0)
    >>> roster.players
    ('dan', 'bob', 'cyd')
    """

    def __init__(self, players: Iterable[Hashable]) -> None:
        self._slot: dict[Hashable, int] = {}
        self.names: dict[int, Hashable] = {}
        if not isinstance(players, str):  # "abcd" stands for four players
            players = checked_list("players", players, PlayerError, items="players")
        for slot, player in enumerate(players):
            self.enter(player, slot)

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players in the order of their slots."""
        return tuple(self.names[slot] for slot in sorted(self.names))

    @property
    def slots(self) -> NDArray[np.int64]:
        """The slots taken, ascending."""
        return np.array(sorted(self.names), np.int64)

    def join(self, player: Hashable) -> int:
        """Let a player in, and return its slot, the first that is free."""
        slot = next(slot for slot in range(len(self.names) + 1) if slot not in self.names)
        self.enter(player, slot)
        return slot

    def leave(self, player: Hashable) -> int:
        """Let a player go, and return the slot it had."""
        slot = self.slot(player)
        del self._slot[player], self.names[slot]
        return slot

    def slot(self, player: Hashable) -> int:
        """Return the slot of a player, or refuse a player who is not present."""
        try:
            return self._slot[player]
        except (KeyError, TypeError):  # TypeError: not hashable, so not a name
            hint = did_you_mean(player, self._slot)
            raise PlayerError(f"player {player!r} is not present{hint}") from None

    def slots_of(self, available: Iterable[Hashable]) -> NDArray[np.int64]:
        """Return the slots of some players, in their order; each must be present and named once."""
        names = checked_list("available", available, PlayerError, items="players")
        slots = np.array([self.slot(name) for name in names], np.int64)
        if len(np.unique(slots)) < len(slots):
            twice = next(name for name in names if names.count(name) > 1)
            raise PlayerError(f"player {twice!r} is available twice: name each player once")
        return slots

    def slot_couple(self, couple: Iterable[Hashable]) -> SlotCouple:
        """Return the slots of the two players of a couple, the lower first."""
        one, other = (self.slot(player) for player in as_couple(couple))
        return (one, other) if one < other else (other, one)

    def slot_couples(self, what: str, couples: Iterable[Iterable[Hashable]]) -> list[SlotCouple]:
        """Return the slots of the players of some couples, which messages call `what`."""
        given = checked_list(what, couples, MatchingError, items="couples", advice="write [(a, b)]")
        return [self.slot_couple(couple) for couple in given]

    def describe(self, couple: SlotCouple) -> str:
        """Name the players of a couple, for a message."""
        return f"{self.names[couple[0]]!r} and {self.names[couple[1]]!r}"

    def copy(self) -> Roster:
        """Return a roster with the same players in the same slots."""
        copy = Roster(())
        copy._slot, copy.names = dict(self._slot), dict(self.names)
        return copy

    def enter(self, player: Hashable, slot: int) -> None:
        """Give a player a slot that is free."""
        if player is None:
            raise PlayerError("a player cannot be called None: give any other hashable name")
        try:
            known = player in self._slot
        except TypeError:
            raise PlayerError(
                f"player {player!r} is not hashable: give a string, a number or a tuple"
            ) from None
        if known:
            raise PlayerError(f"player {player!r} is present already: give each its own name")
        self._slot[player], self.names[slot] = slot, player
