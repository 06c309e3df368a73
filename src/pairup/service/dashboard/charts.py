"""Charts of a pool: the numbers that the script draws, and the points of its course over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pairup.service.api.schemas.insight import BucketView, Course, EstimatesView, StatsView
from pairup.service.dashboard.tenths import Tenth
from pairup.service.domain.counters import wilson_interval

MAX_RATES = 1_000  # players whose rates a page shows
_MAX_MAPPED = 200  # players of the heat map
_MAX_POINTS = 24  # of the course
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
    first, share = buckets[0].index + 1, wilson_interval(played, games)
    interval = share["low"], share["estimate"], share["high"]
    references = _mean(buckets, "random"), _mean(buckets, "best")
    return CoursePoint(first, first + games - 1, played, *interval, *references)


def _mean(buckets: Sequence[BucketView], name: Literal["random", "best"]) -> float | None:
    known = [(value, each.games) for each in buckets if (value := getattr(each, name)) is not None]
    games = sum(count for _, count in known)
    return sum(value * count for value, count in known) / games if games else None


def chart_data(
    stats: StatsView,
    estimates: EstimatesView,
    points: Sequence[CoursePoint],
    *,
    tenths: Sequence[Tenth] = (),
    first: int = 1,
) -> dict[str, Any]:
    """Return the numbers that the script draws, with the rates from the `first` player on."""
    rates = estimates.players[first - 1 :][:MAX_RATES]
    mapped = [each.player for each in estimates.players[:_MAX_MAPPED]]
    return {
        "course": {
            "games": [each.middle for each in points],
            **_columns(points, ("low", "share", "high", "random", "best")),
        },
        "random": stats.random_share and _rounded(stats.random_share.estimate),
        "tenths": {
            "names": [each.name for each in tenths],
            **_columns(tenths, ("played", "random")),
        },
        "rates": {
            "first": first,
            "players": [each.player for each in rates],
            **_columns(rates, ("rate", "low", "high")),
        },
        "couples": {"players": mapped, "cells": _cells(estimates, mapped)},
    }


def first_of_page(first: int, players: int) -> int:
    """Return the number of the first player on the page of rates that has a player.

    Examples
    --------
    >>> [first_of_page(wanted, 2_500) for wanted in (1, 1_000, 1_001, 9_999)]
    [1, 1, 1001, 2001]
    """
    last = max(players - 1, 0)
    return min(first - 1, last) // MAX_RATES * MAX_RATES + 1


def _cells(estimates: EstimatesView, mapped: Sequence[str]) -> list[list[int]]:
    """List the couples of the heat map: the places of both, times proposed, times played."""
    place = {player: number for number, player in enumerate(mapped)}
    return [
        [place[one], place[other], each.proposed, each.played]
        for each in estimates.couples
        for one, other in [each.players]
        if one in place and other in place
    ]


def _columns(rows: Sequence[object], names: Sequence[str]) -> dict[str, list[float | None]]:
    return {name: [_rounded(getattr(row, name)) for row in rows] for name in names}


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
