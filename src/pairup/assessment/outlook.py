"""The outlook: what matching players by their rates would bring, and to whom.

Shares are of proposed games that are played. Random pairing gives the mean product of two rates;
the best matching pairs the player with the highest rate with the second, the third with the fourth,
and so on. The gain is the difference.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.assessment.posterior import Draw
from pairup.intervals import LEVEL

Floats = NDArray[np.float64]

POOL_SIZES = (10, 100, 1_000)
FLOORS = (0.0, 0.5, 0.75)
TENTHS = 10
_SAMPLED_PLAYERS = 4_000  # in all pools of one size that are drawn with one draw of the rates
_POOL_PLAYERS = 100  # of the pools that are played
_MATCHED_POOLS = 40  # in which rates are known
_FLOOR_ROUNDS = 20
_LEARNING_POOLS = 4
_LEARNING_ROUNDS = 400
_WINDOW = 20  # rounds over which a share is averaged
_MOST_OF_IT = 0.8  # of the gain


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class PoolOutlook:
    """Shares of games that are played in pools of one size."""

    players: int
    random: Interval
    best: Interval
    gain: Interval


@dataclass(frozen=True)
class FloorOutlook:
    """What matching gives where rates are known and each player is promised a share of its games.

    Tenths are those of the players, the lowest rates first: chance of a game in a round, less the
    chance under random pairing.
    """

    floor: float
    played: Interval
    gain: Interval
    tenths: tuple[Interval, ...]


@dataclass(frozen=True)
class LearningOutlook:
    """How a pool without any knowledge of its players comes from random pairing to the best."""

    players: int
    churn: float  # probability that a player leaves in a round
    rounds: int | None  # until most of the gain; None if that takes longer than was simulated
    simulated: int
    reached: float  # share of the gain in the second half of them


def pair_at_random(rates: Floats) -> Any:
    """Return the share of games that random pairing gives, at the end of the last axis.

    Examples
    --------
    >>> round(float(pair_at_random(np.array([1.0, 1.0, 0.0, 0.0]))), 3)
    0.167
    """
    count = rates.shape[-1]
    total, squares = rates.sum(axis=-1), (rates**2).sum(axis=-1)
    return (total**2 - squares) / (count * (count - 1.0))


def pair_best(rates: Floats) -> Any:
    """Return the share of games that the best matching gives, along the last axis.

    Of an odd number of players the one with the lowest rate is left out.

    Examples
    --------
    >>> float(pair_best(np.array([1.0, 0.0, 1.0, 0.0])))
    0.5
    """
    ordered = -np.sort(-rates, axis=-1)
    even = ordered.shape[-1] // 2 * 2
    return (ordered[..., 0:even:2] * ordered[..., 1:even:2]).mean(axis=-1)


def interval_of(draws: Sequence[float] | Floats) -> Interval:
    """Return the mean of draws, and the quantiles between which it lies with probability 0.95."""
    # This kind of quantile covers on average what it says, however few the draws are.
    ends = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="weibull")
    return Interval(float(np.mean(draws)), float(ends[0]), float(ends[1]))


class PoolSampler:
    """Pools of one size, drawn from the players of a history or like them.

    Parameters
    ----------
    size
        Players of a pool; None: all of the history.
    rng
        Source of random numbers.
    """

    def __init__(self, size: int | None, rng: np.random.Generator) -> None:
        self._size, self._rng, self._players = size, rng, size or 0
        self._random, self._best = list[float](), list[float]()

    def add(self, draw: Draw) -> None:
        """Pair pools with the rates of a draw."""
        rates = draw.rates if self._size is None else _pools_like(draw, self._size, self._rng)
        self._players = rates.shape[-1]
        self._random.append(float(np.mean(pair_at_random(rates))))
        self._best.append(float(np.mean(pair_best(rates))))

    def finish(self) -> PoolOutlook:
        """Return what pairing would give."""
        gain = np.subtract(self._best, self._random)
        shares = interval_of(self._random), interval_of(self._best)
        return PoolOutlook(self._players, *shares, interval_of(gain))


def _pools_like(draw: Draw, size: int, rng: np.random.Generator) -> Floats:
    """Draw pools from the players, or if they are too few, from their population."""
    pools, known = max(_SAMPLED_PLAYERS // size, 1), len(draw.rates)
    if size * 2 <= known:
        together = min(known // size, pools)  # of different players
        picked = [
            rng.choice(draw.rates, (together, size), replace=False)
            for _ in range(math.ceil(pools / together))
        ]
        return np.concatenate(picked)
    return rng.beta(*_parameters(draw), (pools, size))


def _parameters(draw: Draw) -> tuple[float, float]:
    return draw.mean * draw.concentration, (1.0 - draw.mean) * draw.concentration


def sample_pool(draw: Draw, rng: np.random.Generator) -> Draw:
    """Return the draw with an even number of its players, at most 100, the lowest rates first."""
    size = min(len(draw.rates) // 2 * 2, _POOL_PLAYERS)
    return draw._replace(rates=np.sort(rng.choice(draw.rates, size, replace=False)))


def expect_floors(pools: Sequence[Draw]) -> tuple[FloorOutlook, ...]:
    """Match pools from `sample_pool`, whose rates are known, by each floor."""
    pools = pools[:: max(len(pools) // _MATCHED_POOLS, 1)]
    found = []
    for floor in FLOORS:
        chances = np.array([_matched_chances(each.rates, floor) for each in pools])
        beyond = chances - np.array([_random_chances(each.rates) for each in pools])
        parts = np.array_split(beyond, min(TENTHS, beyond.shape[1]), axis=1)
        found.append(
            FloorOutlook(
                floor=floor,
                played=interval_of(chances.mean(axis=1)),
                gain=interval_of(beyond.mean(axis=1)),
                tenths=tuple(interval_of(part.mean(axis=1)) for part in parts),
            )
        )
    return tuple(found)


def _random_chances(rates: Floats) -> Floats:
    return rates * (rates.sum() - rates) / (len(rates) - 1)


def _matched_chances(rates: Floats, floor: float) -> Floats:
    """Return each player's mean chance of a game in a round, of ascending rates."""
    if not floor:
        return np.repeat(rates.reshape(-1, 2).prod(axis=1), 2)
    from pairup.policies import Oracle

    learner = Oracle(rates=tuple(rates)).learner(range(len(rates)), floor=floor)
    mean = np.zeros(len(rates))
    for turn in range(2 * _FLOOR_ROUNDS):
        couples = np.array(learner.propose().couples, np.int64)
        if turn >= _FLOOR_ROUNDS:  # debts have come about
            mean[couples] += rates[couples].prod(axis=1, keepdims=True) / _FLOOR_ROUNDS
    return mean


def expect_learning(
    pools: Sequence[Draw], churn: float, told: bool, rng: np.random.Generator
) -> LearningOutlook:
    """Simulate how the default policy learns, from nothing, in pools like those of the history.

    Parameters
    ----------
    pools
        Pools from `sample_pool`, of which some are played.
    churn
        Probability that a player leaves in a round, and a new one comes.
    told
        Whether players' answers are told, or only which couples played.
    rng
        Source of random numbers.
    """
    some = pools[:: math.ceil(len(pools) / _LEARNING_POOLS)]
    runs = [_Live(each, rng).play(churn, told) for each in some]
    shares, random, best = np.mean(runs, axis=0)
    gained = (shares - random.mean()) / max(float(np.mean(best - random)), 1e-9)
    smooth = np.convolve(gained, np.full(_WINDOW, 1.0 / _WINDOW), "valid")
    enough = np.flatnonzero(smooth >= _MOST_OF_IT)
    return LearningOutlook(
        players=len(some[0].rates),
        churn=churn,
        rounds=int(enough[0]) + _WINDOW if len(enough) else None,
        simulated=_LEARNING_ROUNDS,
        reached=float(gained[_LEARNING_ROUNDS // 2 :].mean()),
    )


class _Live:
    """A pool in which a policy learns, with players who come and go."""

    def __init__(self, draw: Draw, rng: np.random.Generator) -> None:
        from pairup.policies import RankOneThompson

        self._draw, self._rates, self._rng = draw, draw.rates.copy(), rng
        policy = RankOneThompson(period=4, prior="learned")
        self._learner = policy.learner(range(len(self._rates)))
        self._names = list(range(len(self._rates)))

    def play(self, churn: float, told: bool) -> Floats:
        """Play rounds; returns for each the expected share, and those at random and at best."""
        found = np.empty((3, _LEARNING_ROUNDS))
        for round in range(_LEARNING_ROUNDS):
            pairings = pair_at_random(self._rates), pair_best(self._rates)
            found[:, round] = self._play_round(told), *pairings
            self._replace(churn)
        return found

    def _play_round(self, told: bool) -> float:
        place = {name: x for x, name in enumerate(self._names)}
        matching = self._learner.propose()
        accepts = self._rng.random(len(self._rates)) < self._rates
        couples = np.array([(place[one], place[other]) for one, other in matching.couples])
        if told:
            answers: dict[Hashable, bool] = {name: bool(accepts[x]) for name, x in place.items()}
            self._learner.observe(matching.couples, accepted=answers)
        else:
            self._learner.observe(matching.couples, accepts[couples].all(axis=1).tolist())
        return float(self._rates[couples].prod(axis=1).mean())

    def _replace(self, churn: float) -> None:
        for x in np.flatnonzero(self._rng.random(len(self._rates)) < churn):
            self._learner.leave(self._names[x])
            self._names[x] = max(self._names) + 1
            self._learner.join(self._names[x])
            self._rates[x] = self._rng.beta(*_parameters(self._draw))
