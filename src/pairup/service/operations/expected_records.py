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
from pairup.service.domain.ids import GameKey
from pairup.service.domain.pool import Pool

_UNKNOWN = GameRecord(GameKey(0, 0), (0, 0), None, 0)  # a game from before the log begins


class ExpectedRecords:
    """The records of a pool, brought up event by event. Open games are kept in memory.

    Of a log whose beginning was dropped, the records of games that had ended by then are not known.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._games: dict[GameKey, GameRecord] = {}
        self.since: Moment = 0  # key of the last matching from before the log begins
        database.execute("CREATE TABLE matchings (key PRIMARY KEY, record, seen)")
        database.execute("CREATE TABLE games (key, place, record, seen, PRIMARY KEY (key, place))")

    def begin(self, pool: Pool) -> None:
        """Begin with a pool as it was before the first event of the log."""
        self.since = pool.matching
        self._games = {key: game.record for key, game in pool.games.items()}

    def add(self, recorded: Recorded) -> None:
        """Bring the records up to the next event."""
        changed = changed_games(recorded.event)
        for key in changed:
            if key not in self._games:
                self._games[key] = self._closed_game(key)
        project(self._games, recorded)
        if isinstance(recorded.event, Proposed):
            self._write(MatchingRecord.of(recorded.event))
        for key in dict.fromkeys(changed):
            if self._games[key].state != OPEN:
                self._write(self._games.pop(key))
        for key in [key for key in changed if self._is_unknown(key)]:
            del self._games[key]

    def _is_unknown(self, key: GameKey) -> bool:
        return key in self._games and self._games[key].key == _UNKNOWN.key

    def finish(self) -> None:
        """Write the games that are open in the end."""
        for game in self._games.values():
            self._write(game)

    def differs(self, record: GameRecord | MatchingRecord) -> bool:
        """Whether a stored record is not what it must be; one that is, has been seen."""
        table, key, condition = _place(record)
        query = f"SELECT record FROM {table} WHERE {condition}"
        found = self._database.execute(query, key).fetchone()
        if found is None:
            return key[0] > self.since
        self._database.execute(f"UPDATE {table} SET seen = 1 WHERE {condition}", key)
        return bool(found[0] != dumps(record))

    def any_missing(self, table: str, before: Moment | None) -> bool:
        """Whether a record was not seen, and is not one that was archived before a moment."""
        closed = "key" if table == "matchings" else "record ->> 10"
        kept = f"coalesce({closed}, :before) >= :before"
        query = f"SELECT 1 FROM {table} WHERE seen = 0 AND {kept if before else 1} LIMIT 1"
        return self._database.execute(query, {"before": before}).fetchone() is not None

    def count_games(self) -> int:
        """Return how many records of games there must be."""
        (count,) = self._database.execute("SELECT count(*) FROM games").fetchone()
        return int(count)

    def matchings(self) -> Iterator[tuple[MatchingRecord, list[GameRecord]]]:
        """Yield all matchings in the order in which they were proposed, with their games."""
        games = "SELECT record FROM games WHERE key = ? ORDER BY place"
        for (text,) in self._database.execute("SELECT record FROM matchings ORDER BY key"):
            matching = MatchingRecord(*json.loads(text))
            rows = self._database.execute(games, (matching.key,)).fetchall()
            yield matching, [_game(text) for (text,) in rows]

    def carried_games(self) -> Iterator[GameRecord]:
        """Yield the games that were open where the log begins."""
        query = "SELECT record FROM games WHERE key <= ?"
        for (text,) in self._database.execute(query, (self.since,)):
            yield _game(text)

    def _closed_game(self, key: GameKey) -> GameRecord:
        query = "SELECT record FROM games WHERE key = ? AND place = ?"
        found = self._database.execute(query, key).fetchone()
        if found is None:
            if key.matching <= self.since:
                return _UNKNOWN
            raise KeyError(key)
        return _game(found[0])

    def _write(self, record: GameRecord | MatchingRecord) -> None:
        """Write a record, in place of an earlier one."""
        table, key, _ = _place(record)
        if key != _UNKNOWN.key:
            places = ", ".join("?" * (len(key) + 1))
            query = f"INSERT OR REPLACE INTO {table} VALUES ({places}, 0)"
            self._database.execute(query, (*key, dumps(record)))


def _place(record: GameRecord | MatchingRecord) -> tuple[str, tuple[int, ...], str]:
    """Return the table of a record, its key, and the condition by which it is found."""
    if isinstance(record, GameRecord):
        return "games", tuple(record.key), "key = ? AND place = ?"
    return "matchings", (record.key,), "key = ?"


@contextmanager
def expecting_records() -> Iterator[ExpectedRecords]:
    """Keep expected records while the block runs, in a file that nobody else sees."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        yield ExpectedRecords(database)


def _game(text: str) -> GameRecord:
    stored: list[Any] = json.loads(text)
    made = GameRecord(*stored)
    answers: Any = tuple(made.answers)
    one, other = made.players
    return made._replace(key=GameKey(*made.key), players=(one, other), answers=answers)
