"""Places: the players in the order of the optimum, one couple after the other.

On one side the best two players are the first couple, the next two the second, and so on. On two
sides the best of each side are the first couple. Players whom the optimum leaves waiting are
coupled with *phantoms*, who are known to have rate 0: one phantom where players are odd in number,
several where one side is larger. So couple k is always in places 2k and 2k + 1, and all that the
limit needs to know of sides is who may meet whom and who competes with whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairup.matching import Matching
from pairup.problem.rates import Floats
from pairup.weighted_matching import best_matching

Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Places:
    """The players by their places in the optimum.

    Attributes
    ----------
    players
        The player in each place; phantoms have numbers beyond those of all players.
    rates
        Rate in each place.
    real
        Number of players, without phantoms.
    two_sided
        Whether players in even places meet only those in odd places.
    """

    players: Indices
    rates: Floats
    real: int
    two_sided: bool = False

    @classmethod
    def on_one_side(cls, rates: Floats) -> Places:
        """Put the players in the order of their rates.

        Examples
        --------
        >>> Places.on_one_side(np.array([0.2, 0.9, 0.4])).players.tolist()
        [1, 2, 0, 3]
        """
        padded = np.append(rates, np.zeros(len(rates) % 2))
        players = np.argsort(-padded, kind="stable")
        return cls(players, padded[players], len(rates))

    @classmethod
    def on_two_sides(cls, rates: Floats, rows: Indices, columns: Indices) -> Places:
        """Put the best row beside the best column, and so on; the larger side is in even places.

        Examples
        --------
        >>> rates, rows, columns = np.array([0.2, 0.9, 0.4, 0.5]), np.arange(3), np.array([3])
        >>> Places.on_two_sides(rates, rows, columns).players.tolist()
        [1, 3, 2, 4, 0, 5]
        """
        larger, smaller = (rows, columns) if len(rows) >= len(columns) else (columns, rows)
        missing = len(larger) - len(smaller)
        players = np.empty(2 * len(larger), np.intp)
        players[::2] = larger[np.argsort(-rates[larger], kind="stable")]
        ranked = smaller[np.argsort(-rates[smaller], kind="stable")]
        players[1::2] = np.append(ranked, np.arange(len(rates), len(rates) + missing))
        padded = np.append(rates, np.zeros(missing))
        return cls(players, padded[players], len(rates), two_sided=True)

    @cached_property
    def is_phantom(self) -> Flags:
        """Whether each place is a phantom's."""
        return self.players >= self.real

    @property
    def columns(self) -> Flags | None:
        """Whether each place is one of the smaller side; None on one side."""
        return np.arange(len(self.players)) % 2 == 1 if self.two_sided else None

    @cached_property
    def is_open(self) -> Flags:
        """Whether the product of each couple is 0, so that one of its players is free."""
        return np.asarray(self.rates[::2] * self.rates[1::2] == 0)

    @cached_property
    def may_rise(self) -> Flags:
        """Whether the player in each place can be better than assumed.

        In a couple (r, 0) only the better player can, and in a couple (0, 0) either, but a phantom
        never: it is known to be 0.
        """
        partner = self._couples[:, ::-1].ravel()
        return ~self.is_phantom & ((self.rates > 0) | (partner == 0))

    @cached_property
    def is_strict(self) -> bool:
        """Whether the optimum is unique: each couple beats the next one strictly."""
        rates = self._couples
        if not self.two_sided:
            return bool(np.all(rates[:-1, 1] > rates[1:, 0]))
        couples = len(rates) - int(self.is_phantom.sum())
        ranked = bool(np.all(np.diff(rates[:couples], axis=0) < 0))
        if couples == len(rates):
            return ranked
        last, waiting = rates[couples - 1], rates[couples, 0]
        return ranked and bool(last[0] > waiting and last[1] > 0)

    @cached_property
    def are_all_equal(self) -> bool:
        """Whether all matchings are equally good."""
        rates = self._couples
        if self.two_sided:
            larger, smaller = rates[:, 0], rates[~self.is_phantom[1::2], 1]
            same = larger[0] == larger[-1] or bool(np.all(self.is_open))
            return bool(same or (len(larger) == len(smaller) and smaller[0] == smaller[-1]))
        ranked = self.rates  # all but one are the same
        return bool(ranked[0] == ranked[-2] or ranked[1] == ranked[-1])

    @cached_property
    def gap(self) -> float:
        """Least regret of a swap between two successive couples."""
        (i, i2), (j, j2) = (rates.T for rates in (self._couples[:-1], self._couples[1:]))
        swaps = (i - j) * (i2 - j2) if self.two_sided else (i - j2) * (i2 - j)
        return float(swaps[~self.is_phantom[1:-2:2]].min(initial=np.inf))

    @property
    def _couples(self) -> Floats:
        return self.rates.reshape(-1, 2)

    def may_meet(self, first: Indices, second: Indices) -> Flags:
        """Return, for two places, whether their players may be coupled."""
        return np.asarray(first % 2 != second % 2) if self.two_sided else np.ones(len(first), bool)

    def compete(self, first: Indices, second: Indices) -> Flags:
        """Return, for two places, whether their players can take each other's place."""
        return np.asarray(first % 2 == second % 2) if self.two_sided else np.ones(len(first), bool)

    def worst_partner(self, place: int) -> float:
        """Return the logarithm of the worst positive rate that a player can meet elsewhere."""
        others = np.arange(len(self.rates))
        meets = (others // 2 != place // 2) & self.may_meet(others, np.full_like(others, place))
        positive = self.rates[meets & (self.rates > 0)]
        return float(np.log(positive.min(initial=1.0))) if self.rates[place] > 0 else 0.0


def best_matching_of_sides(weights: Floats, columns: Flags | None) -> Matching:
    """Find the matching of greatest weight of rows with columns; of all players if that is None.

    Parameters
    ----------
    weights
        As for `best_matching`, all of them finite.
    columns
        Which players are columns; the others are rows.

    Examples
    --------
    >>> weights = np.array([[0, 5, 1], [5, 0, 2], [1, 2, 0]])
    >>> best_matching_of_sides(weights, np.array([False, False, True]))
    Matching(1-2; waiting 0)
    """
    if columns is None:
        return best_matching(weights)
    from scipy.optimize import linear_sum_assignment  # a third of a second, which few users need

    rows, places = np.flatnonzero(~columns), np.flatnonzero(columns)
    first, second = linear_sum_assignment(weights[np.ix_(rows, places)], maximize=True)
    couples = np.sort([rows[first], places[second]], axis=0).T
    return Matching(couples.tolist(), np.setdiff1d(np.arange(len(columns)), couples).tolist())
