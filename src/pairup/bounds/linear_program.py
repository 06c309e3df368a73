"""The linear program over explorations: some confusing rates to tell, some matchings to play."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pairup.best_matching import best_matching
from pairup.bounds.confusing_rates import Confusions
from pairup.bounds.information import Floats
from pairup.matching import Couple, Matching

_MORE = 1e-10  # relative: a matching must be better than the known ones by this much to be added
_TOLERANCE = 1e-10


class Master:
    """Least regret that gathers information 1 against the confusing rates met so far.

    An exploration says what regret is spent on each known matching (not how often it is played, so
    that matchings of very different regret have like scales). Known at first: all matchings that
    swap two couples of the optimum. `price` adds others when they tell more for their regret.
    """

    def __init__(self, confusions: Confusions) -> None:
        self.of = confusions
        rates = confusions.sorted
        # A matching loses half the squares of its differences, less those of the optimum.
        self.squares = (rates[:, None] - rates) ** 2 / 2
        self.number = np.full(self.squares.shape, -1)
        self.number[confusions.first, confusions.second] = np.arange(len(confusions.first))
        self.matchings: list[list[Couple]] = []  # their cross couples, in seats
        self.regret: list[float] = []
        self.shares: list[Floats] = []  # plays of each cross couple for a regret of 1
        self.cuts = np.empty((0, len(confusions.first)))
        for k, m in combinations(range(len(rates) // 2), 2):
            i, i2, j, j2 = 2 * k, 2 * k + 1, 2 * m, 2 * m + 1
            self._add([(i, j2), (i2, j)], (rates[i] - rates[j]) * (rates[i2] - rates[j2]))
            self._add([(i, j), (i2, j2)], (rates[i] - rates[j2]) * (rates[i2] - rates[j]))

    def _add(self, couples: list[Couple], regret: float) -> None:
        plays = np.zeros(len(self.of.first))
        plays[[self.number[couple] for couple in couples]] = 1 / regret
        self.matchings.append(couples)
        self.regret.append(regret)
        self.shares.append(plays)

    def begin(self) -> Floats:
        """Spend a regret of 1 on every neighbour of the optimum: that tells all rates apart."""
        near = [
            max(couple[1] // 2 - couple[0] // 2 for couple in couples) == 1
            for couples in self.matchings
        ]
        return np.array(near, float)

    def plays(self, spent: Floats) -> Floats:
        """How often each cross couple is played; later matchings than `spent` knows are not."""
        return spent @ np.array(self.shares[: len(spent)])

    def solve(self) -> tuple[Floats, Floats] | None:
        """Give the regret to spend on each matching, and the price of each cut; None at failure."""
        from scipy.optimize import linprog  # a third of a second that few need

        told = self.cuts @ np.array(self.shares).T
        found = linprog(
            np.ones(told.shape[1]),
            A_ub=-told,
            b_ub=-np.ones(len(told)),
            method="highs",
            options={
                "primal_feasibility_tolerance": _TOLERANCE,
                "dual_feasibility_tolerance": _TOLERANCE,
            },
        )
        return (found.x, -found.ineqlin.marginals) if found.success else None

    def price(self, prices: Floats) -> float:
        """Give what any exploration must spend, and add matchings that the prices call for.

        The information that the cuts ask for is worth `prices`; no matching may be worth more than
        it loses. Where the dearest matching is worth f times its regret, the prices divided by f
        are fair, and their sum is a bound by duality. It is found by best matchings for ever
        greater f (Dinkelbach's method).
        """
        prices = np.maximum(prices, 0.0)
        worth = np.zeros_like(self.squares)
        worth[self.of.first, self.of.second] = prices @ self.cuts
        worth += worth.T
        dearest = max(1.0, float((np.array(self.shares) @ (prices @ self.cuts)).max()))
        while True:
            couples = best_matching(worth - dearest * self.squares)
            cross = [couple for couple in couples if self.number[couple] >= 0]
            regret = self._regret(couples)
            if not cross or regret <= 0:
                break
            ratio = float(sum(worth[couple] for couple in cross)) / regret
            if ratio <= dearest * (1 + _MORE):
                break
            self._add(cross, regret)
            dearest = ratio
        return float(prices.sum() / dearest)

    def _regret(self, couples: Matching) -> float:
        """Count what a matching loses, over the couples in which it differs from the optimum."""
        moved = {seat // 2 for couple in couples if self.number[couple] >= 0 for seat in couple}
        lost = sum(self.squares[couple] for couple in couples if self.number[couple] >= 0)
        return float(lost - sum(self.squares[2 * k, 2 * k + 1] for k in moved))

    def matching(self, place: int) -> Matching:
        """Write a known matching with the players in place of their seats."""
        cross = self.matchings[place]
        seated = {seat for couple in cross for seat in couple}
        rest = [(k, k + 1) for k in range(0, len(self.of.seats), 2) if k not in seated]
        named = [
            tuple(sorted(int(self.of.seats[seat]) for seat in couple))
            for couple in sorted([*rest, *cross])
        ]
        phantom = len(self.of.seats) - 1 if self.of.phantom else None
        waiting = [couple[0] for couple in named if phantom in couple]
        return Matching([couple for couple in named if phantom not in couple], waiting)
