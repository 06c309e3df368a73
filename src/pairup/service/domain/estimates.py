"""Estimates: rates of players with intervals, chances of games, and what pairings would give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.learning import Learner
from pairup.service.domain.counters import Forecast, Z

DECIMALS = 6  # of chances and rates: more would be stored, and mean nothing
Places = tuple[NDArray[np.int64], NDArray[np.int64]]  # of the players of couples


def forecast_pairings(
    learner: Learner,
    met: Mapping[Any, int],
    players: Sequence[Any],
    matching: Iterable[Sequence[Any]],
) -> Forecast:
    """Estimate what random pairing of `players` would give beside `matching`, and the best one.

    Nothing is known where the policy has no rates of its own: to fit them at every proposal would
    cost more than the proposal. `met` has the number of learnt outcomes of each player.
    """
    own = learner.rate_array(players)
    if own is None or len(players) < 2:
        return Forecast()
    rates, deviations = own
    outcomes = np.array([met[each] for each in players])
    place = {player: x for x, player in enumerate(players)}
    chosen = np.array([[place[a], place[b]] for a, b in matching], np.int64).reshape(-1, 2)
    random, slopes = mean_of_couples(rates)
    deviation = _deviation_of_gain(
        rates, deviations, outcomes, slopes, (chosen[:, 0], chosen[:, 1])
    )
    return Forecast(random, deviation, best_pairing(rates))


def _deviation_of_gain(
    rates: NDArray[np.float64],
    deviations: NDArray[np.float64],
    outcomes: NDArray[np.int64],
    slopes: NDArray[np.float64],
    chosen: Places,
) -> float:
    """Return the deviation of the mean chance of `chosen` couples less that of random pairing.

    `slopes` are those of random pairing. What all rates have in common cancels out; what is left of
    a player's error counts by how far its partner is from the others. Where all seem alike, that is
    nothing, and the product of two errors remains.
    """
    (one, other), couples = chosen, max(len(chosen[0]), 1)
    of_gain = -slopes
    of_gain[one] += rates[other] / couples
    of_gain[other] += rates[one] / couples
    wide = np.maximum(deviations, min_deviation(rates, outcomes))
    products = wide[one] * wide[other] / couples
    first = _deviation(rates, deviations, outcomes, of_gain)
    return math.hypot(first, float(np.sqrt((products**2).sum())))


def _deviation(
    rates: NDArray[np.float64],
    deviations: NDArray[np.float64],
    outcomes: NDArray[np.int64],
    slopes: NDArray[np.float64],
) -> float:
    """Return the deviation of a mean chance with these slopes by the rates."""
    spread = slopes * np.maximum(deviations, min_deviation(rates, outcomes))
    # Estimates start at 1/2 and are still drawn there, all of them alike: as by two outcomes more.
    pull = slopes @ (2 * (rates - 0.5) / np.maximum(outcomes, 1))
    return math.hypot(float(np.sqrt((spread**2).sum())), float(pull))


def forecast_on_graph(
    rates: NDArray[np.float64],
    deviations: NDArray[np.float64],
    outcomes: NDArray[np.int64],
    couples: Places,
    *,
    chosen: Places,
    random: float,
    best: float,
) -> Forecast:
    """Complete a forecast where only some `couples`, by places of players, may meet.

    Random pairing counts for the deviation as the mean over players of the mean over those whom
    each may meet.
    """
    (one, other), players = couples, len(rates)
    partners = np.maximum(np.bincount(np.concatenate(couples), minlength=players), 1)
    weights = 1.0 / partners[one] + 1.0 / partners[other]
    slopes = np.zeros(players)
    for these, those in ((one, other), (other, one)):
        slopes += np.bincount(these, weights * rates[those], minlength=players)
    slopes /= max(float(weights.sum()), 1e-300)
    deviation = _deviation_of_gain(rates, deviations, outcomes, slopes, chosen)
    return Forecast(random, deviation, best)


def compare_matchings(
    learner: Learner,
    met: Mapping[Any, int],
    matching: Sequence[Sequence[Any]],
    other: Sequence[Sequence[Any]],
) -> tuple[float, float] | None:
    """Estimate the games of the `other` of two matchings, and how well the difference is known.

    Returns the games expected of `other`, and the standard deviation of those of `matching` less
    those of `other`; None where the policy has no rates of its own. `met` is as in
    `forecast_pairings`. Errors of rates that both matchings share cancel: those of players with
    partners who are alike, and those of couples who are in both.
    """
    place = {player: x for x, player in enumerate(player for each in other for player in each)}
    own = learner.rate_array(place)
    if own is None:
        return None
    rates, outcomes = own[0], np.array([met[each] for each in place], np.int64)
    deviations = np.maximum(own[1], min_deviation(rates, outcomes))
    slopes, products, expected = np.zeros(len(place)), np.zeros(0), 0.0
    for sign, couples in ((1.0, matching), (-1.0, other)):
        one, two = np.array([[place[a], place[b]] for a, b in couples], np.int64).reshape(-1, 2).T
        slopes[one] += sign * rates[two]
        slopes[two] += sign * rates[one]
        products = np.append(products, deviations[one] * deviations[two])
        expected = float(rates[one] @ rates[two])
    first = _deviation(rates, deviations, outcomes, slopes)
    return expected, math.hypot(first, float(np.sqrt((products**2).sum())))


def rounded(estimate: float | None) -> float | None:
    """Return an estimate as it is stored."""
    return None if estimate is None else round(estimate, DECIMALS)


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
    """Return the deviation of rates after `met` answers: of one rate, or of an array."""
    share = (rates * met + 1) / (met + 2)
    return np.sqrt(share * (1 - share) / (met + 3))


_STEPS = 60


@dataclass(frozen=True)
class RateEstimate:
    """A player's estimated acceptance rate, with a deviation."""

    player: Any
    rate: float
    deviation: float

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of its 95% interval."""
        margin = Z * self.deviation
        return max(0.0, self.rate - margin), min(1.0, self.rate + margin)


def estimate_rates(learner: Learner, met: Mapping[Any, int]) -> list[RateEstimate]:
    """List every player's estimated acceptance rate, the best first.

    These are the policy's own estimates if it has any, with deviations no smaller than the number
    of outcomes allows. Otherwise they are the rates whose products fit the couples' shares best by
    moments: each player played as often as the partners' rates predict. A player without learnt
    outcomes, which `met` counts, has rate 1/2 and the deviation of a uniform draw.
    """
    own = learner.rates()
    if own:
        # As wide as if all outcomes had shown the player's answer, or wider: a policy may estimate
        # deviations from few draws, and after a single one it sees no spread at all.
        least = [float(min_deviation(np.float64(rate), met[name])) for name, rate, _ in own]
        return [
            RateEstimate(each.player, each.rate, max(each.deviation, low))
            for each, low in zip(own, least, strict=True)
        ]
    players: list[Any] = list(learner.players)
    place = {player: x for x, player in enumerate(players)}
    tries, games = np.zeros((2, len(players), len(players)))
    for (one, other), proposed, played in learner.estimates():
        x, y = place[one], place[other]
        tries[x, y] = tries[y, x] = proposed
        games[x, y] = games[y, x] = played
    rates, deviations = _fit(tries, games)
    found = map(RateEstimate, players, rates.tolist(), deviations.tolist())
    return sorted(found, key=lambda each: -each.rate)


def _fit(
    tries: NDArray[np.float64], games: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rates r with sum_j games[i, j] = r[i] sum_j tries[i, j] r[j], and deviations."""
    met, played = tries.sum(axis=1), games.sum(axis=1)
    rates = np.full(len(met), 0.5)
    for _ in range(_STEPS):
        expected = tries @ rates
        fitted = np.divide(played, expected, out=np.full(len(met), 0.5), where=expected > 0)
        # Half way and in logarithms: with whole steps, two players who only meet swap endlessly.
        rates = np.sqrt(np.maximum(rates, 1e-9) * np.clip(fitted, 0.0, 1.0))
    partners = np.divide(tries @ rates, met, out=np.ones(len(met)), where=met > 0)
    share = (played + 1) / (met + 2)
    spread = np.sqrt(share * (1 - share) / (met + 3)) / np.maximum(partners, 0.05)
    unmet = met == 0
    rates[unmet] = 0.5
    return rates, np.where(unmet, math.sqrt(1 / 12), np.minimum(spread, math.sqrt(1 / 12)))


def estimate_random_pairing(rates: Sequence[RateEstimate]) -> dict[str, float] | None:
    """Estimate the chance that a couple drawn at random plays, with its 95% interval.

    It is the mean of r[i] r[j] over all couples, a polynomial of the rates; its deviation follows
    to first order from theirs, taken as independent.
    """
    if len(rates) < 2:
        return None
    mean, slopes = mean_of_couples(np.array([each.rate for each in rates]))
    deviations = np.array([each.deviation for each in rates])
    spread = Z * float(np.sqrt(((slopes * deviations) ** 2).sum()))
    return {"estimate": mean, "low": max(0.0, mean - spread), "high": min(1.0, mean + spread)}
