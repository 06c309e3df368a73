"""Records of matchings and games: the one projection of the log that outlives the games.

A pool keeps only its open games in memory; what became of the others is in the store. Records
follow from the log alone: `project` brings them up to the next event, for a request, for a pool
and for `verify` alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import (
    Answered,
    Decided,
    Event,
    Expired,
    GamesDecided,
    Late,
    Noted,
    Proposed,
    Recorded,
    Released,
)
from pairup.service.domain.game_report import Report
from pairup.service.domain.states import Answer, GameState

OPEN: GameState = "proposed"


class MatchingRecord(NamedTuple):
    """A matching as it was proposed."""

    id: str
    pool_id: str
    at: Moment
    expires_at: Moment
    waiting: list[str]

    @classmethod
    def of(cls, pool_id: str, recorded: Recorded) -> MatchingRecord:
        """Make the record of a matching from the event that proposed it."""
        event = recorded.event
        assert isinstance(event, Proposed)
        return cls(event.matching, pool_id, recorded.at, event.expires_at, event.waiting)


class GameRecord(NamedTuple):
    """A game, and all that is known of it."""

    id: str
    pool_id: str
    matching_id: str
    players: tuple[str, str]
    chance: float | None
    expires_at: Moment
    state: GameState = OPEN
    played: bool | None = None  # as reported, in time or late
    cause: str | None = None
    answers: dict[str, Answer] = {}  # noqa: RUF012 - never changed in place
    learnt: bool = False
    late: bool = False
    closed_at: Moment | None = None

    @property
    def known(self) -> Report:
        """What was reported about it."""
        return Report(self.played, self.answers)

    def after(self, event: Event, at: Moment) -> GameRecord:
        """Return the record after the next event about this game."""
        match event:
            case Answered() | Noted():
                return self._replace(answers=event.answers)
            case Decided():
                return self.decided(event.played, event.cause, event.answers, at)
            case Late():
                return self._replace(late=True, played=event.played, answers=event.answers)
            case Released():
                return self._replace(state="released", cause=event.cause, closed_at=at)
            case Expired():
                learnt = event.counts_as == "cancelled"
                return self._replace(
                    state="expired", cause="unreported", learnt=learnt, closed_at=at
                )
        return self

    def decided(
        self, played: bool, cause: str | None, answers: dict[str, Answer], at: Moment
    ) -> GameRecord:
        """Return the record after it was learnt whether the game was played."""
        state: GameState = "played" if played else "cancelled"
        return GameRecord(
            self.id,
            self.pool_id,
            self.matching_id,
            self.players,
            self.chance,
            self.expires_at,
            state,
            played,
            cause,
            answers,
            learnt=True,
            late=self.late,
            closed_at=at,
        )


def opened_games(pool_id: str, event: Proposed) -> list[GameRecord]:
    """List the records of the games that a matching opens, in its order."""
    games = [(game["id"], game["players"], game["chance"]) for game in event.games]
    return [
        GameRecord(id, pool_id, event.matching, (one, other), chance, event.expires_at)
        for id, (one, other), chance in games
    ]


def changed_games(event: Event) -> Sequence[str]:
    """List the ids of the games whose records an event changes."""
    match event:
        case Answered() | Noted() | Decided() | Late():
            return [event.game]
        case Released() | Expired() | GamesDecided():
            return event.games
    return ()


def project(records: dict[str, GameRecord], pool_id: str, recorded: Recorded) -> None:
    """Bring records of games up to the next event, in place; those that it changes must be there.

    Examples
    --------
    >>> game = {"id": "g", "players": ["ann", "bob"], "chance": 0.5, "explores": False}
    >>> proposed = Proposed("m", [game], [], None, [], 60, None, None, None)
    >>> records = {}
    >>> project(records, "p", Recorded(1, 0, proposed))
    >>> project(records, "p", Recorded(2, 5, Released(["g"], "left")))
    >>> records["g"].state, records["g"].cause
    ('released', 'left')
    """
    if isinstance(recorded.event, Proposed):
        records |= {game.id: game for game in opened_games(pool_id, recorded.event)}
    if isinstance(recorded.event, GamesDecided):
        _project_batch(records, recorded.event, recorded.at)
        return
    for id in changed_games(recorded.event):
        records[id] = records[id].after(recorded.event, recorded.at)


def _project_batch(records: dict[str, GameRecord], event: GamesDecided, at: Moment) -> None:
    answers: Sequence[Sequence[Answer | None]] = event.answers or [()] * len(event.games)
    for id, played, cause, said in zip(
        event.games, event.played, event.causes, answers, strict=True
    ):
        record = records[id]
        records[id] = record.decided(played, cause, name_answers(record.players, said), at)


def name_answers(players: Sequence[str], said: Sequence[Answer | None]) -> dict[str, Answer]:
    """Return the answers of a game that are known by player, sorted by name.

    Examples
    --------
    >>> name_answers(("bob", "ann"), ("accepted", "declined"))
    {'ann': 'declined', 'bob': 'accepted'}
    """
    if not any(said):
        return {}
    named = zip(players, said, strict=True)
    return {player: answer for player, answer in sorted(named) if answer is not None}
