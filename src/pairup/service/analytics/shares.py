"""Shares of games that were played, and how they compare with other ways to pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairup.service.domain.tally import Bucket

_Z = 1.959963984540054  # 95%
LEAST_GAMES = 100  # that a comparison is worth its words
_LEAST_ROOM = 0.02  # between random pairing and the best, that a part of it means something


def wilson(played: int, games: int) -> dict[str, float]:
    """Return a share with its 95% interval by Wilson's score.

    Examples
    --------
    >>> interval = wilson(8, 10)
    >>> round(interval["low"], 3), interval["estimate"], round(interval["high"], 3)
    (0.49, 0.8, 0.943)
    """
    share, spread = played / games, _Z * _Z / games
    middle = (share + spread / 2) / (1 + spread)
    reach = _Z * math.sqrt(share * (1 - share) / games + spread / (4 * games)) / (1 + spread)
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return {"estimate": share, "low": min(low, share), "high": max(high, share)}


@dataclass(frozen=True)
class Comparison:
    """What was played against what other pairings of the same players would have given.

    Over the latest half of the games with a forecast: that of the earlier ones rests on guesses
    about players who were new, which are 1/2, and would count as gain or loss.
    """

    games: int
    played: int
    random: float
    deviation: float  # of `random`
    best: float | None

    @property
    def gain(self) -> dict[str, float]:
        """Share played less that of random pairing, with its 95% interval.

        The distances of the two intervals' ends are added as squares (Newcombe's way); errors of
        `random` are taken as the same in all games, which is the worst that they can be.
        """
        share, doubt = wilson(self.played, self.games), _Z * self.deviation
        gain = share["estimate"] - self.random
        low = gain - math.hypot(share["estimate"] - share["low"], doubt)
        high = gain + math.hypot(share["high"] - share["estimate"], doubt)
        return {"estimate": gain, "low": max(-1.0, low), "high": min(1.0, high)}

    @property
    def of_the_way(self) -> float | None:
        """Part of the way from random pairing to the best; None while that says nothing."""
        room = 0.0 if self.best is None else self.best - self.random
        gain = self.gain
        unsure = gain["high"] - gain["low"] > room
        if self.games < LEAST_GAMES or room < _LEAST_ROOM or unsure:
            return None
        return gain["estimate"] / room

    def as_json(self) -> dict[str, Any]:
        """Return the comparison."""
        return {
            "games": self.games,
            "played": wilson(self.played, self.games),
            "random": self.random,
            "best": self.best,
            "gain": self.gain,
            "of_the_way": self.of_the_way,
        }


def compared(buckets: Sequence[Bucket]) -> Comparison | None:
    """Compare what was played with random pairing and the best; None without forecasts.

    Examples
    --------
    >>> early = Bucket(games=50, estimated=50, estimated_played=50, random=5.0)
    >>> late = Bucket(games=50, estimated=50, estimated_played=30, random=20.0)
    >>> found = compared([early, late])
    >>> found.games, found.played, found.random
    (50, 30, 0.4)
    """
    known = [each for each in buckets if each.mean_best is not None]
    known = known or [each for each in buckets if each.estimated]
    if not known:
        return None
    half = latest(known, sum(each.games for each in known) / 2)
    random, deviation = half.random / half.estimated, half.deviation / half.estimated
    return Comparison(half.estimated, half.estimated_played, random, deviation, half.mean_best)


def latest(buckets: Sequence[Bucket], least: float = LEAST_GAMES) -> Bucket:
    """Join the last buckets until they have so many games, or all of them."""
    whole = Bucket()
    for each in reversed(buckets):
        if whole.games >= least:
            break
        whole.absorb(each)
    return whole
