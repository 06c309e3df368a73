"""Comparison: the share of games that were played, against other ways to pair the players."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairup.intervals import normal_quantile, wilson_ends
from pairup.service.domain.counters import Bucket

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
    random: float
    deviation: float  # of `random`
    best: float

    @property
    def gain(self) -> dict[str, float]:
        """Share played less that of random pairing, with its 95% interval.

        The squared distances of the two intervals' ends are added (Newcombe's method); errors of
        `random` are taken as the same in all games, which is the worst case.
        """
        share, doubt = wilson_interval(self.played, self.games), Z * self.deviation
        gain = share["estimate"] - self.random
        low = gain - math.hypot(share["estimate"] - share["low"], doubt)
        high = gain + math.hypot(share["high"] - share["estimate"], doubt)
        return {"estimate": gain, "low": max(-1.0, low), "high": min(1.0, high)}

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
    means = (total / half.estimated for total in (half.random, half.deviation, half.best))
    return Comparison(half.estimated, half.estimated_played, *means)


def latest_games(buckets: Sequence[Bucket], least: float = MIN_GAMES) -> Bucket:
    """Join the last buckets until they have `least` games, or all of them."""
    whole = Bucket()
    for each in reversed(buckets):
        if whole.games >= least:
            break
        whole.absorb(each)
    return whole
