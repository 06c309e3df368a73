"""PendingOutcomes: the couples that were proposed and whose outcomes are not known yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pairup.errors import ObservationError
from pairup.learning.roster import Roster, SlotCouple


class PendingOutcomes:
    """How many outcomes of each couple are still to come.

    Parameters
    ----------
    counts
        Number of outcomes pending for each couple, positive. Copied.

    Examples
    --------
    >>> pending = PendingOutcomes()
    >>> pending.add([(0, 1), (2, 3)])
    >>> pending.settle([(0, 1)], Roster("abcd"))
    >>> pending.counts
    {(2, 3): 1}
    """

    def __init__(self, counts: dict[SlotCouple, int] | None = None) -> None:
        self.counts = dict(counts or {})

    @property
    def total(self) -> int:
        """Number of outcomes pending."""
        return sum(self.counts.values())

    def add(self, couples: Iterable[SlotCouple]) -> None:
        """Note that couples were proposed."""
        for couple in couples:
            self.counts[couple] = self.counts.get(couple, 0) + 1

    def settle(self, couples: Iterable[SlotCouple], roster: Roster) -> None:
        """Strike off couples whose outcomes are known or withdrawn, all of them or none."""
        settled = Counter(couples)
        for couple, times in settled.items():
            if self.counts.get(couple, 0) < times:
                raise ObservationError(
                    f"no outcome of {roster.describe(couple)} is pending: observe a couple once "
                    "for each time it was proposed"
                )
        for couple, times in settled.items():
            self.counts[couple] -= times
            if not self.counts[couple]:
                del self.counts[couple]

    def drop(self, slot: int) -> None:
        """Strike off all couples of a player who left."""
        self.counts = {couple: count for couple, count in self.counts.items() if slot not in couple}
