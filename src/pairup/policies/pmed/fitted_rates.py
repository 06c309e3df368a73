"""Fitted rates: the rates of players under which the counts of couples are most likely.

In the logarithms x of the rates, a couple that played g of t times adds g (x_i + x_j) + (t - g)
ln(1 - e^(x_i + x_j)) to the likelihood, which is concave: Newton's method finds its maximum. Half a
game that each player accepted alone and half a game that it declined are added, so that there is
exactly one maximum, and no rate is 0 or 1. They fix the scale between two sides as well, which
games do not show.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.problem.rates import Floats

_ALONE = 0.5  # games of each player alone, accepted and declined
_STEPS = 200
_CLOSE = 1e-9  # of what another step could gain in the logarithm of the likelihood
_ROUNDING = 1e-15  # of the likelihood, relative to the games


class FittedRates(NamedTuple):
    """The most likely rate of each player, and its standard deviation."""

    rates: Floats
    deviations: Floats


def fit_rates(tries: NDArray[np.int64], games: NDArray[np.int64]) -> FittedRates:
    """Find the most likely rate of each player.

    Parameters
    ----------
    tries, games
        How often each couple was proposed and played, in a row and a column for each player, as
        upper triangles.

    Examples
    --------
    >>> tries, games = np.triu(np.full((3, 3), 10_000), 1), np.zeros((3, 3), int)
    >>> games[0, 1], games[0, 2], games[1, 2] = 4_000, 1_600, 1_000
    >>> fit_rates(tries, games).rates.round(2)
    array([0.8, 0.5, 0.2])
    """
    played = (games + games.T).astype(np.float64)
    missed = tries + tries.T - played
    x, close = np.full(len(tries), np.log(0.5)), _CLOSE + _ROUNDING * float(tries.sum())
    for _ in range(_STEPS):
        gradient, hessian = _derivatives(x, played, missed)
        step = np.linalg.solve(hessian, gradient).astype(np.float64)
        gain = float(gradient @ step)
        if gain < close:
            break
        x = _walk(x, step, gain, played, missed)
    variances = np.diag(np.linalg.inv(hessian))
    return FittedRates(np.exp(x), np.exp(x) * np.sqrt(variances))


def _derivatives(x: Floats, played: Floats, missed: Floats) -> tuple[Floats, Floats]:
    """Return the slope of the log-likelihood, and its curvature with the sign turned."""
    rest, alone = -np.expm1(_sums(x)), -np.expm1(x)
    odds = missed * (1.0 - rest) / rest
    bend = odds / rest
    gradient = (played - odds).sum(axis=1) + _ALONE * (1.0 - (1.0 - alone) / alone)
    return gradient, bend + np.diag(bend.sum(axis=1) + _ALONE * (1.0 - alone) / alone**2)


def _likelihood(x: Floats, played: Floats, missed: Floats) -> float:
    if np.any(x >= 0):
        return -np.inf
    sums = _sums(x)
    couples = (played * sums + missed * np.log(-np.expm1(sums))).sum() / 2
    return float(couples + _ALONE * (x + np.log(-np.expm1(x))).sum())


def _sums(x: Floats) -> Floats:
    """Return x_i + x_j of all couples; on the diagonal, which is not used, any number below 0."""
    sums = x[:, None] + x
    np.fill_diagonal(sums, -1.0)
    return sums


def _walk(x: Floats, step: Floats, gain: float, played: Floats, missed: Floats) -> Floats:
    """Return the point along a step up to which the likelihood rises."""
    before, share = _likelihood(x, played, missed), 1.0
    while share > 1e-9:
        there = x + share * step
        if _likelihood(there, played, missed) >= before + 1e-4 * share * gain:
            return there
        share /= 2
    return x + step if gain < 1e-6 and np.all(x + step < 0) else x
