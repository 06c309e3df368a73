"""Panels of a pool's page: bars that count, and rows that list games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairup.service.api.schemas.insight import StatsView
from pairup.service.dashboard import sentences
from pairup.service.domain.event_views import Name
from pairup.service.domain.events import SECOND, Moment
from pairup.service.domain.games import GameRecord
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.pools import views

MAX_GAMES = 60  # games of the current matching that the page lists
MAX_COUPLES = 60  # couples that the page lists


@dataclass(frozen=True)
class CountBar:
    """A counter with its share of a whole."""

    name: str
    meaning: str
    count: int
    whole: int

    @property
    def share(self) -> float:
        """Part of the whole; 0 if there is nothing to be a part of."""
        return self.count / self.whole if self.whole else 0.0


def cancellation_bars(stats: StatsView, rules: Rules) -> list[CountBar]:
    """List the causes of cancellations with their shares."""
    counts = stats.games.cancelled
    causes = (
        ("declined", "a player declined", counts.declined),
        ("timed out", "a player did not answer in time", counts.timed_out),
        ("unstated", "cancelled without a stated cause", counts.unstated),
        ("unreported", sentences.unreported(rules), counts.unreported),
    )
    whole = sum(count for *_, count in causes)
    return [CountBar(*cause, whole) for cause in causes]


def feedback_bars(stats: StatsView) -> list[CountBar]:
    """List the reports that are out of the ordinary, as shares of what each is about."""
    counts, games, reports = stats.feedback, stats.games, stats.reports
    ended = games.expired + sum(games.released.model_dump().values())
    rows = (
        ("late", "stored, not learnt; of the {:,} games that ended undecided", counts.late, ended),
        ("repeated", "nothing new; of {:,} reports", counts.repeated, reports),
        ("contradicting", "refused; of {:,} reports", counts.contradicting, reports),
        ("missing", "none so far; of the {:,} games that expired", counts.missing, games.expired),
        ("added later", "answers that agree; of {:,} reports", counts.noted, reports),
    )
    return [CountBar(name, meaning.format(of), count, of) for name, meaning, count, of in rows]


def unmatched_bars(unmatched: Mapping[str, int]) -> list[CountBar]:
    """List why players stayed waiting, the most frequent cause first."""
    whole = sum(unmatched.values())
    causes = sorted(unmatched.items(), key=lambda each: -each[1])
    return [CountBar(cause, sentences.unmatched(cause), count, whole) for cause, count in causes]


def listed_games(
    pool: Pool, latest: Sequence[GameRecord], name: Name, now: Moment
) -> list[dict[str, Any]]:
    """Show the open games of earlier matchings, then all games of the latest matching.

    `left` is the time until an open game expires, in seconds; None if it is not open.
    """
    opened = pool.games.values()
    earlier = [game.record for game in opened if game.key.matching != pool.matching]
    return [
        {
            **views.game(each, pool.ids, name),
            "left": max(0, each.expires_at - now) / SECOND if each.key in pool.games else None,
        }
        for each in [*earlier, *latest][:MAX_GAMES]
    ]


def reserved_rows(players: int) -> int:
    """Return how many rows of games have room, so that the page stays still between matchings.

    Examples
    --------
    >>> reserved_rows(24), reserved_rows(23), reserved_rows(25), reserved_rows(2)
    (12, 12, 12, 4)
    """
    return 4 * max(1, -(-(players // 2) // 4))
