"""Estimates: what a policy has learnt about couples and players."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.learning.running_policy import RunningPolicy
from pairup.matching import Couple
from pairup.policies.couple_counts import CoupleCounts, Integers
from pairup.policies.deviation import CoupleDeviation

Names = Mapping[int, Hashable] | Sequence[Hashable]  # of the player in each slot


class CoupleEstimate(NamedTuple):
    """How often a couple was proposed with known outcome, and how often it played."""

    couple: Couple
    proposed: int
    played: int

    @property
    def rate(self) -> float:
        """Share of the proposals that were played."""
        return self.played / self.proposed


class PlayerEstimate(NamedTuple):
    """The estimated acceptance rate of a player."""

    player: Hashable
    rate: float
    deviation: float  # one standard deviation


def couple_estimates(
    counts: CoupleCounts, names: Names, limit: int | None = None
) -> list[CoupleEstimate]:
    """List at most `limit` of the couples with known outcomes, those proposed most often.

    The best rate comes first.
    """
    picked = np.arange(len(counts.low))
    if limit is not None and limit < len(picked):
        picked = np.sort(_tried_most(counts.tries, counts.games, limit))
    by_rate = np.argsort(-(counts.games[picked] / counts.tries[picked]), kind="stable")
    rows = zip(*(each[picked[by_rate]].tolist() for each in counts), strict=True)
    return [CoupleEstimate((names[i], names[j]), tries, games) for i, j, tries, games in rows]


def player_estimates(running: RunningPolicy, slots: Integers, names: Names) -> list[PlayerEstimate]:
    """List players with their estimated rates, the best first, if there are any."""
    estimated = running.player_rates(slots)
    if estimated is None:
        return []
    best_first = np.argsort(-estimated[0], kind="stable")
    columns = (each[best_first].tolist() for each in (slots, *estimated))
    return [
        PlayerEstimate(names[slot], rate, wide) for slot, rate, wide in zip(*columns, strict=True)
    ]


def couple_deviation(running: RunningPolicy, slots: Integers) -> CoupleDeviation | None:
    """Estimate how far the couples of players in some slots deviate from products of rates."""
    found, estimated = running.concentrations(), running.player_rates(slots)
    if found is None or estimated is None or len(slots) < 2:
        return None
    squares = estimated[0] ** 2
    mean, square = (_mean_of_couples(each) for each in (estimated[0], squares))
    return found.deviation(max(mean - square, 0.0))


def _mean_of_couples(values: NDArray[np.float64]) -> float:
    """Return the mean over all couples of the product of their players' values."""
    products = values.sum() ** 2 - (values**2).sum()
    return float(products) / (len(values) * (len(values) - 1))


def play_probabilities(
    running: RunningPolicy, one: Integers, other: Integers
) -> NDArray[np.float64] | None:
    """Estimate how likely couples are to play, given the slots of their players.

    The product of the players' rates if the policy estimates those. Otherwise, from p proposals
    of which g were played, (g + 1) / (p + 2), the mean under a uniform prior; None if the policy
    counts nothing. The result has the shape to which `one` and `other` broadcast.
    """
    if min(np.size(one), np.size(other)) > running.capacity:  # each player is in several couples
        everyone = running.player_rates(np.arange(running.capacity))
        if everyone is not None:
            return everyone[0][one] * everyone[0][other]
    ones, others = running.player_rates(one), running.player_rates(other)
    if ones is not None and others is not None:
        return ones[0] * others[0]
    counts = running.couple_counts(one, other)
    if counts is None:
        return None
    tries, games = counts
    return (games + 1) / (tries + 2)


def _tried_most(tries: Integers, games: Integers, count: int) -> Integers:
    """Pick what was tried most often; of what was tried equally often, what was played most."""
    if not count:
        return np.zeros(0, np.int64)
    least = np.partition(tries, len(tries) - count)[len(tries) - count]
    sure, rest = np.flatnonzero(tries > least), np.flatnonzero(tries == least)
    by_games = rest[np.argsort(-games[rest], kind="stable")]
    return np.concatenate([sure, by_games[: count - len(sure)]])
