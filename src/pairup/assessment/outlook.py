"""The outlook: what matching players by their rates would bring, and to whom.

Shares are of proposed games that are played. Random pairing gives the mean product of two rates;
the best matching pairs the player with the highest rate with the second, the third with the fourth,
and so on. The gain is the difference.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
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
_LEARNING_PLAYERS = 100  # of the pools in which a policy learns
_LEARNING_ROUNDS = 400
_WINDOW = 20  # rounds over which a share is averaged
_MOST_OF_IT = 0.8  # of the gain
_MIN_PLAYERS = 4  # below that there is nothing to choose


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
class TenthOutlook:
    """What a tenth of the players, by their rates, gets: games per round, each by pairing."""

    rate: float
    random: float
    matched: Mapping[float, float]  # by floor


@dataclass(frozen=True)
class LearningOutlook:
    """How a pool without any knowledge of its players comes from random pairing to the best."""

    players: int
    churn: float  # probability that a player leaves in a round
    rounds: int | None  # until most of the gain; None if that takes longer than was simulated
    simulated: int
    tenths: tuple[TenthOutlook, ...]
    shares: Mapping[float, float]  # of games that are played in the end, by floor


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
    a, b = draw.mean * draw.concentration, (1.0 - draw.mean) * draw.concentration
    return rng.beta(a, b, (pools, size))


def expect_learning(
    draw: Draw, churn: float, told: bool, rng: np.random.Generator
) -> LearningOutlook:
    """Simulate how the default policy learns, from nothing, in a pool like those of the history.

    Parameters
    ----------
    draw
        A draw of the rates.
    churn
        Probability that a player leaves in a round, and a new one comes.
    told
        Whether players' answers are told, or only which couples played.
    rng
        Source of random numbers.
    """
    players = int(np.clip(len(draw.rates) // 2 * 2, _MIN_PLAYERS, _LEARNING_PLAYERS))
    rates = _pools_like(draw, players, rng)[0]
    seed = int(rng.integers(2**32))  # all floors meet the same players, who accept on the same days
    runs = {floor: _Live(draw, rates, floor, seed).play(churn, told) for floor in FLOORS}
    free = runs[0.0]
    enough = free.random + _MOST_OF_IT * (free.best - free.random)
    smooth = np.convolve(free.shares - enough, np.ones(_WINDOW), "valid")
    first = int(np.argmax(smooth >= 0)) + _WINDOW if (smooth >= 0).any() else None
    return LearningOutlook(
        players=players,
        churn=churn,
        rounds=first,
        simulated=_LEARNING_ROUNDS,
        tenths=_tenths(runs),
        shares={
            floor: float(run.shares[_LEARNING_ROUNDS // 2 :].mean()) for floor, run in runs.items()
        },
    )


@dataclass(frozen=True)
class _LiveRun:
    shares: Floats  # of each round
    random: float
    best: float
    seen: Floats  # rate of each player in each round of the second half
    got: Floats  # its chance of a game
    at_random: Floats


class _Live:
    """A pool in which a policy learns, with players who come and go."""

    def __init__(self, draw: Draw, rates: Floats, floor: float, seed: int) -> None:
        from pairup.policies import RankOneThompson

        self._draw, self._rates = draw, rates.copy()
        self._rng = np.random.default_rng(seed)
        policy = RankOneThompson(period=4, prior="learned")
        self._learner = policy.learner(range(len(rates)), floor=floor)
        self._names = list(range(len(rates)))

    def play(self, churn: float, told: bool) -> _LiveRun:
        """Play rounds, and note what players got in the second half of them."""
        shares, seen, got, at_random, best, random = [], [], [], [], [], []
        for round in range(_LEARNING_ROUNDS):
            chances = self._play_round(told)
            shares.append(chances.sum() / len(chances))
            random.append(pair_at_random(self._rates))
            best.append(pair_best(self._rates))
            if round >= _LEARNING_ROUNDS // 2:
                others = (self._rates.sum() - self._rates) / (len(self._rates) - 1)
                seen.append(self._rates.copy())
                got.append(chances)
                at_random.append(self._rates * others)
            self._replace(churn)
        return _LiveRun(
            np.array(shares),
            float(np.mean(random)),
            float(np.mean(best)),
            *(np.concatenate(each) for each in (seen, got, at_random)),
        )

    def _play_round(self, told: bool) -> Floats:
        place = {name: x for x, name in enumerate(self._names)}
        matching = self._learner.propose()
        accepts = self._rng.random(len(self._rates)) < self._rates
        chances, played = np.zeros(len(self._rates)), []
        for one, other in matching.couples:
            both = [place[one], place[other]]
            chances[both] = self._rates[both].prod()
            played.append(bool(accepts[both].all()))
        if told:
            answers: dict[Hashable, bool] = {name: bool(accepts[x]) for name, x in place.items()}
            self._learner.observe(matching.couples, accepted=answers)
        else:
            self._learner.observe(matching.couples, played)
        return chances

    def _replace(self, churn: float) -> None:
        draw = self._draw
        a, b = draw.mean * draw.concentration, (1.0 - draw.mean) * draw.concentration
        for x in np.flatnonzero(self._rng.random(len(self._rates)) < churn):
            self._learner.leave(self._names[x])
            self._names[x] = max(self._names) + 1
            self._learner.join(self._names[x])
            self._rates[x] = self._rng.beta(a, b)


def _tenths(runs: Mapping[float, _LiveRun]) -> tuple[TenthOutlook, ...]:
    """Compare the pairings for each tenth of the players by rate, the lowest first."""
    free = runs[0.0]
    edges = np.quantile(free.seen, np.linspace(0, 1, TENTHS + 1)[1:-1])
    places = {floor: np.searchsorted(edges, run.seen) for floor, run in runs.items()}
    return tuple(
        TenthOutlook(
            rate=float(free.seen[places[0.0] == tenth].mean()),
            random=float(free.at_random[places[0.0] == tenth].mean()),
            matched={
                floor: float(run.got[places[floor] == tenth].mean()) for floor, run in runs.items()
            },
        )
        for tenth in range(TENTHS)
        if all((places[floor] == tenth).any() for floor in runs)
    )
