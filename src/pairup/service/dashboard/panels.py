"""Panels of a pool's page: bars that count, and rows that list games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pairup.service.api.schemas.insight import StatsView
from pairup.service.dashboard import sentences
from pairup.service.domain.event_views import Name
from pairup.service.domain.events import SECOND, Moment, format_moment
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


@dataclass(frozen=True)
class GameRow:
    """A game of the current matching, or of the last one."""

    players: tuple[str, str]
    chance: float | None
    answers: Mapping[str, str]
    state: str
    left: float | None  # seconds until an open game expires
    expires_at: str


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


def game_rows(pool: Pool, latest: Sequence[GameRecord], name: Name, now: Moment) -> list[GameRow]:
    """List the open games of earlier matchings, then all games of the latest matching."""
    opened = pool.games.values()
    earlier = [game.record for game in opened if game.key.matching != pool.matching]
    return [_row(each, pool, name, now) for each in [*earlier, *latest][:MAX_GAMES]]


def _row(game: GameRecord, pool: Pool, name: Name, now: Moment) -> GameRow:
    why = f" ({game.cause.replace('_', ' ')})" if game.cause and game.state == "cancelled" else ""
    one, other = map(name, game.players)
    return GameRow(
        players=(one, other),
        chance=game.chance,
        answers=views.answers(game.players, game.answers, name),
        state=game.state + why,
        left=max(0.0, (game.expires_at - now) / SECOND) if game.key in pool.games else None,
        expires_at=format_moment(game.expires_at),
    )


def reserved_rows(players: int) -> int:
    """Return how many rows of games have room, so that the page stays still between matchings.

    Examples
    --------
    >>> reserved_rows(24), reserved_rows(23), reserved_rows(25), reserved_rows(2)
    (12, 12, 12, 4)
    """
    return 4 * max(1, -(-(players // 2) // 4))
