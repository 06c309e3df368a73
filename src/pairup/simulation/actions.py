"""Actions of the environment: each is a full matching, and each full matching is one action.

An action is a list of choices, each at least 0 and below its own limit, so that nothing that an
agent can sample is invalid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairup.errors import MatchingError
from pairup.matching import Matching


class Actions(Protocol):
    """What choices mean, for the players of an episode."""

    @property
    def limits(self) -> NDArray[np.int64]:
        """The number of choices in each place."""

    def couples(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the couples of an action."""

    def choices(self, matching: Matching) -> list[int]:
        """Return the action of a full matching."""


class OneSidedActions:
    """Choice k is the partner of the lowest player who has none yet, counted among the others.

    An odd number of players has a phantom more, the last, whose partner waits.

    Examples
    --------
    >>> OneSidedActions(3).couples([1, 0])
    [[0, 2]]
    """

    def __init__(self, players: int) -> None:
        self._players = players
        self._rows = (players + 1) // 2  # couples, the phantom's included
        self.limits = 2 * np.arange(self._rows, 0, -1) - 1

    def couples(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the couples of an action."""
        couples, alone = [], list(range(2 * self._rows))
        for choice in choices:
            one = alone.pop(0)
            couples.append([one, alone.pop(choice)])
        return [couple for couple in couples if couple[1] < self._players]

    def choices(self, matching: Matching) -> list[int]:
        """Return the action of a full matching."""
        partner = dict(matching) | {other: one for one, other in matching}
        choices, alone = list[int](), list(range(2 * self._rows))
        while alone:
            one = alone.pop(0)
            choices.append(alone.index(partner.get(one, self._players)))
            alone.pop(choices[-1])
        return choices


class TwoSidedActions:
    """Choice k is the partner of the k-th player of the smaller side, of those without one.

    Players are counted by their slots, and of two sides of the same size the rows count as the
    smaller.

    Examples
    --------
    >>> TwoSidedActions(np.array([False, True, False, False])).couples([2])
    [[1, 3]]
    """

    def __init__(self, columns: NDArray[np.bool_]) -> None:
        sides = np.flatnonzero(~columns).tolist(), np.flatnonzero(columns).tolist()
        self._few, self._many = sorted(sides, key=len)
        self.limits = np.arange(len(self._many), len(self._many) - len(self._few), -1)

    def couples(self, choices: Sequence[int]) -> list[list[int]]:
        """Return the couples of an action."""
        alone = list(self._many)
        return [
            sorted((one, alone.pop(choice))) for one, choice in zip(self._few, choices, strict=True)
        ]

    def choices(self, matching: Matching) -> list[int]:
        """Return the action of a full matching."""
        partner = dict(matching) | {other: one for one, other in matching}
        choices, alone = list[int](), list(self._many)
        for one in self._few:
            choices.append(alone.index(partner[one]))
            alone.pop(choices[-1])
        return choices

    def check_sides(self, matching: Matching) -> None:
        """Refuse couples of two players of the same side."""
        few = set(self._few)
        for i, j in matching:
            if (i in few) == (j in few):
                raise MatchingError(
                    f"players {i} and {j} are on the same side: couple rows with columns, of which "
                    "reset() tells the players"
                )
