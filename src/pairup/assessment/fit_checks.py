"""Checks of the model: whether couples play as often as the product of their players' rates says.

Each check compares a statistic of the history with the same statistic of games that are simulated
from the model: same couples, rates drawn from the posterior (a posterior predictive check). Such a
check is conservative where the model holds: it raises a false alarm more rarely than its level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairup.assessment.game_table import GameTable
from pairup.assessment.outlook import Interval, interval_of
from pairup.assessment.posterior import PosteriorChain, sample_rows

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Statistic = Callable[[Floats, Floats], float]  # of what games differ from their chances, variances

CHECKS = ("couples", "pattern", "rating distance", "same region", "hour", "drift")
LEVEL = 0.05  # probability of any false alarm, over all checks together
_ROUGH = 0.03  # a deviation in chances up to which products fit roughly
_MAX_GAMES = 200_000  # that are looked at
_SIMULATIONS = 200  # at least, so that a check can raise an alarm at its level
_BINS = 10
_THIRDS = 3
_MIN_PLAYERS = 20  # to look for a pattern among players
_POWER_STEPS = 20  # of the power iteration


@dataclass(frozen=True)
class FitCheck:
    """One way in which couples could differ from products of rates.

    `history` and `model` are how much games differ from products, in the history and in games that
    are simulated, as multiples of the latter's mean. `deviation` is by how much chances differ, as
    a root mean square over games, beyond what chance explains. `bins` has, for each bin of what the
    check looks at, its middle, the share played beyond what products say, and the standard error of
    that; it is empty where there are no bins.
    """

    name: str
    question: str
    p_value: float
    deviation: float
    alarm: bool
    history: Interval
    model: Interval
    bins: tuple[tuple[float, float, float], ...] = ()

    @property
    def verdict(self) -> str:
        """What the check found, in words."""
        if not self.alarm:
            return "fits"
        return "fits roughly" if self.deviation <= _ROUGH else "does not fit"


class FitChecker:
    """The checks that a table allows, fed with draws of the rates.

    Parameters
    ----------
    table
        The history.
    chain
        What the draws come from. Only games that it looks at are checked: draws do not fit others
        as closely. Of many draws, only some are looked at; with each of a few, games are simulated
        several times.
    rng
        Source of random numbers, for the games that are simulated.
    """

    def __init__(self, table: GameTable, chain: PosteriorChain, rng: np.random.Generator) -> None:
        self._rng, self._given = rng, 0
        self._every = max(chain.kept // _SIMULATIONS, 1)
        self._times = math.ceil(_SIMULATIONS * self._every / chain.kept)
        rows = sample_rows(chain.rows, _MAX_GAMES, rng)
        self._one, self._other = table.one[rows], table.other[rows]
        self._played = table.played[rows].astype(np.float64)
        self._checks = _checks_of(table, rows)
        self._seen = [list[tuple[float, float]]() for _ in self._checks]
        self._expected, self._count = np.zeros(len(rows)), 0

    def add(self, rates: Floats) -> None:
        """Compare the history with games that are simulated with these rates."""
        self._given += 1
        if (self._given - 1) % self._every:
            return
        chances = rates[self._one] * rates[self._other]
        variances = chances * (1.0 - chances)
        self._expected += chances
        self._count += 1
        real = [check.statistic(self._played - chances, variances) for check in self._checks]
        for _ in range(self._times):
            away = (self._rng.random(len(chances)) < chances) - chances
            for check, seen, found in zip(self._checks, self._seen, real, strict=True):
                seen.append((found, check.statistic(away, variances)))

    def finish(self) -> tuple[FitCheck, ...]:
        """Return what each check found."""
        expected = self._expected / max(self._count, 1)
        variance = float(np.mean(expected * (1.0 - expected)))
        found = []
        for check, pairs in zip(self._checks, self._seen, strict=True):
            real, simulated = np.array(pairs).T
            p_value = (1.0 + np.count_nonzero(simulated >= real)) / (1.0 + len(real))
            unit = max(float(simulated.mean()), 1e-300)
            excess = max(float(np.mean(real - simulated)), 0.0)
            found.append(
                FitCheck(
                    name=check.name,
                    question=check.question,
                    p_value=float(p_value),
                    deviation=float(np.sqrt(excess * check.scale * variance)),
                    alarm=bool(p_value <= LEVEL / len(self._checks)),
                    history=interval_of(real / unit),
                    model=interval_of(simulated / unit),
                    bins=check.describe(self._played - expected, expected * (1.0 - expected)),
                )
            )
        return tuple(found)


@dataclass(frozen=True)
class _Check:
    name: str
    question: str
    statistic: Statistic
    scale: float  # an excess of the statistic as a mean square of chances, by their variance
    middles: Floats
    group: Places  # the bin of each game, -1 where it has none; empty if there are none

    def describe(
        self, residuals: Floats, variances: Floats
    ) -> tuple[tuple[float, float, float], ...]:
        """Return by how much each bin differs from products, with standard errors."""
        found = []
        for bin, middle in enumerate(self.middles):
            inside = self.group == bin
            if count := int(np.count_nonzero(inside)):
                error = float(np.sqrt(variances[inside].sum())) / count
                found.append((float(middle), float(residuals[inside].mean()), error))
        return tuple(found)


def _checks_of(table: GameTable, rows: Places) -> list[_Check]:
    one, other = table.one[rows], table.other[rows]
    numbers, couples = np.unique(one * table.players + other, return_inverse=True)
    found = list[_Check]()
    if len(numbers) < len(couples):  # some met again
        found.append(_deviating(couples))
    if table.players >= _MIN_PLAYERS and len(rows) >= table.players:  # or too few meet to tell
        found.append(_patterned(*np.divmod(numbers, table.players), couples, table.players))
    distance = table.distance[rows]
    if np.isfinite(distance).mean() > 0.5:
        question = "Does it matter how far apart two ratings are?"
        found.append(_binned("rating distance", question, distance))
    region = table.same_region[rows].astype(np.int64)
    if len(np.unique(region[region >= 0])) == 2:
        question = "Do players of one region play more often?"
        found.append(_grouped("same region", question, region, np.arange(2.0)))
    hours = table.hours[rows]
    if np.isfinite(hours).mean() > 0.5:
        finite = np.isfinite(hours)
        clock = np.where(finite, np.floor(np.where(finite, hours, 0.0) % 24), -1).astype(np.int64)
        question = "Does it matter at what time of the day they meet?"
        found.append(_grouped("hour", question, clock, np.arange(24.0)))
        found.append(_drifting(one, other, hours, table.players))
    return found


def _grouped(name: str, question: str, group: Places, middles: Floats | None = None) -> _Check:
    """Compare groups of games: the sum of squares of what each differs by, in standard errors."""
    groups = int(group.max()) + 1
    known = group >= 0
    place = np.where(known, group, groups)

    def statistic(residuals: Floats, variances: Floats) -> float:
        total = np.bincount(place, residuals, groups + 1)[:groups]
        spread = np.bincount(place, variances, groups + 1)[:groups]
        return float(np.sum(total**2 / np.maximum(spread, 1e-9)))

    games = max(int(np.count_nonzero(known)), 1)
    # A deviation d of all chances adds games * d**2 / variance.
    return _Check(
        name, question, statistic, 1.0 / games, np.zeros(0) if middles is None else middles, group
    )


def _deviating(couples: Places) -> _Check:
    """Compare the games of each couple: whether they are more alike than products say.

    If chances of couples deviate from products as `HierarchicalThompson` models it, with the
    concentration k, this is the slope of the log marginal likelihood by 1 / k where nothing
    deviates, up to a constant: no statistic has more power against small deviations. Couples who
    met once say nothing, and add no noise.
    """
    tries = np.bincount(couples)
    again = np.flatnonzero(tries > 1)
    pairs = float(tries[again] @ (tries[again] - 1)) / 2.0

    def statistic(residuals: Floats, variances: Floats) -> float:
        played = residuals > 0.0  # what differs from the chance is above 0 in games alone
        games = np.bincount(couples, played)[again]
        missed = tries[again] - games
        chances = np.bincount(couples, played - residuals)[again] / tries[again]
        alike = games * (games - 1.0) / np.maximum(chances, 1e-9)
        alike += missed * (missed - 1.0) / np.maximum(1.0 - chances, 1e-9)
        return 0.5 * float(alike.sum())

    question = "Do some couples play more often than others?"
    # A deviation d of all chances adds d**2 / variance for each two games of a couple.
    return _Check("couples", question, statistic, 1.0 / pairs, np.zeros(0), np.zeros(0, np.int64))


def _binned(name: str, question: str, values: Floats) -> _Check:
    """Compare bins of a number that have about as many games each."""
    known = np.isfinite(values)
    parts = np.linspace(0, 1, _BINS + 1)[1:]
    # A bin ends with a value that games have, so that none is empty.
    edges = np.unique(np.quantile(values[known], parts, method="inverted_cdf"))
    group = np.where(known, np.searchsorted(edges, np.where(known, values, 0.0)), -1)
    middles = [float(np.median(values[group == each])) for each in range(len(edges))]
    return _grouped(name, question, group, np.array(middles))


def _drifting(one: Places, other: Places, hours: Floats, players: int) -> _Check:
    """Compare each player's games in three thirds of the time."""
    known = np.isfinite(hours)
    edges = np.quantile(hours[known], [1 / 3, 2 / 3])
    third = np.searchsorted(edges, np.where(known, hours, -np.inf), "right")
    groups = players * _THIRDS
    places = [np.where(known, player * _THIRDS + third, groups) for player in (one, other)]

    def statistic(residuals: Floats, variances: Floats) -> float:
        total, spread = np.zeros(groups + 1), np.zeros(groups + 1)
        for place in places:
            total += np.bincount(place, residuals, groups + 1)
            spread += np.bincount(place, variances, groups + 1)
        return float(np.sum(total[:groups] ** 2 / np.maximum(spread[:groups], 1e-9)))

    question = "Do players change over time?"
    scale = 0.5 / max(int(np.count_nonzero(known)), 1)  # a game counts for both players
    return _Check("drift", question, statistic, scale, np.zeros(0), np.zeros(0, np.int64))


def _patterned(one: Places, other: Places, couples: Places, players: int) -> _Check:
    """Look for a pattern among players, such as languages: a large eigenvalue of what is left.

    `one` and `other` are the players of each couple, `couples` has the couple of each game.
    """
    from scipy.sparse import csr_array

    both = np.concatenate([one, other]), np.concatenate([other, one])
    places = csr_array((np.arange(2 * len(one)), both), shape=(players, players))
    matrix, order = places.astype(np.float64), places.data
    start = np.random.default_rng(0).standard_normal(players)

    def statistic(residuals: Floats, variances: Floats) -> float:
        matrix.data = np.tile(np.bincount(couples, residuals), 2)[order]
        vector = start
        for _ in range(_POWER_STEPS):
            # Twice, so that patterns of attraction and of repulsion count alike.
            vector = matrix @ (matrix @ vector)
            vector = vector / max(float(np.linalg.norm(vector)), 1e-300)
        return float(np.linalg.norm(matrix @ vector) ** 2 / max(variances.mean(), 1e-9))

    question = "Is there a pattern among players, such as languages or circles of friends?"
    games = max(len(couples), 1)
    # A pattern of rank one and mean square d**2 has an eigenvalue of 2 games d / players.
    scale = (players / (2.0 * games)) ** 2
    return _Check("pattern", question, statistic, scale, np.zeros(0), np.zeros(0, np.int64))


def describe_fit(checks: Sequence[FitCheck]) -> str:
    """Describe whether products fit, and if not, why not.

    Examples
    --------
    >>> usual, unusual = Interval(1.0, 0.7, 1.4), Interval(1.8, 1.7, 1.9)
    >>> describe_fit([FitCheck("hour", "Does it matter when?", 0.001, 0.08, True, unusual, usual)])
    'does not fit, because of the hour'
    """
    wrong = [each for each in checks if each.alarm]
    if not wrong:
        return "fits"
    *some, last = (f"the {each.name}" for each in wrong)
    names = f"{', '.join(some)} and {last}" if some else last
    if all(each.verdict == "fits roughly" for each in wrong):
        return f"fits roughly: chances depend a little on {names}"
    return f"does not fit, because of {names}"
