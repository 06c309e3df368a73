"""Exploration: the cheapest plays that rule out some confusing rates.

The limit asks how to gather information of 1 per ln T against all confusing rates, from nothing
(`ExplorationProgram`). A policy asks the same after the plays that it has made: which information
they gathered, and what completes it for the least regret (`MissingExploration`). The program is the
same, with smaller needs.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from pairup.bounds.confusing_rates import ConfusingRates
from pairup.bounds.places import Places, best_matching_of_sides
from pairup.matching import Couple, Matching
from pairup.problem.rates import Floats

_TOLERANCE = 1e-10
_ACCURACY = 1e-2  # relative, of the information: what is then missing, the next plan completes
_MIN_GAIN = 1e-3  # relative: by how much more a matching must tell per regret to be thought of
_ROUNDS = 30
_SURELY = 1.01  # information beyond which it does not matter how much more there is


class ExplorationProgram:
    """The linear program of the least regret that gathers information 1 against confusing rates.

    An exploration says how much regret is spent on each known matching (not how often it is played,
    so that matchings of very different regret have similar scales). At first, all matchings that
    swap two couples of the optimum are known. `price` adds others that tell more per regret, by at
    least the share `min_gain`.
    """

    def __init__(self, confusing: ConfusingRates, min_gain: float = 1e-10) -> None:
        self.confusing, self.places, self.min_gain = confusing, confusing.places, min_gain
        rates = confusing.rates
        # A matching loses half the squares of its differences, less those of the optimum: between
        # two sides, whose scales differ, the products themselves have more digits.
        self.losses = (rates[:, None] - rates) ** 2 / 2
        if self.places.two_sided:
            self.losses = -rates[:, None] * rates
        self.number = np.full(self.losses.shape, -1)
        self.number[confusing.first, confusing.second] = np.arange(len(confusing.first))
        self.matchings: list[list[Couple]] = []  # their cross couples, by places
        self.regret: list[float] = []
        self.shares: list[Floats] = []  # plays of each cross couple for a regret of 1
        self.cuts = np.empty((0, len(confusing.first)))
        waits = self.places.is_phantom[1::2]
        for k, m in combinations(range(len(rates) // 2), 2):
            i, i2, j, j2 = 2 * k, 2 * k + 1, 2 * m, 2 * m + 1
            if not waits[k]:  # nothing changes if two players swap who wait
                self._add([(i, j2), (i2, j)], (rates[i] - rates[j]) * (rates[i2] - rates[j2]))
            if not self.places.two_sided:
                self._add([(i, j), (i2, j2)], (rates[i] - rates[j2]) * (rates[i2] - rates[j]))

    def _add(self, couples: list[Couple], regret: float) -> None:
        plays = np.zeros(len(self.confusing.first))
        plays[[self.number[couple] for couple in couples]] = 1 / regret
        self.matchings.append(couples)
        self.regret.append(regret)
        self.shares.append(plays)

    def begin(self) -> Floats:
        """Spend a regret of 1 on every neighbour of the optimum: that rules out all other rates.

        On two sides, all who wait are neighbours of the last couple.
        """
        last = int(np.count_nonzero(~self.places.is_phantom[1::2])) - 1
        swapped = [sorted({place // 2 for place in couples[0]}) for couples in self.matchings]
        near = [m - k == 1 or (k == last and self.places.two_sided) for k, m in swapped]
        return np.array(near, float)

    def neighbours(self) -> list[Matching]:
        """Return the matchings with which it begins."""
        return [self.matching(index) for index in np.flatnonzero(self.begin()).tolist()]

    def plays(self, spent: Floats) -> Floats:
        """Return how often each cross couple is played; matchings added after `spent` are not."""
        return spent @ np.array(self.shares[: len(spent)])

    def solve(self, needed: Floats | float = 1.0) -> tuple[Floats, Floats] | None:
        """Return the regret to spend on each matching and the price of each cut, if it succeeds.

        Each cut needs the information `needed`.
        """
        from scipy.optimize import linprog  # a third of a second, which few users need

        told = self.cuts @ np.array(self.shares).T
        limits = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options = dict.fromkeys(limits, _TOLERANCE)
        costs, wanted = np.ones(told.shape[1]), np.full(len(told), needed)
        found = linprog(costs, A_ub=-told, b_ub=-wanted, method="highs", options=options)
        return (found.x, -found.ineqlin.marginals) if found.success else None

    def price(self, prices: Floats) -> float:
        """Return what any exploration must spend, and add the matchings that the prices call for.

        The information that the cuts ask for is worth `prices`; no matching may be worth more than
        it loses. If the best matching is worth f times its regret, the prices divided by f are
        feasible, and their sum is a bound by duality. f is found by best matchings for greater and
        greater f (Dinkelbach's method).
        """
        prices = np.maximum(prices, 0.0)
        worth = np.zeros_like(self.losses)
        worth[self.confusing.first, self.confusing.second] = prices @ self.cuts
        worth += worth.T
        factor = max(1.0, float((np.array(self.shares) @ (prices @ self.cuts)).max()))
        while True:
            couples = best_matching_of_sides(worth - factor * self.losses, self.places.columns)
            cross = [couple for couple in couples if self.number[couple] >= 0]
            moved = {place // 2 for couple in cross for place in couple}
            lost = sum(self.losses[couple] for couple in cross)
            regret = float(lost - sum(self.losses[2 * k, 2 * k + 1] for k in moved))
            if not cross or regret <= 0:
                break
            ratio = float(sum(worth[couple] for couple in cross)) / regret
            if ratio <= factor * (1 + self.min_gain):
                break
            self._add(cross, regret)
            factor = ratio
        return float(prices.sum() / factor)

    def matching(self, index: int) -> Matching:
        """Return a known matching of players, not of places."""
        places, cross = self.places, self.matchings[index]
        moved = {place for couple in cross for place in couple}
        rest = [(k, k + 1) for k in range(0, len(places.players), 2) if k not in moved]
        named = [
            sorted(int(places.players[place]) for place in couple)
            for couple in sorted([*rest, *cross])
        ]
        waiting = [first for first, second in named if second >= places.real]
        return Matching([couple for couple in named if couple[1] < places.real], waiting)


class MissingExploration:
    """The information gathered so far about a unique optimum, and what is missing.

    Parameters
    ----------
    places
        The players in the order of their rates.
    tries
        How often each couple was played, in a row and a column for each player; symmetric.
    """

    def __init__(self, places: Places, tries: Floats) -> None:
        self.confusing = ConfusingRates(places)
        padded = np.pad(tries, (0, len(places.players) - places.real))
        couples = np.stack([self.confusing.first, self.confusing.second])
        self.plays = padded[tuple(places.players[couples])]
        self.hardest = self.confusing.hardest(self.plays)

    @property
    def gathered(self) -> float:
        """Information against the confusing rates that are hardest to rule out.

        Infinite if no rates are confusing.
        """
        return float(self.hardest.information.min(initial=np.inf))

    def complete(self, needed: float) -> list[tuple[Matching, float]]:
        """List the matchings, and how often to play each, that complete the information.

        After them about `needed` is gathered, for the least regret. If rates are too close to each
        other for the program, they are the neighbours of the optimum, once each.
        """
        program, base = ExplorationProgram(self.confusing, _MIN_GAIN), self.plays / needed
        new = self.hardest.coefficients
        for _ in range(_ROUNDS):
            program.cuts = np.vstack([program.cuts, new])
            solved = program.solve(1.0 - program.cuts @ base)
            if solved is None:
                return [(matching, 1.0) for matching in program.neighbours()]
            spent, prices = solved
            program.price(prices)
            hardest = self.confusing.hardest(base + program.plays(spent), enough=_SURELY)
            new = hardest.coefficients[hardest.information < 1 - _ACCURACY]
            if not len(new) and len(spent) == len(program.matchings):
                break
        return [
            (program.matching(k), needed * spent[k] / program.regret[k])
            for k in np.flatnonzero(spent).tolist()
        ]
