"""Estimates: what a policy has learnt about couples and players."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.learning.running_policy import RunningPolicy
from pairup.matching import Couple

Integers = NDArray[np.int64]
Names = Mapping[int, Hashable]  # of the player in each slot


class Estimate(NamedTuple):
    """How often a couple was proposed with known outcome, and how often it played."""

    couple: Couple
    proposed: int
    played: int

    @property
    def rate(self) -> float:
        """Share of the proposals that were played."""
        return self.played / self.proposed


class Rate(NamedTuple):
    """The estimated acceptance rate of a player."""

    player: Hashable
    rate: float
    deviation: float  # one standard deviation


def couple_estimates(
    tries: Integers, games: Integers, names: Names, limit: int | None = None
) -> list[Estimate]:
    """List at most `limit` of the couples with known outcomes, those proposed most often.

    `tries` and `games`, how often each couple was proposed with known outcome and played, are upper
    triangles. The best rate comes first.
    """
    i, j = np.nonzero(tries)
    if limit is not None and limit < len(i):
        picked = np.sort(_tried_most(tries[i, j], games[i, j], limit))
        i, j = i[picked], j[picked]
    estimates = [
        Estimate((names[i], names[j]), int(tries[i, j]), int(games[i, j]))
        for i, j in zip(i.tolist(), j.tolist(), strict=True)
    ]
    return sorted(estimates, key=lambda estimate: estimate.rate, reverse=True)


def player_estimates(running: RunningPolicy, names: Names) -> list[Rate]:
    """List the players present with their estimated rates, the best first, if there are any."""
    estimated = running.player_rates
    if estimated is None:
        return []
    rates, deviations = estimated
    known = [Rate(names[i], float(rates[i]), float(deviations[i])) for i in running.present]
    return sorted(known, key=lambda rate: rate.rate, reverse=True)


def play_probabilities(
    running: RunningPolicy, one: Integers, other: Integers
) -> NDArray[np.float64] | None:
    """Estimate how likely couples are to play, given the slots of their players.

    The product of the players' rates if the policy estimates those. Otherwise, from p proposals
    of which g were played, (g + 1) / (p + 2), the mean under a uniform prior; None if the policy
    counts nothing. The result has the shape to which `one` and `other` broadcast.
    """
    estimated = running.player_rates
    if estimated is not None:
        rates, _ = estimated
        return rates[one] * rates[other]
    statistics = running.statistics
    if statistics is None:
        return None
    tries, games = (counts[one, other] + counts[other, one] for counts in statistics)
    return (games + 1) / (tries + 2)


def _tried_most(tries: Integers, games: Integers, count: int) -> Integers:
    """Pick what was tried most often; of what was tried equally often, what was played most."""
    if not count:
        return np.zeros(0, np.int64)
    least = np.partition(tries, len(tries) - count)[len(tries) - count]
    sure, rest = np.flatnonzero(tries > least), np.flatnonzero(tries == least)
    by_games = rest[np.argsort(-games[rest], kind="stable")]
    return np.concatenate([sure, by_games[: count - len(sure)]])
