"""ExplorationProgram: the cheapest exploration that rules out some confusing rates."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pairup.best_matching import best_matching
from pairup.bounds.confusing_rates import ConfusingRates
from pairup.matching import Couple, Matching
from pairup.rates import Floats

_MIN_GAIN = 1e-10  # relative: how much better a matching must be than the known ones
_TOLERANCE = 1e-10


class ExplorationProgram:
    """The linear program of the least regret that gathers information 1 against confusing rates.

    An exploration says how much regret is spent on each known matching (not how often it is played,
    so that matchings of very different regret have similar scales). At first, all matchings that
    swap two couples of the optimum are known. `price` adds others that tell more per regret.
    """

    def __init__(self, confusing: ConfusingRates) -> None:
        self.confusing = confusing
        rates = confusing.sorted
        # A matching loses half the squares of its differences, less those of the optimum.
        self.squares = (rates[:, None] - rates) ** 2 / 2
        self.number = np.full(self.squares.shape, -1)
        self.number[confusing.first, confusing.second] = np.arange(len(confusing.first))
        self.matchings: list[list[Couple]] = []  # their cross couples, by places
        self.regret: list[float] = []
        self.shares: list[Floats] = []  # plays of each cross couple for a regret of 1
        self.cuts = np.empty((0, len(confusing.first)))
        for k, m in combinations(range(len(rates) // 2), 2):
            i, i2, j, j2 = 2 * k, 2 * k + 1, 2 * m, 2 * m + 1
            self._add([(i, j2), (i2, j)], (rates[i] - rates[j]) * (rates[i2] - rates[j2]))
            self._add([(i, j), (i2, j2)], (rates[i] - rates[j2]) * (rates[i2] - rates[j]))

    def _add(self, couples: list[Couple], regret: float) -> None:
        plays = np.zeros(len(self.confusing.first))
        plays[[self.number[couple] for couple in couples]] = 1 / regret
        self.matchings.append(couples)
        self.regret.append(regret)
        self.shares.append(plays)

    def begin(self) -> Floats:
        """Spend a regret of 1 on every neighbour of the optimum: that rules out all other rates."""
        near = [max(j // 2 - i // 2 for i, j in couples) == 1 for couples in self.matchings]
        return np.array(near, float)

    def plays(self, spent: Floats) -> Floats:
        """Return how often each cross couple is played; matchings added after `spent` are not."""
        return spent @ np.array(self.shares[: len(spent)])

    def solve(self) -> tuple[Floats, Floats] | None:
        """Return the regret to spend on each matching and the price of each cut, if it succeeds."""
        from scipy.optimize import linprog  # a third of a second, which few users need

        told = self.cuts @ np.array(self.shares).T
        limits = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options = dict.fromkeys(limits, _TOLERANCE)
        costs, needed = np.ones(told.shape[1]), np.ones(len(told))
        found = linprog(costs, A_ub=-told, b_ub=-needed, method="highs", options=options)
        return (found.x, -found.ineqlin.marginals) if found.success else None

    def price(self, prices: Floats) -> float:
        """Return what any exploration must spend, and add the matchings that the prices call for.

        The information that the cuts ask for is worth `prices`; no matching may be worth more than
        it loses. If the dearest matching is worth f times its regret, the prices divided by f are
        feasible, and their sum is a bound by duality. f is found by best matchings for greater and
        greater f (Dinkelbach's method).
        """
        prices = np.maximum(prices, 0.0)
        worth = np.zeros_like(self.squares)
        worth[self.confusing.first, self.confusing.second] = prices @ self.cuts
        worth += worth.T
        dearest = max(1.0, float((np.array(self.shares) @ (prices @ self.cuts)).max()))
        while True:
            couples = best_matching(worth - dearest * self.squares)
            cross = [couple for couple in couples if self.number[couple] >= 0]
            moved = {place // 2 for couple in cross for place in couple}
            lost = sum(self.squares[couple] for couple in cross)
            regret = float(lost - sum(self.squares[2 * k, 2 * k + 1] for k in moved))
            if not cross or regret <= 0:
                break
            ratio = float(sum(worth[couple] for couple in cross)) / regret
            if ratio <= dearest * (1 + _MIN_GAIN):
                break
            self._add(cross, regret)
            dearest = ratio
        return float(prices.sum() / dearest)

    def matching(self, index: int) -> Matching:
        """Return a known matching of players, not of places."""
        cross = self.matchings[index]
        moved = {place for couple in cross for place in couple}
        rest = [(k, k + 1) for k in range(0, len(self.confusing.players), 2) if k not in moved]
        named = [
            tuple(sorted(int(self.confusing.players[place]) for place in couple))
            for couple in sorted([*rest, *cross])
        ]
        phantom = len(self.confusing.players) - 1 if self.confusing.phantom else None
        waiting = [couple[0] for couple in named if phantom in couple]
        return Matching([couple for couple in named if phantom not in couple], waiting)
