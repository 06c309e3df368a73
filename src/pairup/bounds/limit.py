"""The limit: the least regret, in multiples of ln T, of any policy that is good everywhere.

The theorem is of Graves and Lai (1997): a policy whose regret grows slower than every power of T
on *every* problem must, on the problem at hand, gather enough information to tell its rates from
all confusing ones (`pairup.bounds.confusing_rates`), and that costs c ln T at least. c is the
value of a linear program with infinitely many constraints, solved by cutting planes:
`pairup.bounds.linear_program` finds the cheapest exploration against the confusing rates met so
far, `Confusions.nearest` those that it tells least well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from pairup.bounds.confusing_rates import Confusions, Nearest
from pairup.bounds.information import Floats
from pairup.bounds.linear_program import Master
from pairup.errors import ProblemError
from pairup.matching import Matching
from pairup.problem import Problem

_ACCURACY = 1e-7  # relative, of the constant; a tenth of what is promised
_ROUNDS = 200
_SURELY = 1.01  # information beyond which it does not matter how much more there is

_TIES = (
    "successive couples of the optimum have players of equal rates, so that several matchings "
    "are the best and the theorem does not apply"
)
_EQUAL = "all matchings are equally good"
_TINY = "rates are too near to each other, or to 1, for floating point numbers"
_SURE = "no other rates look the same while the optimum is played: nothing need be explored"


@dataclass(frozen=True, eq=False)
class Certificate:
    """The confusing rates that the exploration tells least well.

    Attributes
    ----------
    information
        What the exploration gathers against them for each unit of ln T: 1, up to the accuracy.
    rates
        One for each player, as in `Problem.rates`; read-only.
    players
        The player of a better couple and the one of a lower couple who change places there.
    """

    information: float
    rates: Floats
    players: tuple[int, int]


@dataclass(frozen=True, eq=False)
class LowerBound:
    """The least regret of any policy that is good on every problem: ``constant * ln(T)``.

    Attributes
    ----------
    constant
        No policy whose regret grows slower than every power of T on all problems has a regret that
        stays below it, in multiples of ln T. NaN where it is not known, as `reason` says.
    certified
        What the exploration spends, and it tells all confusing rates: the constant cannot be above.
        The true constant lies between the two.
    exploration
        The matchings to play, each with how often per ln T; the most played first. One exploration
        that spends the least; there may be others.
    certificate
        The confusing rates that make it so dear; None where nothing need be told.
    reason
        Why the constant is 0 or NaN; empty otherwise.

    Examples
    --------
    >>> from pairup import Problem, bounds
    >>> bound = bounds.lower(Problem([0.9, 0.9, 0.5, 0.5]))
    >>> round(bound.constant, 4), round(bound.regret(1_000_000), 2)
    (0.5856, 8.09)
    >>> sorted(sorted(matching) for matching, often in bound.exploration)
    [[(0, 2), (1, 3)], [(0, 3), (1, 2)]]
    """

    constant: float
    certified: float
    exploration: tuple[tuple[Matching, float], ...] = ()
    certificate: Certificate | None = None
    reason: str = ""

    @property
    def gap(self) -> float:
        """Relative width of the bracket around the true constant."""
        return 0.0 if self.certified == 0 else (self.certified - self.constant) / self.certified

    def regret(self, rounds: ArrayLike) -> Floats | float:
        """Give ``constant * ln(rounds)``.

        Parameters
        ----------
        rounds
            One number of rounds, or an array of them; at least 1.

        Returns
        -------
        float or ndarray of float64
            Of the shape of `rounds`.
        """
        array = np.asarray(rounds, dtype=np.float64)
        if not np.all(array >= 1):  # false for NaN as well
            raise ProblemError(f"rounds must be at least 1, got {rounds!r}: count from 1")
        regret = self.constant * np.log(array)
        return regret if array.ndim else float(regret)


@lru_cache(maxsize=256)
def lower(problem: Problem) -> LowerBound:
    """Compute the least regret that any policy good on every problem can have (Graves and Lai).

    It is asymptotic: at a given T a policy can lie below ``constant * ln(T)``, and one that is bad
    on other problems (`Oracle`, say, which is told the rates) always can.

    Parameters
    ----------
    problem
        With an odd number of players it is known that nobody plays with the one who waits.

    Returns
    -------
    LowerBound
        Exact to about seven digits; `LowerBound.gap` says how exact. Where successive couples of
        the optimum have equal rates (`Problem.strict_order` fails) the best matching is not unique
        and the theorem does not apply: the constant is NaN then, and `reason` says so, unless all
        matchings are equally good and it is 0.

    Notes
    -----
    About 0.02 s for 4 couples, 0.3 s for 11, up to 10 s for 20; minutes from 30 on. The last
    results are kept, so that asking again costs nothing.

    Examples
    --------
    >>> from pairup import Problem, bounds
    >>> round(bounds.lower(Problem.around(0.5, 4, 0.1)).constant, 4)
    2.9379
    """
    if problem.players == 2:
        return LowerBound(0.0, 0.0, reason=_EQUAL)
    if not problem.strict_order:
        return _tied(problem)
    if problem.gap < np.finfo(float).tiny:
        return LowerBound(math.nan, math.nan, reason=_TINY)
    confusions = Confusions(problem)
    if not len(confusions.better):
        return LowerBound(0.0, 0.0, reason=_SURE)
    return _Search(Master(confusions)).run()


def _tied(problem: Problem) -> LowerBound:
    rates = np.sort(np.append(problem.rates, np.zeros(problem.players % 2)))
    if rates[0] == rates[-2] or rates[1] == rates[-1]:  # all but one are the same
        return LowerBound(0.0, 0.0, reason=_EQUAL)
    return LowerBound(math.nan, math.nan, reason=_TIES)


class _Search:
    """Cutting planes: the constant from below by the program, from above by explorations."""

    def __init__(self, master: Master) -> None:
        self.master = master
        self.least, self.most = 0.0, math.inf
        self.spent: Floats | None = None
        self.nearest: Nearest

    def run(self) -> LowerBound:
        """Close the bracket, or narrow it as far as the numbers allow."""
        spent, enough = self.master.begin(), math.inf
        for _ in range(_ROUNDS):
            new = self._tell(spent, enough)
            stuck = not len(new) and len(spent) == len(self.master.matchings)
            if stuck or self.most - self.least <= _ACCURACY * self.most:
                break
            self.master.cuts = np.vstack([self.master.cuts, new])
            solved = self.master.solve()
            if solved is None:
                break
            spent, prices = solved
            self.least = max(self.least, self.master.price(prices))
            enough = _SURELY
        return self._bound()

    def _tell(self, spent: Floats, enough: float) -> Floats:
        """Take what an exploration tells for a bound from above; give the cuts that it misses."""
        nearest = self.master.of.nearest(self.master.plays(spent), enough)
        told = nearest.least.min()
        if told > 0 and spent.sum() / told < self.most:
            self.most = float(spent.sum() / told)
            self.spent, self.nearest = spent / told, nearest
        missed = nearest.information < 1 if enough < math.inf else slice(None)
        return nearest.coefficients[missed]

    def _bound(self) -> LowerBound:
        if self.spent is None:
            return LowerBound(math.nan, math.nan, reason=_TINY)
        often = [
            (self.master.matching(int(place)), float(self.spent[place] / self.master.regret[place]))
            for place in np.flatnonzero(self.spent)
        ]
        explored = sorted(often, key=lambda each: -each[1])
        least = min(self.least, self.most)
        return LowerBound(least, self.most, tuple(explored), self._certificate())

    def _certificate(self) -> Certificate:
        of, worst = self.master.of, int(self.nearest.least.argmin())
        rates = np.empty(len(of.seats))
        rates[of.seats] = self.nearest.rates[worst]
        rates = rates[: len(rates) - of.phantom]
        rates.setflags(write=False)
        information = self.nearest.information[worst] / self.nearest.least[worst]
        players = (int(of.seats[of.better[worst]]), int(of.seats[of.worse[worst]]))
        return Certificate(float(information), rates, players)
