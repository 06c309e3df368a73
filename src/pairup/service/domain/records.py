"""The record of a game, which remains when the game is over.

A pool keeps only its open games in mind; what became of the others lies in the store. Records
follow from the log alone: `changes` says what an event does to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pairup.service.domain import events as happened
from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Recorded
from pairup.service.domain.reports import Report

OPEN = "proposed"


@dataclass(frozen=True)
class GameRecord:
    """A game, and all that is known of it."""

    id: str
    pool_id: str
    matching_id: str
    players: tuple[str, str]
    chance: float | None
    expires_at: Moment
    state: str = OPEN  # then played, cancelled, released or expired
    played: bool | None = None  # as reported, in time or late
    cause: str | None = None
    answers: dict[str, str] | None = None
    learnt: bool = False
    late: bool = False
    closed_at: Moment | None = None

    @property
    def known(self) -> Report:
        """What was reported of it."""
        return Report(self.played, self.answers or {})


@dataclass(frozen=True)
class Change:
    """New values of some games' records."""

    games: list[str]
    values: dict[str, Any]


def changes(recorded: Recorded) -> Iterator[Change]:
    """List what an event changes in the records of games that exist."""
    event, at = recorded.event, recorded.at
    match event:
        case happened.Answered() | happened.Noted():
            yield Change([event.game], {"answers": event.answers})
        case happened.Decided():
            state = "played" if event.played else "cancelled"
            values = {"state": state, "played": event.played, "cause": event.cause}
            values |= {"answers": event.answers, "learnt": True, "closed_at": at}
            yield Change([event.game], values)
        case happened.Late():
            values = {"late": True, "played": event.played, "answers": event.answers}
            yield Change([event.game], values)
        case happened.Released():
            values = {"state": "released", "cause": event.cause, "closed_at": at}
            yield Change(event.games, values)
        case happened.Expired():
            learnt = event.counts_as == "cancelled"
            values = {"state": "expired", "cause": "unreported", "learnt": learnt, "closed_at": at}
            yield Change(event.games, values)


def project(records: dict[str, GameRecord], pool_id: str, recorded: Recorded) -> None:
    """Bring the records of all games of a pool up to its next event, in place."""
    event = recorded.event
    if isinstance(event, happened.Proposed):
        for game in event.games:
            one, other = game["players"]
            records[game["id"]] = GameRecord(
                game["id"],
                pool_id,
                event.matching,
                (one, other),
                game["chance"],
                event.expires_at,
            )
    for change in changes(recorded):
        for id in change.games:
            records[id] = replace(records[id], **change.values)


class Ledger:
    """Records of games, with what the events of a request change in them.

    Parameters
    ----------
    records
        The games as they were stored before the request.
    log
        The events of the request, which may still grow.
    """

    def __init__(self, records: Mapping[str, GameRecord], log: Sequence[Recorded]) -> None:
        self._records = dict(records)
        self._log = log
        self._read = 0

    def get(self, id: str) -> GameRecord | None:
        """Return the record of a game as it is now, None if there is none."""
        for recorded in self._log[self._read :]:
            for change in changes(recorded):
                for game in change.games:
                    if game in self._records:
                        self._records[game] = replace(self._records[game], **change.values)
        self._read = len(self._log)
        return self._records.get(id)

    def all(self) -> list[GameRecord]:
        """Return all records as they are now, in their order."""
        return [record for id in self._records if (record := self.get(id))]
