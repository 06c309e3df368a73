"""What the page of a pool shows, from the views of the API."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pairup.service.analytics.shares import wilson
from pairup.service.dashboard import words
from pairup.service.domain.clock import SECOND, Moment, written
from pairup.service.domain.pool import Pool
from pairup.service.domain.records import GameRecord
from pairup.service.domain.rules import Rules

_MOST_POINTS = 24  # of the curve
_LEAST_GAMES = 50  # of a point: fewer show noise, not the course
_MOST_DRAWN = 200  # players of the heat map
MOST_RATES = 1_000  # players whose rates the page shows
MOST_OPEN = 60  # games of the matching now that the page lists
MAX_COUPLES = 60  # couples that the page lists

_CANCELLED = {
    "declined": ("declined", "a player said no"),
    "timed_out": ("timed out", "a player said nothing in time"),
    "unstated": ("unstated", "cancelled, nobody said why"),
}
_FEEDBACK = {
    "late": (
        "late",
        "stored, not learnt; of the {:,} games that ended without an outcome",
        "ended",
    ),
    "repeated": ("twice", "said again what was known; of {:,} reports", "reports"),
    "contradicting": ("contradicting", "refused; of {:,} reports", "reports"),
    "missing": ("missing", "no report came so far; of the {:,} games that expired", "expired"),
    "noted": ("added later", "answers that agree; of {:,} reports", "reports"),
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
    best: float | None

    @property
    def middle(self) -> float:
        """Where it is drawn."""
        return (self.first + self.last) / 2


@dataclass(frozen=True)
class Row:
    """A game of the matching now, or of the last one."""

    players: tuple[str, str]
    chance: float | None
    answers: dict[str, str]
    state: str
    left: float | None  # seconds, of an open game
    expires_at: str


def cancellations(stats: dict[str, Any], rules: Rules) -> list[Bar]:
    """List the causes of cancellations with their shares."""
    counts = stats["games"]["cancelled"]
    whole = sum(counts.values())
    about = _CANCELLED | {"unreported": ("unreported", words.unreported(rules))}
    return [_bar(name, what, counts[key], whole) for key, (name, what) in about.items()]


def feedback(stats: dict[str, Any]) -> list[Bar]:
    """List what is odd about the reports, as shares of what each is about."""
    games, counts = stats["games"], stats["feedback"]
    wholes = {
        "reports": stats["reports"],
        "expired": games["expired"],
        "ended": games["expired"] + sum(games["released"].values()),
    }
    return [
        _bar(name, about.format(wholes[whole]), counts[key], wholes[whole])
        for key, (name, about, whole) in _FEEDBACK.items()
    ]


def _bar(name: str, about: str, count: int, whole: int) -> Bar:
    return Bar(name, about, count, count / whole if whole else 0.0)


def matching(pool: Pool, latest: list[GameRecord], now: Moment) -> list[Row]:
    """List the open games of earlier matchings, then the latest matching whatever became of it."""
    earlier = [
        GameRecord(id, pool.id, game.matching, game.players, game.forecast.chance, game.expires_at)
        for id, game in pool.games.items()
        if game.matching != pool.matching
    ]
    return [_row(each, pool, now) for each in [*earlier, *latest][:MOST_OPEN]]


def _row(game: GameRecord, pool: Pool, now: Moment) -> Row:
    found = pool.games.get(game.id)
    answers = found.answers if found else (game.answers or {})
    why = f" ({game.cause.replace('_', ' ')})" if game.cause and game.state == "cancelled" else ""
    left = max(0.0, (game.expires_at - now) / SECOND) if found else None
    return Row(game.players, game.chance, answers, game.state + why, left, written(game.expires_at))


def room(players: int) -> int:
    """Return for how many games the page keeps room, lest it jumps whenever a matching ends.

    Examples
    --------
    >>> room(24), room(23), room(25), room(2)
    (12, 12, 12, 4)
    """
    return 4 * max(1, -(-(players // 2) // 4))


def points(course: dict[str, Any]) -> list[Point]:
    """Join buckets of the course until each point of the curve says something.

    Examples
    --------
    >>> bucket = {"games": 20, "played": 5, "random": 0.25, "best": 0.5}
    >>> joined = points({"width": 20, "buckets": [bucket | {"index": 20 * k} for k in range(5)]})
    >>> [(each.first, each.last, each.played, each.random, each.best) for each in joined]
    [(1, 60, 15, 0.25, 0.5), (61, 100, 10, 0.25, 0.5)]
    """
    buckets, width = course["buckets"], course["width"]
    games = sum(each["games"] for each in buckets)
    # With the root of the games: more points as time goes by, each with a narrower interval.
    wanted = max(_LEAST_GAMES, games / _MOST_POINTS, 5 * math.sqrt(games))
    size = math.ceil(wanted / width)
    groups = [buckets[start : start + size] for start in range(0, len(buckets), size)]
    if len(groups) > 1 and sum(each["games"] for each in groups[-1]) < size * width / 2:
        groups[-2:] = [groups[-2] + groups[-1]]  # a few games at the end would be all noise
    return [_point(group) for group in groups]


def _point(buckets: list[dict[str, Any]]) -> Point:
    games = sum(each["games"] for each in buckets)
    played = sum(each["played"] for each in buckets)
    random, best = _mean(buckets, "random"), _mean(buckets, "best")
    share, first = wilson(played, games), buckets[0]["index"] + 1
    last = first + games - 1
    return Point(first, last, played, share["low"], share["estimate"], share["high"], random, best)


def _mean(buckets: list[dict[str, Any]], name: str) -> float | None:
    told = [each for each in buckets if each[name] is not None]
    known = sum(each["games"] for each in told)
    return sum(each[name] * each["games"] for each in told) / known if known else None


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
                for name in ("low", "share", "high", "random", "best")
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
