"""Forecasts: the chances of games, and what other pairings of the same players would give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.learning import Learner


class Forecast(NamedTuple):
    """Chances to be played of other pairings of the same players, by the estimates of the moment.

    All are None if there were no estimates.
    """

    random: float | None = None  # mean over all couples of the same players
    deviation: float | None = None  # of `random`, the pull of the first guesses included
    best: float | None = None  # mean in the best matching of the same players


def forecast_pairings(learner: Learner, met: Mapping[Any, int], players: Sequence[Any]) -> Forecast:
    """Estimate what random pairing of `players` would give, and the best matching.

    Nothing is known where the policy has no rates of its own: to fit them at every proposal would
    cost more than the proposal. `met` has the number of learnt outcomes of each player.
    """
    own = learner.rates(players)
    if len(own) < 2:
        return Forecast()
    rates = np.array([each.rate for each in own])
    outcomes = np.array([met[each.player] for each in own])
    deviations = np.array([each.deviation for each in own])
    random, slopes = mean_of_couples(rates)
    spread = slopes * np.maximum(deviations, min_deviation(rates, outcomes))
    # Estimates start at 1/2 and are still drawn there, all of them alike: as by two outcomes more.
    pull = slopes @ (2 * (rates - 0.5) / np.maximum(outcomes, 1))
    deviation = math.hypot(float(np.sqrt((spread**2).sum())), float(pull))
    return Forecast(random, deviation, best_pairing(rates))


def mean_of_couples(rates: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean chance of all couples, and its slopes by the players' rates."""
    total, couples = rates.sum(), len(rates) * (len(rates) - 1)
    mean = max(0.0, float((total**2 - (rates**2).sum()) / couples))
    return mean, 2 * (total - rates) / couples


def best_pairing(rates: NDArray[np.float64]) -> float:
    """Return the mean chance in the best matching of players with these rates, two or more.

    Neighbours in the order of the rates, the best first; an odd player, the last one, waits.

    Examples
    --------
    >>> best_pairing(np.array([0.5, 1.0, 0.2, 0.4, 1.0]))
    0.6
    """
    ordered = np.sort(rates)[::-1][: len(rates) // 2 * 2]
    return float((ordered[::2] * ordered[1::2]).mean())


def min_deviation(rates: Any, met: Any) -> Any:
    """Return the deviation of rates that so many answers show: of one rate, or of an array."""
    share = (rates * met + 1) / (met + 2)
    return np.sqrt(share * (1 - share) / (met + 3))
