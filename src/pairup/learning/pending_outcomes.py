"""PendingOutcomes: the couples proposed whose outcomes are to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from pairup.learning.roster import Couples, SlotCouple

_NOBODY = -1


class PendingOutcomes:
    """How many outcomes of each couple are to come.

    Most players have one game at a time: an array has the partner of each, so that a matching of
    thousands is noted and settled at once. Couples of players who have more are counted one by one.

    Examples
    --------
    >>> pending = PendingOutcomes()
    >>> pending.add(np.array([[0, 1], [2, 3]]))
    >>> pending.add(np.array([[0, 1]]))
    >>> pending.first_missing(np.array([[0, 1], [1, 2]]))
    (1, 2)
    >>> pending.settle(np.array([[0, 1], [2, 3]]))
    >>> pending.counts
    {(0, 1): 1}
    >>> pending.drop(1)
    >>> pending.counts
    {}
    """

    def __init__(self, counts: Mapping[SlotCouple, int] | None = None) -> None:
        self._partner = np.full(0, _NOBODY, np.int64)  # by slot
        self._more = Counter[SlotCouple]()  # outcomes besides
        self._more_partners: dict[int, set[int]] = {}  # of each player, so that it can leave
        for couple, count in (counts or {}).items():
            self._count(couple, count)

    @property
    def counts(self) -> dict[SlotCouple, int]:
        """The number of outcomes to come of each couple."""
        low = np.flatnonzero(self._partner > np.arange(len(self._partner)))
        single = zip(low.tolist(), self._partner[low].tolist(), strict=True)
        counts = dict.fromkeys(single, 1)
        for couple, more in self._more.items():
            counts[couple] = counts.get(couple, 0) + more
        return counts

    @property
    def total(self) -> int:
        """The number of outcomes to come."""
        return int(np.count_nonzero(self._partner != _NOBODY)) // 2 + self._more.total()

    def add(self, matching: Couples) -> None:
        """Expect an outcome of each couple of a matching."""
        if not len(matching):
            return
        low, high = matching.T
        missing = int(high.max()) + 1 - len(self._partner)
        if missing > 0:
            room = max(missing, len(self._partner))
            self._partner = np.pad(self._partner, (0, room), constant_values=_NOBODY)
        free = (self._partner[low] == _NOBODY) & (self._partner[high] == _NOBODY)
        self._partner[low[free]], self._partner[high[free]] = high[free], low[free]
        if not free.all():
            for i, j in matching[~free].tolist():
                self._count((i, j), 1)

    def first_missing(self, couples: Couples) -> SlotCouple | None:
        """Return the first of `couples` that has fewer outcomes to come than are listed, if any."""
        if self._are_single(couples):
            return None
        listed = Counter((i, j) for i, j in couples.tolist())
        return next((each for each, times in listed.items() if self._times(each) < times), None)

    def settle(self, couples: Couples) -> None:
        """Strike off couples that have outcomes to come."""
        if self._are_single(couples):
            self._partner[couples] = _NOBODY
            return
        for i, j in couples.tolist():
            if (i, j) in self._more:
                self._strike((i, j))
            else:
                self._partner[[i, j]] = _NOBODY

    def drop(self, player: int) -> None:
        """Expect no outcome of a player's couples any more."""
        if player < len(self._partner) and self._partner[player] != _NOBODY:
            self._partner[[player, self._partner[player]]] = _NOBODY
        for other in list(self._more_partners.get(player, ())):
            self._strike((min(player, other), max(player, other)), everything=True)

    def copy(self) -> PendingOutcomes:
        """Return the same outcomes, to be changed independently."""
        copy = PendingOutcomes(self._more)
        copy._partner = self._partner.copy()
        return copy

    def _are_single(self, couples: Couples) -> bool:
        """Whether these are distinct couples of players who have no other game."""
        low, high = couples.T
        if high.max(initial=0) >= len(self._partner) or not np.all(self._partner[low] == high):
            return False
        return len(couples) < 2 or len(np.unique(low)) == len(low)

    def _times(self, couple: SlotCouple) -> int:
        low, high = couple
        single = low < len(self._partner) and self._partner[low] == high
        return int(single) + self._more[couple]

    def _count(self, couple: SlotCouple, count: int) -> None:
        self._more[couple] += count
        for one, other in (couple, couple[::-1]):
            self._more_partners.setdefault(one, set()).add(other)

    def _strike(self, couple: SlotCouple, *, everything: bool = False) -> None:
        self._more[couple] -= 1
        if self._more[couple] and not everything:
            return
        del self._more[couple]
        for one, other in (couple, couple[::-1]):
            self._more_partners[one].remove(other)
            if not self._more_partners[one]:
                del self._more_partners[one]
