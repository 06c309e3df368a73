"""The course of a pool: the share of games played over time, in points of a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pairup.service.analytics.comparison import wilson_interval
from pairup.service.api.schemas.insight import BucketView, Course

_MAX_POINTS = 24
_MIN_GAMES = 50  # per point: fewer show noise rather than the course


@dataclass(frozen=True)
class CoursePoint:
    """Some successive games of the course, drawn as one point."""

    first: int
    last: int
    played: int
    low: float
    share: float
    high: float
    random: float | None
    best: float | None

    @property
    def middle(self) -> float:
        """Number of games at which the point is drawn."""
        return (self.first + self.last) / 2


def course_points(course: Course) -> list[CoursePoint]:
    """Join buckets of the course until each point has games enough to mean something.

    Examples
    --------
    >>> share = {"estimate": 0.25, "low": 0.1, "high": 0.5}
    >>> bucket = {"games": 20, "played": 5, "share": share, "explored": 0, "expected": 0.25}
    >>> buckets = [bucket | {"index": 20 * k, "random": 0.25, "best": 0.5} for k in range(5)]
    >>> points = course_points(Course(width=20, buckets=buckets))
    >>> [(each.first, each.last, each.played, each.random, each.best) for each in points]
    [(1, 60, 15, 0.25, 0.5), (61, 100, 10, 0.25, 0.5)]
    """
    buckets, width = course.buckets, course.width
    games = sum(each.games for each in buckets)
    # With the square root of the games: more points as time goes by, each with a narrower interval.
    wanted = max(_MIN_GAMES, games / _MAX_POINTS, 5 * math.sqrt(games))
    size = math.ceil(wanted / width)
    groups = [buckets[start : start + size] for start in range(0, len(buckets), size)]
    if len(groups) > 1 and sum(each.games for each in groups[-1]) < size * width / 2:
        groups[-2:] = [groups[-2] + groups[-1]]  # a few games at the end would be noise alone
    return [_point(group) for group in groups]


def _point(buckets: Sequence[BucketView]) -> CoursePoint:
    games = sum(each.games for each in buckets)
    played = sum(each.played for each in buckets)
    share, first = wilson_interval(played, games), buckets[0].index + 1
    return CoursePoint(
        first,
        first + games - 1,
        played,
        share["low"],
        share["estimate"],
        share["high"],
        _mean(buckets, "random"),
        _mean(buckets, "best"),
    )


def _mean(buckets: Sequence[BucketView], name: Literal["random", "best"]) -> float | None:
    known = [(value, each.games) for each in buckets if (value := getattr(each, name)) is not None]
    games = sum(count for _, count in known)
    return sum(value * count for value, count in known) / games if games else None
