"""The posterior of players' rates, given a history of games, and of the distribution they are from.

Each player accepts with a rate of its own, drawn from one Beta distribution; a couple plays when
both accept. Where a game was not played and nobody said who declined, the answers are drawn along
with the rates (data augmentation), so that each step of the chain has a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.assessment.game_table import GameTable

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_BURN_IN = 0.3  # share of the sweeps after which draws are kept
_HYPER_STEPS = 3  # moves of the population in each sweep
_WANTED_ACCEPTANCE = 0.4  # of these moves
_MIN_CONCENTRATION, _MAX_CONCENTRATION = 0.2, 2_000.0
_LEAST = 1e-9  # rates stay this far from 0 and 1
_SWEEPS, _DRAWS = 1_000, 400
_MIN_SWEEPS = 120
_MAX_GAMES = 2_000_000  # that are looked at
_MAX_WORK = 300_000_000  # games and players, times sweeps; a longer history has a shorter chain


class Evidence(NamedTuple):
    """What a history tells of rates: by player, and by game if it is not known who declined."""

    accepted: Floats  # number of known acceptances of each player
    declined: Floats
    one: Places  # players of the games that were not played, and of which no answer is known
    other: Places


class Draw(NamedTuple):
    """A draw from the posterior."""

    rates: Floats  # of each player
    mean: float  # of the population's Beta distribution
    concentration: float  # a + b of it


def sample_rows(rows: Places, most: int, rng: np.random.Generator) -> Places:
    """Return the rows, or some of them in their order if there are more than `most`."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(rng.choice(len(rows), most, replace=False))]


class PosteriorChain:
    """The chain that draws the rates of all players of a table.

    Of a long history it looks at some of the games only, and it takes fewer steps.

    Parameters
    ----------
    table
        The history.
    rng
        Source of random numbers, for the choice of the games.
    """

    def __init__(self, table: GameTable, rng: np.random.Generator) -> None:
        rows = sample_rows(np.arange(table.games), _MAX_GAMES, rng)
        self.rows = rows  # of the games that are looked at
        both = np.stack([table.one[rows], table.other[rows]], axis=1)
        answers = table.answers[rows]
        accepted, declined = (
            np.bincount(both[answers == code], minlength=table.players).astype(np.float64)
            for code in (1, 0)
        )
        untold = both[(answers < 0).all(axis=1)]
        self._evidence = Evidence(accepted, declined, untold[:, 0], untold[:, 1])
        work = max(len(rows), table.players)
        self._sweeps = int(np.clip(_MAX_WORK // work, _MIN_SWEEPS, _SWEEPS))
        self.kept = min(_DRAWS, self._sweeps // 2)  # number of draws

    def draw(
        self,
        rng: np.random.Generator,
        progress: Callable[[float], None] = lambda share: None,
        alike: bool = True,
    ) -> Iterator[Draw]:
        """Yield draws; `progress` and `alike` are as in `draw_rates`."""
        return draw_rates(self._evidence, rng, self._sweeps, self.kept, progress, alike)


def draw_rates(
    evidence: Evidence,
    rng: np.random.Generator,
    sweeps: int = 600,
    kept: int = 200,
    progress: Callable[[float], None] = lambda share: None,
    alike: bool = True,
) -> Iterator[Draw]:
    """Yield draws of all rates, and of the population, from their joint posterior.

    Beforehand, the mean is uniform, and a + b is uniform in its logarithm: that players
    are nearly alike is as likely as that they differ, so that without data nothing is claimed.

    Parameters
    ----------
    evidence
        What is known.
    rng
        Source of random numbers.
    sweeps
        Steps of the chain, of which the first ones are dropped.
    kept
        Number of draws, evenly spaced over the rest.
    progress
        Called with the share that is done.
    alike
        Whether players may well be nearly alike, as above. Otherwise all standard deviations of
        rates are about as likely beforehand, and a few games do not show that players are alike.

    Examples
    --------
    >>> evidence = Evidence(np.array([90.0, 10]), np.array([10.0, 90]), *np.zeros((2, 0), int))
    >>> draws = list(draw_rates(evidence, np.random.default_rng(0)))
    >>> np.mean([draw.rates for draw in draws], axis=0).round(1).tolist()
    [0.9, 0.1]
    """
    population = _Population(rng, alike)
    rates = (evidence.accepted + 1.0) / (evidence.accepted + evidence.declined + 2.0)
    first = int(_BURN_IN * sweeps)
    wanted = set(np.linspace(first, sweeps - 1, kept).astype(int).tolist())
    for sweep in range(sweeps):
        accepted, declined = _complete(evidence, rates, rng)
        population.move(accepted, declined, adapt=sweep < first)
        a, b = population.parameters
        rates = np.clip(rng.beta(a + accepted, b + declined), _LEAST, 1.0 - _LEAST)
        progress((sweep + 1) / sweeps)
        if sweep in wanted:
            yield Draw(rates, population.mean, population.concentration)


def _complete(evidence: Evidence, rates: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw who declined the games of which that is not known; returns the counts of all answers."""
    one, other = evidence.one, evidence.other
    if not len(one):
        return evidence.accepted, evidence.declined
    refusal, other_refusal = 1.0 - rates[one], 1.0 - rates[other]
    # Not played: both declined, or the first one alone, or the other one alone, in this order.
    drawn = rng.random(len(one)) * (1.0 - (1.0 - refusal) * (1.0 - other_refusal))
    by_one = drawn < refusal
    by_other = ~by_one | (drawn < refusal * other_refusal)
    players = len(rates)
    declined = np.bincount(one, by_one, players) + np.bincount(other, by_other, players)
    accepted = np.bincount(one, ~by_one, players) + np.bincount(other, ~by_other, players)
    return evidence.accepted + accepted, evidence.declined + declined


class _Population:
    """The Beta distribution of all rates, moved by Metropolis steps with the rates summed out."""

    def __init__(self, rng: np.random.Generator, alike: bool) -> None:
        self._rng, self._reach, self._alike = rng, 0.3, alike
        self._place = np.array([0.0, np.log(5.0)])  # log odds of the mean, log of a + b

    @property
    def mean(self) -> float:
        return float(1.0 / (1.0 + np.exp(-self._place[0])))

    @property
    def concentration(self) -> float:
        return float(np.exp(self._place[1]))

    @property
    def parameters(self) -> tuple[float, float]:
        return self.mean * self.concentration, (1.0 - self.mean) * self.concentration

    def move(self, accepted: Floats, declined: Floats, adapt: bool) -> None:
        """Move a few times, given everybody's answers."""
        # Players with the same answers count together: there are far fewer of them.
        most = accepted.max() + 1.0
        codes, counts = np.unique(declined * most + accepted, return_counts=True)
        answers = np.stack([codes % most, codes // most])
        here = _log_density(self._place, answers, counts, self._alike)
        for _ in range(_HYPER_STEPS):
            place = self._place + self._reach * self._rng.standard_normal(2)
            there = _log_density(place, answers, counts, self._alike)
            taken = np.log(self._rng.random()) < there - here
            if taken:
                self._place, here = place, there
            if adapt:
                self._reach *= np.exp(0.1 * (float(taken) - _WANTED_ACCEPTANCE))


def _log_density(place: Floats, answers: Floats, counts: Places, alike: bool) -> float:
    """Return the logarithm of the posterior density of the population at a place."""
    from scipy.special import betaln  # slow to import

    mean, concentration = 1.0 / (1.0 + np.exp(-place[0])), np.exp(place[1])
    if not _MIN_CONCENTRATION < concentration < _MAX_CONCENTRATION:
        return -np.inf
    a, b = mean * concentration, (1.0 - mean) * concentration
    known = counts @ (betaln(a + answers[0], b + answers[1]) - betaln(a, b))
    beforehand = np.log(mean * (1.0 - mean))  # uniform in the mean, not in its log odds
    if not alike:
        beforehand -= 0.5 * np.log(1.0 + concentration)  # as the standard deviation
    return float(known + beforehand)
