"""Counters of a pool, in room that does not grow."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from pairup.service.domain.forecast import Forecast

_MAX_BUCKETS = 128


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
    deviation: float = 0.0  # of `random`
    best: float = 0.0  # chance in the best matching of the same players

    def add(self, played: bool, explored: bool, chance: float | None, forecast: Forecast) -> None:
        """Count a game, whose chance to be played was estimated if it is not None."""
        self.games += 1
        self.played += played
        self.explored += explored
        random, deviation, best = forecast
        if chance is None or random is None:
            return
        self.estimated += 1
        self.estimated_played += played
        self.expected += chance
        self.random += random
        self.deviation += deviation or 0.0
        self.best += best or 0.0

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
    width: int = 1  # games in a bucket
    buckets: list[Bucket] = field(default_factory=list)

    def decide(
        self, played: bool, explored: bool, chance: float | None, forecast: Forecast
    ) -> None:
        """Count a decided game; where room runs out, two buckets each are joined."""
        if not self.buckets or self.buckets[-1].games >= self.width:
            if len(self.buckets) == _MAX_BUCKETS:
                for one, other in zip(self.buckets[::2], self.buckets[1::2], strict=True):
                    one.absorb(other)
                self.width, self.buckets = 2 * self.width, self.buckets[::2]
            self.buckets.append(Bucket())
        self.buckets[-1].add(played, explored, chance, forecast)

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
