"""What a learner knows, as numbers for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.learning import Learner, Rate

_TWO_SIDED = 1.959963984540054  # 95%
_STEPS = 60


@dataclass(frozen=True)
class PlayerRate:
    """A player's estimated acceptance rate, with a deviation."""

    player: str
    rate: float
    deviation: float

    @property
    def low(self) -> float:
        """Where its 95% interval begins."""
        return max(0.0, self.rate - _TWO_SIDED * self.deviation)

    @property
    def high(self) -> float:
        """Where its 95% interval ends."""
        return min(1.0, self.rate + _TWO_SIDED * self.deviation)

    def as_json(self) -> dict[str, Any]:
        """Return the estimate."""
        return {"player": self.player, "rate": self.rate, "low": self.low, "high": self.high}


def player_rates(learner: Learner, met: Mapping[str, int]) -> list[PlayerRate]:
    """List every player's estimated acceptance rate, the best first.

    The policy's own if it has any, at least as uncertain as its outcomes are few. Otherwise the
    rates whose products fit the couples' shares best by moments: each player played as often as its
    partners' rates let expect. A player without outcomes is anywhere: rate 1/2, deviation that of a
    uniform draw. `met` says how many outcomes of each player were learnt.
    """
    own = learner.rates()
    if own:
        return [_no_surer(each, met[str(each.player)]) for each in own]
    players = [str(player) for player in learner.players]
    place = {player: x for x, player in enumerate(players)}
    tries, games = np.zeros((2, len(players), len(players)))
    for (one, other), proposed, played in learner.estimates():
        x, y = place[str(one)], place[str(other)]
        tries[x, y] = tries[y, x] = proposed
        games[x, y] = games[y, x] = played
    rates, deviations = _fitted(tries, games)
    found = map(PlayerRate, players, rates.tolist(), deviations.tolist())
    return sorted(found, key=lambda each: -each.rate)


def _no_surer(told: Rate, met: int) -> PlayerRate:
    """Take a rate whose deviation is no less than if all outcomes had shown the player's answer.

    A policy may estimate deviations from few draws; after one of them it sees no spread at all.
    """
    least = float(_least_deviation(np.float64(told.rate), met))
    return PlayerRate(str(told.player), told.rate, max(told.deviation, least))


def _least_deviation(rates: Any, met: Any) -> Any:
    """Return the deviation of rates that as many answers show: of one, or of an array of them."""
    share = (rates * met + 1) / (met + 2)
    return np.sqrt(share * (1 - share) / (met + 3))


def _fitted(
    tries: NDArray[np.float64], games: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rates r with sum_j games[i, j] = r[i] sum_j tries[i, j] r[j], and deviations."""
    met, played = tries.sum(axis=1), games.sum(axis=1)
    rates = np.full(len(met), 0.5)
    for _ in range(_STEPS):
        expected = tries @ rates
        fitted = np.divide(played, expected, out=np.full(len(met), 0.5), where=expected > 0)
        # Half way and in logarithms: whole steps of two players who only meet swap for ever.
        rates = np.sqrt(np.maximum(rates, 1e-9) * np.clip(fitted, 0.0, 1.0))
    partners = np.divide(tries @ rates, met, out=np.ones(len(met)), where=met > 0)
    share = (played + 1) / (met + 2)
    spread = np.sqrt(share * (1 - share) / (met + 3)) / np.maximum(partners, 0.05)
    unmet = met == 0
    rates[unmet] = 0.5
    return rates, np.where(unmet, math.sqrt(1 / 12), np.minimum(spread, math.sqrt(1 / 12)))


@dataclass(frozen=True)
class Chance:
    """An estimated chance with its 95% interval."""

    estimate: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """Return the chance."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


def random_pairing(rates: Sequence[PlayerRate]) -> Chance | None:
    """Estimate the chance that a couple drawn at random plays.

    The mean of r[i] r[j] over all couples, a polynomial of the rates; its deviation follows from
    theirs to first order, taken as independent.
    """
    if len(rates) < 2:
        return None
    mean, slopes = _at_random(np.array([each.rate for each in rates]))
    deviations = np.array([each.deviation for each in rates])
    spread = _TWO_SIDED * float(np.sqrt(((slopes * deviations) ** 2).sum()))
    return Chance(mean, max(0.0, mean - spread), min(1.0, mean + spread))


def _at_random(rates: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
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
    ordered = np.sort(rates)[::-1]
    even = len(ordered) // 2 * 2
    return float((ordered[0:even:2] * ordered[1:even:2]).mean())


@dataclass(frozen=True)
class Pairings:
    """What ways to pair some players would give, as a mean chance of a couple to play."""

    random: float | None = None
    deviation: float | None = None  # of `random`, the pull of what is guessed at first included
    best: float | None = None


def pairings(learner: Learner, met: Mapping[str, int], players: Sequence[str]) -> Pairings:
    """Estimate what random pairing of `players` would give, and the best matching.

    None where the policy has no rates of its own: to fit them at every proposal would cost more
    than the proposal.
    """
    present = set(players)
    own = [each for each in learner.rates() if each.player in present]
    if len(own) < 2:
        return Pairings()
    rates = np.array([each.rate for each in own])
    outcomes = np.array([met[str(each.player)] for each in own])
    deviations = np.array([each.deviation for each in own])
    random, slopes = _at_random(rates)
    spread = slopes * np.maximum(deviations, _least_deviation(rates, outcomes))
    # Estimates start at 1/2 and are still drawn there, all of them alike: as by two outcomes more.
    pull = slopes @ (2 * (rates - 0.5) / np.maximum(outcomes, 1))
    deviation = math.hypot(float(np.sqrt((spread**2).sum())), float(pull))
    return Pairings(random, deviation, best_pairing(rates))
