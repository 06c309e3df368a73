"""Counters of a pool, in room that does not grow, and the comparison with other pairings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from pairup.intervals import normal_quantile, wilson_ends

_MAX_BUCKETS = 128


class Forecast(NamedTuple):
    """Chances to be played of other pairings of the same players, by the estimates of the moment.

    All are None if there were no estimates.
    """

    random: float | None = None  # mean over all couples of the same players
    deviation: float | None = None  # of what is expected less `random`, with first guesses' pull
    best: float | None = None  # mean in the best matching of the same players


@dataclass
class Bucket:
    """Games decided one after the other: how many, how many were played, and how many to expect."""

    games: int = 0
    played: int = 0
    explored: int = 0  # games of couples that were not in the leader
    estimated: int = 0  # games with a forecast; the sums below are over them
    estimated_played: int = 0
    expected: float = 0.0  # chance, by the estimates of the moment
    random: float = 0.0  # chance of couples drawn at random from the same players
    deviation: float = 0.0  # of `expected` less `random`
    best: float = 0.0  # chance in the best matching of the same players

    def absorb(self, other: Bucket) -> None:
        """Add another bucket to this one."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def mean(self, total: float) -> float | None:
        """Return the mean of a sum over the games with a forecast; None without any."""
        return total / self.estimated if self.estimated else None


@dataclass
class Counters:
    """Counters of a pool since it was created."""

    matchings: int = 0
    proposed: int = 0
    explored: int = 0
    reports: int = 0
    played: int = 0
    cancelled: dict[str, int] = field(default_factory=dict)  # by cause
    released: dict[str, int] = field(default_factory=dict)  # by cause
    expired: int = 0
    late: int = 0
    repeated: int = 0
    contradicting: int = 0
    noted: int = 0
    missing: int = 0
    learnt: int = 0
    unmatched: dict[str, int] = field(default_factory=dict)  # players who waited on, by cause
    worth: float = 0.0  # of the games proposed
    width: int = 1  # games in a bucket
    buckets: list[Bucket] = field(default_factory=list)

    def decide(self, games: Iterable[tuple[bool, bool, float | None, Forecast]]) -> None:
        """Count decided games: whether each was played and explored, its chance, and forecasts.

        Where room runs out, two buckets each are joined.
        """
        bucket = self.buckets[-1] if self.buckets else None
        for played, explored, chance, (random, deviation, best) in games:
            if bucket is None or bucket.games >= self.width:
                bucket = self._next_bucket()
            bucket.games += 1
            bucket.played += played
            bucket.explored += explored
            if chance is not None and random is not None:
                bucket.estimated += 1
                bucket.estimated_played += played
                bucket.expected += chance
                bucket.random += random
                bucket.deviation += deviation or 0.0
                bucket.best += best or 0.0

    def _next_bucket(self) -> Bucket:
        if len(self.buckets) == _MAX_BUCKETS:
            for one, other in zip(self.buckets[::2], self.buckets[1::2], strict=True):
                one.absorb(other)
            self.width, self.buckets = 2 * self.width, self.buckets[::2]
        self.buckets.append(Bucket())
        return self.buckets[-1]

    def as_json(self) -> dict[str, Any]:
        """Return all counters by name."""
        return {**vars(self), "buckets": [vars(bucket) for bucket in self.buckets]}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Counters:
        """Read counters back."""
        buckets = [Bucket(**bucket) for bucket in stored["buckets"]]
        return cls(**{**stored, "buckets": buckets})


def count(counters: dict[str, int], what: str, times: int = 1) -> None:
    """Add to a counter."""
    counters[what] = counters.get(what, 0) + times


Z = normal_quantile()
MIN_GAMES = 100  # for a comparison to say something
_MIN_ROOM = 0.02  # between random pairing and the best, for a part of it to mean something


def wilson_interval(played: int, games: int) -> dict[str, float]:
    """Return a share with its 95% interval by Wilson's score.

    Examples
    --------
    >>> interval = wilson_interval(8, 10)
    >>> round(interval["low"], 3), interval["estimate"], round(interval["high"], 3)
    (0.49, 0.8, 0.943)
    """
    share = played / games
    low, high = wilson_ends(share, games)
    return {"estimate": share, "low": float(low), "high": float(high)}


@dataclass(frozen=True)
class Comparison:
    """The games played, against what other pairings of the same players would have given.

    It covers the latest half of the games with a forecast: the forecasts of the earlier ones rest
    on the guess of 1/2 for new players, which would count as gain or loss.
    """

    games: int
    played: int
    expected: float
    random: float
    deviation: float  # of `expected` less `random`
    best: float

    @property
    def gain(self) -> dict[str, float]:
        """Share expected of what was proposed less that of random pairing, with its 95% interval.

        Both rest on the same rates, whose errors largely cancel, and the luck of the games is in
        neither. How far the games were from what was expected of them is added to the doubt, by
        squares. Errors are taken as the same in all games, which is the worst case. Where couples
        are not products of rates, `random` may be wrong although `expected` is right: that is not
        covered.
        """
        gain, missed = self.expected - self.random, self.played / self.games - self.expected
        doubt = math.hypot(Z * self.deviation, missed)
        return {
            "estimate": gain,
            "low": max(-1.0, gain - doubt),
            "high": min(1.0, gain + doubt),
        }

    @property
    def of_the_way(self) -> float | None:
        """Part of the way from random pairing to the best; None while that would say nothing."""
        room, gain = self.best - self.random, self.gain
        unsure = gain["high"] - gain["low"] > room
        if self.games < MIN_GAMES or room < _MIN_ROOM or unsure:
            return None
        return gain["estimate"] / room

    def as_json(self) -> dict[str, Any]:
        """Return the comparison."""
        return {
            "games": self.games,
            "played": wilson_interval(self.played, self.games),
            "expected": self.expected,
            "random": self.random,
            "best": self.best,
            "gain": self.gain,
            "of_the_way": self.of_the_way,
        }


def compare(buckets: Sequence[Bucket]) -> Comparison | None:
    """Compare what was played with random pairing and the best; None without forecasts.

    Examples
    --------
    >>> early = Bucket(games=50, estimated=50, estimated_played=50, random=5.0)
    >>> late = Bucket(games=50, estimated=50, estimated_played=30, random=20.0)
    >>> found = compare([early, late])
    >>> found.games, found.played, found.random
    (50, 30, 0.4)
    """
    known = [each for each in buckets if each.estimated]
    if not known:
        return None
    half = latest_games(known, sum(each.games for each in known) / 2)
    totals = (half.expected, half.random, half.deviation, half.best)
    means = (total / half.estimated for total in totals)
    return Comparison(half.estimated, half.estimated_played, *means)


def latest_games(buckets: Sequence[Bucket], least: float = MIN_GAMES) -> Bucket:
    """Join the last buckets until they have `least` games, or all of them."""
    whole = Bucket()
    for each in reversed(buckets):
        if whole.games >= least:
            break
        whole.absorb(each)
    return whole
