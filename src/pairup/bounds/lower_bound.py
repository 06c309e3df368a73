"""The limit: the least regret, in multiples of ln T, of any policy that is good everywhere.

The theorem is of Graves and Lai (1997): a policy whose regret grows slower than every power of T
on *every* problem must, on the problem at hand, gather enough information to tell its rates from
all confusing ones (`pairup.bounds.confusing_rates`), and that costs at least c ln T. c is the
value of a linear program with infinitely many constraints, solved by cutting planes:
`pairup.bounds.exploration` finds the cheapest exploration against the confusing rates met so
far, `ConfusingRates.hardest` those that it is least able to rule out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pairup.bounds.confusing_rates import ConfusingRates, HardestRates
from pairup.bounds.exploration import ExplorationProgram
from pairup.bounds.places import Places
from pairup.errors import ProblemError
from pairup.matching import Matching
from pairup.problem import Problem
from pairup.problem.meeting_graph import MeetingGraph
from pairup.problem.rates import Floats

_ACCURACY = 1e-7  # relative, of the constant; a tenth of what is promised
_ROUNDS = 200
_SURELY = 1.01  # information beyond which it does not matter how much more there is

_TIES = (
    "successive couples of the optimum have players of equal rates, so that several matchings "
    "are the best and the theorem does not apply"
)
_NO_RATES = (
    "couples do not play with the product of their players' rates, for which the theorem is stated"
)
_GRAPH = (
    "the players are not in groups within which all may meet for the same worth: the optimum is "
    "then not found by sorting, for which the theorem is stated"
)
_CHANGES = "rates change, and the theorem is about rates that do not"
_EQUAL = "all matchings are equally good"
_TINY = "rates are too near to each other, or to 1, for floating point numbers"
_SURE = "no other rates look the same while the optimum is played: nothing need be explored"


@dataclass(frozen=True, eq=False)
class Certificate:
    """The confusing rates that the exploration is least able to rule out.

    Attributes
    ----------
    information
        Information that the exploration gathers against them per unit of ln T: 1, up to accuracy.
    rates
        Rate of each player, as in `Problem.rates`; read-only.
    players
        The player of a better couple, and the player of a lower couple who overtakes it.
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
        Factor of ln T. A policy whose regret grows slower than every power of T on all problems
        cannot stay below it. NaN where it is not known, as `reason` says.
    certified
        Regret of the exploration per ln T. It rules out all confusing rates, so the true constant
        lies between `constant` and this.
    exploration
        The matchings to play, each with how often per ln T; the most played first. One exploration
        that spends the least; there may be others.
    certificate
        The confusing rates that make it so expensive; None if nothing need be explored, and for
        several groups of players.
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
        """Return ``constant * ln(rounds)``.

        Parameters
        ----------
        rounds
            A number of rounds, or an array of them; at least 1.

        Returns
        -------
        float or ndarray of float64
            Of the shape of `rounds`.

        Examples
        --------
        >>> from pairup import Problem
        >>> limit = lower(Problem.from_zero(2, 0.1))
        >>> bool(limit.regret(1_000) == limit.constant * np.log(1_000))
        True
        >>> limit.regret([1, 10, 100]).shape
        (3,)
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
    on other problems (for example `Oracle`, which knows the rates) always can.

    Parameters
    ----------
    problem
        The rates. If the number of players is odd, it is known that a waiting player does not play.

    Returns
    -------
    LowerBound
        Exact to about seven digits; `LowerBound.gap` says how exact. If successive couples of the
        optimum have equal rates (`Problem.strict_order` fails), the best matching is not unique and
        the theorem does not apply: the constant is NaN, and `reason` says so, unless all matchings
        are equally good and it is 0. On two sides, the players of each side who are coupled must
        differ in rates, from those who wait too. It is NaN as well for `Problem.from_matrix` and
        `Problem.piecewise`, and where not all couples may meet or games differ in worth, unless the
        players are in groups within which neither is so: then the limits of the groups, in worth,
        add up.

    Notes
    -----
    It takes a fraction of a second for a few couples, and minutes from 30 couples on. The last
    results are kept, so that asking again costs nothing.

    Examples
    --------
    >>> from pairup import Problem, bounds
    >>> round(bounds.lower(Problem.around(0.5, 4, 0.1)).constant, 4)
    2.9379
    >>> round(bounds.lower(Problem.two_sided([0.9, 0.6, 0.3], [0.7, 0.4])).constant, 4)
    3.33
    """
    if problem.players == 2:
        return LowerBound(0.0, 0.0, reason=_EQUAL)
    if not problem.has_player_rates:
        why = _NO_RATES if len(problem.starts) == 1 else _CHANGES
        return LowerBound(math.nan, math.nan, reason=why)
    if problem.sides is not None:
        rows, columns = np.split(np.arange(problem.players), problem.sides[:1])
        return _lower(Places.on_two_sides(problem.rates, rows, columns))
    if problem.graph is not None:
        return _lower_of_groups(problem, find_groups(problem.graph))
    return _lower(Places.on_one_side(problem.rates))


def _lower(places: Places) -> LowerBound:
    """Compute the limit of players who all may meet, or who are on two sides."""
    if places.are_all_equal:
        return LowerBound(0.0, 0.0, reason=_EQUAL)
    if not places.is_strict:
        return LowerBound(math.nan, math.nan, reason=_TIES)
    if places.gap < np.finfo(float).tiny:
        return LowerBound(math.nan, math.nan, reason=_TINY)
    confusing = ConfusingRates(places)
    if not len(confusing.better):
        return LowerBound(0.0, 0.0, reason=_SURE)
    return _CuttingPlanes(ExplorationProgram(confusing)).run()


def _lower_of_groups(problem: Problem, groups: list[Group] | None) -> LowerBound:
    """Add up the limits of groups, each of which is explored while the others play their best."""
    if groups is None:
        return LowerBound(math.nan, math.nan, reason=_GRAPH)
    constant = certified = 0.0
    exploration = list[tuple[Matching, float]]()
    for group in groups:
        if len(group.players) < 2:
            continue
        bound = lower(Problem(problem.rates[group.players]))
        if math.isnan(bound.constant):
            return bound
        constant += group.worth * bound.constant
        certified += group.worth * bound.certified
        others = [each for each in problem.optimum if each[0] not in group.players]
        for matching, often in bound.exploration:
            couples = [tuple(group.players[list(each)].tolist()) for each in matching]
            exploration.append((_with_waiting([*couples, *others], problem.players), often))
    reason = "" if constant else _EQUAL
    return LowerBound(constant, certified, tuple(exploration), reason=reason)


class Group(NamedTuple):
    """Players who may all meet each other, for the same worth, and nobody else.

    A graph of such groups, for example regions, is a problem for each group, played side by side:
    what is explored in one of them costs the others nothing, and tells nothing about them.
    """

    players: NDArray[np.int64]
    worth: float


def find_groups(graph: MeetingGraph) -> list[Group] | None:
    """List the groups of which a graph consists, None if it does not consist of groups.

    Examples
    --------
    >>> [group.players.tolist() for group in find_groups(MeetingGraph(5, [(0, 2), (1, 4)]))]
    [[0, 2], [1, 4], [3]]
    >>> find_groups(MeetingGraph(3, [(0, 1), (1, 2)])) is None
    True
    """
    edges = coo_array(
        (np.ones(len(graph.low)), (graph.low, graph.high)), shape=(graph.players,) * 2
    )
    count, label = connected_components(edges, directed=False)
    groups = []
    for group in range(count):
        players, inside = np.flatnonzero(label == group), label[graph.low] == group
        worth = graph.worth[inside]
        complete = len(worth) == len(players) * (len(players) - 1) // 2
        if not complete or np.any(worth != worth[:1]):
            return None
        groups.append(Group(players, float(worth[0]) if len(worth) else 0.0))
    return groups


def _with_waiting(couples: list[tuple[int, ...]], players: int) -> Matching:
    coupled = {player for couple in couples for player in couple}
    return Matching(couples, [player for player in range(players) if player not in coupled])


class _CuttingPlanes:
    """Bracket the constant: from below by the linear program, from above by explorations."""

    def __init__(self, program: ExplorationProgram) -> None:
        self.program = program
        self.low, self.high = 0.0, math.inf
        self.spent: Floats | None = None
        self.hardest: HardestRates

    def run(self) -> LowerBound:
        """Close the bracket, or narrow it as far as the numbers allow."""
        spent, enough = self.program.begin(), math.inf
        for _ in range(_ROUNDS):
            new = self._evaluate(spent, enough)
            stuck = not len(new) and len(spent) == len(self.program.matchings)
            if stuck or self.high - self.low <= _ACCURACY * self.high:
                break
            self.program.cuts = np.vstack([self.program.cuts, new])
            solved = self.program.solve()
            if solved is None:
                break
            spent, prices = solved
            self.low = max(self.low, self.program.price(prices))
            enough = _SURELY
        return self._bound()

    def _evaluate(self, spent: Floats, enough: float) -> Floats:
        """Bound the constant from above by an exploration; return the cuts that it violates."""
        hardest = self.program.confusing.hardest(self.program.plays(spent), enough)
        gathered = hardest.lower_bound.min()
        if gathered > 0 and spent.sum() / gathered < self.high:
            self.high = float(spent.sum() / gathered)
            self.spent, self.hardest = spent / gathered, hardest
        violated = hardest.information < 1 if enough < math.inf else slice(None)
        return hardest.coefficients[violated]

    def _bound(self) -> LowerBound:
        if self.spent is None:
            return LowerBound(math.nan, math.nan, reason=_TINY)
        often = [
            (self.program.matching(index), float(self.spent[index] / self.program.regret[index]))
            for index in np.flatnonzero(self.spent).tolist()
        ]
        explored = tuple(sorted(often, key=lambda each: -each[1]))
        return LowerBound(min(self.low, self.high), self.high, explored, self._certificate())

    def _certificate(self) -> Certificate:
        confusing, worst = self.program.confusing, int(self.hardest.lower_bound.argmin())
        places = confusing.places
        rates = np.empty(len(places.players))
        rates[places.players] = self.hardest.rates[worst]
        rates = rates[: places.real]
        rates.setflags(write=False)
        information = self.hardest.information[worst] / self.hardest.lower_bound[worst]
        better, worse = (
            int(places.players[each[worst]]) for each in (confusing.better, confusing.worse)
        )
        return Certificate(float(information), rates, (better, worse))
