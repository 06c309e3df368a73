"""What a pool counts of itself, in room that does not grow."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

_MOST_BUCKETS = 128


@dataclass
class Bucket:
    """Games decided one after the other: how many, how many were played, and what was expected."""

    games: int = 0
    played: int = 0
    expected: float = 0.0  # sum of the estimated chances, where there were any
    estimated: int = 0  # games with an estimated chance
    random: float = 0.0  # sum of the chances of couples drawn at random instead

    def add(self, played: bool, chance: float | None, random: float | None) -> None:
        """Count a game."""
        self.games += 1
        self.played += played
        if chance is not None and random is not None:
            self.estimated += 1
            self.expected += chance
            self.random += random

    def absorb(self, other: Bucket) -> None:
        """Add another bucket to this one."""
        self.games += other.games
        self.played += other.played
        self.expected += other.expected
        self.estimated += other.estimated
        self.random += other.random


@dataclass
class Tally:
    """Counters of a pool since it was made."""

    matchings: int = 0
    proposed: int = 0
    explored: int = 0
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

    def decide(self, played: bool, chance: float | None, random: float | None) -> None:
        """Count a game in the course of things; where room runs out, two buckets become one."""
        if not self.buckets or self.buckets[-1].games >= self.width:
            if len(self.buckets) == _MOST_BUCKETS:
                self._halve()
            self.buckets.append(Bucket())
        self.buckets[-1].add(played, chance, random)

    def _halve(self) -> None:
        pairs = zip(self.buckets[::2], self.buckets[1::2], strict=True)
        halved = []
        for one, other in pairs:
            one.absorb(other)
            halved.append(one)
        self.width, self.buckets = 2 * self.width, halved

    def as_json(self) -> dict[str, Any]:
        """Return all counters."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Tally:
        """Read counters back."""
        buckets = [Bucket(**bucket) for bucket in stored["buckets"]]
        return cls(**{**stored, "buckets": buckets})


def count(counters: dict[str, int], what: str, times: int = 1) -> None:
    """Add to a counter."""
    counters[what] = counters.get(what, 0) + times
