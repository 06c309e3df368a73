"""Tenths of the players by acceptance rate: who gains over random pairing, and who pays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pairup.service.domain.counters import MIN_GAMES
from pairup.service.domain.estimates import estimate_rates
from pairup.service.domain.pool import Pool

_TENTHS = 10


@dataclass(frozen=True)
class Tenth:
    """Players with neighbouring rates, and what became of the games proposed to them."""

    number: int  # from 1, the lowest rates
    low: float  # rates of its players
    high: float
    players: int
    games: int  # with a known outcome; a game of two of its players counts twice
    played: float  # share of them
    random: float | None  # share that partners drawn at random would have given, if known

    @property
    def name(self) -> str:
        """The rates of its players."""
        return f"{self.number}: {self.low:.0%} to {self.high:.0%}"

    @property
    def gain(self) -> float | None:
        """Share played less that of random pairing."""
        return None if self.random is None else self.played - self.random


def tenths_of(pool: Pool) -> list[Tenth]:
    """Divide the players of a pool into tenths; none while games are too few to say anything."""
    estimated = estimate_rates(pool.learner, pool.players.met)[::-1]
    rates = np.array([each.rate for each in estimated], np.float64)
    tries, games = pool.learner.outcome_counts([each.player for each in estimated])
    if tries.sum() < 2 * MIN_GAMES:
        return []
    found = divide(rates, tries, games)
    if pool.rules.needs_graph:  # who could have met whom at the time is not kept
        return [replace(each, random=None) for each in found]
    return found


def divide(
    rates: NDArray[np.float64], tries: NDArray[np.int64], games: NDArray[np.int64]
) -> list[Tenth]:
    """Divide players into tenths, given their rates in ascending order.

    Parameters
    ----------
    rates
        Acceptance rates of at least two players, ascending.
    tries, games
        Number of each player's games with a known outcome, and of those that were played.

    Examples
    --------
    >>> low, high = divide(np.array([0.5, 1.0]), np.array([4, 4]), np.array([2, 2]))
    >>> low.name, low.games, low.played, low.random
    ('1: 50% to 50%', 4, 0.5, 0.5)
    """
    # As many proposals to each player, with partners drawn from all the others.
    random = rates * (rates.sum() - rates) / (len(rates) - 1)
    found = []
    parts = np.array_split(np.arange(len(rates)), min(_TENTHS, len(rates)))
    for number, places in enumerate(parts, 1):
        weights = tries[places]
        if weights.sum():
            mean = float(random[places] @ weights / weights.sum())
            share = float(games[places].sum() / weights.sum())
            ends = float(rates[places[0]]), float(rates[places[-1]])
            found.append(Tenth(number, *ends, len(places), int(weights.sum()), share, mean))
    return found
