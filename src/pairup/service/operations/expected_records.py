"""Records as the log says they must be, on a temporary disk: a log may be longer than memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Proposed, Recorded, dumps
from pairup.service.domain.game_record import (
    OPEN,
    GameRecord,
    MatchingRecord,
    changed_games,
    project,
)

_TABLES = ("matchings", "games")


class ExpectedRecords:
    """The records of a pool, brought up event by event. Open games are kept in memory."""

    def __init__(self, pool_id: str, database: sqlite3.Connection) -> None:
        self._pool_id, self._database = pool_id, database
        self._games: dict[str, GameRecord] = {}
        self._places: dict[str, int] = {}  # of open games in their matchings
        for table in _TABLES:
            database.execute(f"CREATE TABLE {table} (id PRIMARY KEY, place, record, seen)")

    def add(self, recorded: Recorded) -> None:
        """Bring the records up to the next event."""
        for id in changed_games(recorded.event):
            if id not in self._games:
                self._games[id] = self._closed_game(id)
        project(self._games, self._pool_id, recorded)
        if isinstance(recorded.event, Proposed):
            matching = MatchingRecord.of(self._pool_id, recorded)
            self._write("matchings", matching.id, recorded.seq, matching)
            self._places |= {game["id"]: x for x, game in enumerate(recorded.event.games)}
        for id in changed_games(recorded.event):
            if self._games[id].state != OPEN:
                self._close(self._games.pop(id))

    def finish(self) -> None:
        """Write the games that are open in the end."""
        for game in self._games.values():
            self._close(game)

    def differs(self, table: str, place: int | None, record: GameRecord | MatchingRecord) -> bool:
        """Whether a stored record is not what it must be; one that is, has been seen."""
        query = f"SELECT place, record FROM {table} WHERE id = ?"
        found = self._database.execute(query, (record.id,)).fetchone()
        if found is None or found[1] != dumps(record._asdict()):
            return True
        self._database.execute(f"UPDATE {table} SET seen = 1 WHERE id = ?", (record.id,))
        return place is not None and found[0] != place

    def any_missing(self, table: str, before: Moment | None) -> bool:
        """Whether a record was not seen, and is not one that was archived before a moment."""
        closed = "at" if table == "matchings" else "closed_at"
        kept = f"coalesce(record ->> '{closed}', :before) >= :before"
        query = f"SELECT 1 FROM {table} WHERE seen = 0 AND {kept if before else 1} LIMIT 1"
        return self._database.execute(query, {"before": before}).fetchone() is not None

    def count(self, table: str) -> int:
        """Return how many records there must be."""
        (count,) = self._database.execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(count)

    def matchings(self) -> Iterator[tuple[MatchingRecord, list[GameRecord]]]:
        """Yield all matchings in the order in which they were proposed, with their games."""
        matchings = "SELECT record FROM matchings ORDER BY place"
        games = "SELECT record FROM games WHERE record ->> 'matching_id' = ? ORDER BY place"
        self._database.execute(
            "CREATE INDEX IF NOT EXISTS by_matching ON games (record ->> 'matching_id')"
        )
        for (text,) in self._database.execute(matchings):
            matching = MatchingRecord(**_loads(text))
            rows = self._database.execute(games, (matching.id,)).fetchall()
            yield matching, [_game(text) for (text,) in rows]

    def _closed_game(self, id: str) -> GameRecord:
        query = "SELECT record FROM games WHERE id = ?"
        found = self._database.execute(query, (id,)).fetchone()
        if found is None:
            raise KeyError(id)
        return _game(found[0])

    def _write(self, table: str, id: str, place: int, record: GameRecord | MatchingRecord) -> None:
        row = (id, place, dumps(record._asdict()))
        self._database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, 0)", row)

    def _close(self, game: GameRecord) -> None:
        """Write a game that has ended, or has changed after its end."""
        if game.id in self._places:
            self._write("games", game.id, self._places.pop(game.id), game)
            return
        row = (dumps(game._asdict()), game.id)
        self._database.execute("UPDATE games SET record = ? WHERE id = ?", row)


@contextmanager
def expecting_records(pool_id: str) -> Iterator[ExpectedRecords]:
    """Keep expected records while the block runs, in a file that nobody else sees."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        yield ExpectedRecords(pool_id, database)


def _loads(text: str) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(text)
    return stored


def _game(text: str) -> GameRecord:
    stored = _loads(text)
    return GameRecord(**{**stored, "players": tuple(stored["players"])})
