"""Records of matchings and games: the one projection of the log that outlives the games.

A pool keeps only its open games in memory; what became of the others is in the store. Records
follow from the log alone: `project` brings them up to the next event, for a request, for a pool
and for `verify` alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import (
    Answered,
    Decided,
    Event,
    Expired,
    Late,
    Noted,
    Proposed,
    Recorded,
    Released,
)
from pairup.service.domain.game_report import AnswerPair, Report
from pairup.service.domain.ids import GameKey
from pairup.service.domain.states import GameState

OPEN: GameState = "proposed"
_CHANGING = (Answered, Decided, Expired, Late, Noted, Released)  # events that change records


class MatchingRecord(NamedTuple):
    """A matching as it was proposed."""

    key: Moment
    expires_at: Moment
    waiting: list[int]  # players

    @classmethod
    def of(cls, event: Proposed) -> MatchingRecord:
        """Make the record of a matching from the event that proposed it."""
        return cls(event.matching, event.expires_at, event.waiting)


class GameRecord(NamedTuple):
    """A game, and all that is known of it."""

    key: GameKey
    players: tuple[int, int]
    chance: float | None
    expires_at: Moment
    state: GameState = OPEN
    played: bool | None = None  # as reported, in time or late
    cause: str | None = None
    answers: AnswerPair = (None, None)  # in the order of the players
    learnt: bool = False
    late: bool = False
    closed_at: Moment | None = None

    @property
    def known(self) -> Report:
        """What was reported about it."""
        return Report(self.played, self.answers)

    def decided(
        self, played: bool, cause: str | None, answers: AnswerPair, at: Moment
    ) -> GameRecord:
        """Return the record after it was learnt whether the game was played."""
        state: GameState = "played" if played else "cancelled"
        head = (self.key, self.players, self.chance, self.expires_at)
        return GameRecord(*head, state, played, cause, answers, True, self.late, at)


def opened_games(event: Proposed) -> list[GameRecord]:
    """List the records of the games that a matching opens, in its order."""
    matching, expires_at = event.matching, event.expires_at
    return [
        GameRecord(GameKey(matching, place), _pair(game["players"]), game["chance"], expires_at)
        for place, game in enumerate(event.games)
    ]


def changed_games(event: Event) -> list[GameKey]:
    """List the games whose records an event changes."""
    return [GameKey(*game) for game in event.games] if isinstance(event, _CHANGING) else []


def project(records: dict[GameKey, GameRecord], recorded: Recorded) -> None:
    """Bring records of games up to the next event, in place; those that it changes must be there.

    Examples
    --------
    >>> game = {"players": [1, 2], "chance": 0.5, "explores": False}
    >>> records = {}
    >>> project(records, Recorded.of(1, 7, Proposed(7, [game], [], None, [], 60, None, None, None)))
    >>> project(records, Recorded.of(2, 9, Released([[7, 0]], "left")))
    >>> records[7, 0].state, records[7, 0].cause, records[7, 0].closed_at
    ('released', 'left', 9)
    """
    event = recorded.event
    if isinstance(event, Proposed):
        records |= {game.key: game for game in opened_games(event)}
    if isinstance(event, Decided):
        _project_decided(records, event, recorded.at)
        return
    for key, changes in zip(changed_games(event), _changes(event, recorded.at), strict=True):
        records[key] = records[key]._replace(**changes)


def _project_decided(records: dict[GameKey, GameRecord], event: Decided, at: Moment) -> None:
    nothing = (None, None)
    rows = columns(changed_games(event), event.played, event.causes, event.answers)
    for key, played, cause, answers in rows:
        known = _pair(answers) if answers else nothing
        records[key] = records[key].decided(played, cause, known, at)


def _changes(event: Event, at: Moment) -> Iterator[dict[str, Any]]:
    """Yield what an event changes in the record of each of its games."""
    match event:
        case Answered() | Noted():
            for answers in event.answers:
                yield {"answers": _pair(answers)}
        case Late():
            for played, answers in columns(event.played, event.answers):
                yield {"late": True, "played": played, "answers": _pair(answers)}
        case Released():
            for _ in event.games:
                yield {"state": "released", "cause": event.cause, "closed_at": at}
        case Expired():
            learnt = event.counts_as == "cancelled"
            ended = {"state": "expired", "cause": "unreported", "learnt": learnt, "closed_at": at}
            for _ in event.games:
                yield ended


def columns(first: list[Any], *others: list[Any] | None) -> Iterator[tuple[Any, ...]]:
    """Yield rows of columns of the same length; a column that is None has nothing but None."""
    nothing: list[Any] = [None] * len(first)
    return zip(first, *(nothing if each is None else each for each in others), strict=True)


def _pair(both: Any) -> tuple[Any, Any]:
    one, other = both
    return one, other
