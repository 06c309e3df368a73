"""What the page of a pool shows, from the views of the API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pairup.service.views import wilson

_MOST_POINTS = 32  # of the curve: fewer games a point than that show noise, not the course
_LEAST_GAMES = 10  # of a point
_MOST_DRAWN = 200  # players of the heat map
MOST_RATES = 1_000  # players whose rates the page shows
MOST_OPEN = 60  # games of the matching now that the page lists
MOST_COUPLES = 60  # couples that the page lists

_CANCELLED = {
    "declined": ("declined", "a player said no"),
    "timed_out": ("timed out", "a player said nothing in time"),
    "unstated": ("unstated", "cancelled, nobody said why"),
    "unreported": ("unreported", "expired; this pool counts that as cancelled"),
}
_FEEDBACK = {
    "late": ("late", "came after the game was over: stored, not learnt"),
    "repeated": ("twice", "said again what was known: no effect"),
    "contradicting": ("contradicting", "said otherwise than before: refused"),
    "missing": ("missing", "expired, and no report came so far"),
    "noted": ("added later", "answers that agree with the outcome"),
}


@dataclass(frozen=True)
class Bar:
    """A counter with its share of a whole."""

    name: str
    about: str
    count: int
    share: float


@dataclass(frozen=True)
class Point:
    """Some games of the course, one after the other."""

    first: int
    last: int
    played: int
    low: float
    share: float
    high: float
    random: float | None

    @property
    def middle(self) -> float:
        """Where it is drawn."""
        return (self.first + self.last) / 2


def cancellations(stats: dict[str, Any]) -> list[Bar]:
    """List the causes of cancellations with their shares."""
    return _bars(_CANCELLED, stats["games"]["cancelled"], sum(stats["games"]["cancelled"].values()))


def feedback(stats: dict[str, Any]) -> list[Bar]:
    """List what is odd about the reports, as shares of the games proposed."""
    return _bars(_FEEDBACK, stats["feedback"], stats["games"]["proposed"])


def _bars(names: dict[str, tuple[str, str]], counts: dict[str, int], whole: int) -> list[Bar]:
    return [
        Bar(name, about, counts[key], min(1.0, counts[key] / whole) if whole else 0.0)
        for key, (name, about) in names.items()
    ]


def points(course: dict[str, Any]) -> list[Point]:
    """Join buckets of the course until each point of the curve says something.

    Examples
    --------
    >>> bucket = {"games": 4, "played": 1, "random": 0.25}
    >>> joined = points({"width": 4, "buckets": [bucket | {"index": 4 * k} for k in range(5)]})
    >>> [(each.first, each.last, each.played, each.random) for each in joined]
    [(1, 12, 3, 0.25), (13, 20, 2, 0.25)]
    """
    buckets, width = course["buckets"], course["width"]
    size = max(-(-len(buckets) // _MOST_POINTS), -(-_LEAST_GAMES // width))
    groups = [buckets[start : start + size] for start in range(0, len(buckets), size)]
    if len(groups) > 1 and sum(each["games"] for each in groups[-1]) < size * width / 2:
        groups[-2:] = [groups[-2] + groups[-1]]  # a few games at the end would be all noise
    return [_point(group) for group in groups]


def _point(buckets: list[dict[str, Any]]) -> Point:
    games = sum(each["games"] for each in buckets)
    played = sum(each["played"] for each in buckets)
    told = [each for each in buckets if each["random"] is not None]
    known = sum(each["games"] for each in told)
    random = sum(each["random"] * each["games"] for each in told) / known if known else None
    share, first = wilson(played, games), buckets[0]["index"] + 1
    last = first + games - 1
    return Point(first, last, played, share["low"], share["estimate"], share["high"], random)


def verdict(stats: dict[str, Any]) -> str:
    """Say in a sentence how the pool fares."""
    ours, random = stats["played_share"], stats["random_share"]
    if ours is None or random is None:
        return "No game has been decided yet."
    if ours["low"] > random["high"]:
        return "More games are played than random pairing of these players would give."
    if ours["high"] < random["low"]:
        return "Fewer games are played than random pairing of these players would give."
    return "No difference from random pairing is shown so far: the intervals overlap."


def pause(players: int) -> int:
    """Return the least milliseconds between two looks at a pool: of a large one, they cost.

    Examples
    --------
    >>> pause(24), pause(5_000)
    (1000, 10000)
    """
    return max(1_000, 2 * players)


def charts(stats: dict[str, Any], learnt: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that the script draws."""
    found, rates = points(stats["course"]), learnt["players"][:MOST_RATES]
    drawn = rates[:_MOST_DRAWN]
    place = {each["player"]: x for x, each in enumerate(drawn)}
    couples = [
        [place[one], place[other], each["proposed"], each["played"]]
        for each in learnt["couples"]
        for one, other in [each["players"]]
        if one in place and other in place
    ]
    return {
        "course": {
            "games": [each.middle for each in found],
            **{
                name: [_round(getattr(each, name)) for each in found]
                for name in ("low", "share", "high", "random")
            },
        },
        "random": stats["random_share"] and _round(stats["random_share"]["estimate"]),
        "rates": {
            "players": [each["player"] for each in rates],
            **{name: [_round(each[name]) for each in rates] for name in ("rate", "low", "high")},
        },
        "couples": {"players": [each["player"] for each in drawn], "cells": couples},
    }


def _round(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
