"""Repairs: statements that replace what does not follow from the log, or cut the log itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import delete, insert, select, update

from pairup.service.domain.events import Moment, dumps
from pairup.service.domain.games import OPEN, GameRecord
from pairup.service.store import tables
from pairup.service.store.transaction import PoolRow, Transaction

_CHANGEABLE = ("state", "played", "cause", "answers", "learnt", "late", "closed_at")  # by events


class RepairTransaction(Transaction):
    """A transaction that can also delete and overwrite."""

    def drop_snapshot(self, pool: int, seq: int) -> None:
        """Delete a snapshot."""
        table = tables.snapshots.c
        self._execute(delete(tables.snapshots).where(table.pool == pool, table.seq == seq))

    def begin_log(self, pool: int, seq: int) -> None:
        """Mark the snapshot after an event as the beginning of the log."""
        table = tables.snapshots.c
        mine = table.pool == pool, table.seq == seq
        self._execute(update(tables.snapshots).where(*mine).values(base=True))

    def write_games(self, pool: int, games: Sequence[GameRecord]) -> None:
        """Overwrite all that reports and time change in the records of games, and their expiry."""
        changes = {name: [getattr(each, name) for each in games] for name in _CHANGEABLE}
        self.update_games(pool, [each.key for each in games], changes)
        table = tables.matchings.c
        for key, expires_at in {each.key.matching: each.expires_at for each in games}.items():
            mine = update(tables.matchings).where(table.pool == pool, table.key == key)
            self._execute(mine.values(expires_at=expires_at))

    def add_games(self, pool: int, games: Sequence[GameRecord]) -> None:
        """Enter games that are open, and their matchings, of which only the keys are known."""
        for key, expires_at in {each.key.matching: each.expires_at for each in games}.items():
            row = {"pool": pool, "key": key, "expires_at": expires_at, "waiting": "[]"}
            self._execute(insert(tables.matchings), row)
        for each in games:
            who = {**each.key._asdict(), **dict(zip(("one", "other"), each.players, strict=True))}
            known = {"pool": pool, "chance": each.chance, "learnt": False, "late": False}
            said = {"answers": dumps(each.answers) if any(each.answers) else None}
            self._execute(insert(tables.games), {**who, **known, **said, "state": OPEN})

    def drop_reply(self, owner: str, key: str) -> None:
        """Delete an idempotent reply."""
        table = tables.replies.c
        self._execute(delete(tables.replies).where(table.owner == owner, table.key == key))

    def drop_records(self, pool: int, since: Moment) -> None:
        """Delete the records of matchings and games of a pool that were proposed since."""
        games, matchings = tables.games.c, tables.matchings.c
        self._execute(delete(tables.games).where(games.pool == pool, games.matching >= since))
        self._execute(
            delete(tables.matchings).where(matchings.pool == pool, matchings.key >= since)
        )

    def numbered(self, pool: int) -> set[int]:
        """Return the numbers of all players of a pool that have a row."""
        table = tables.players.c
        return set(self._execute(select(table.number).where(table.pool == pool)).scalars())

    def drop_names(self, pool: int, after: int) -> None:
        """Delete the rows of players with a greater number."""
        table = tables.players.c
        self._execute(delete(tables.players).where(table.pool == pool, table.number > after))

    def set_pool(self, row: PoolRow) -> None:
        """Overwrite the row of a pool."""
        mine = tables.pools.c.number == row.number
        self._execute(update(tables.pools).where(mine).values(row._asdict()))

    def cut_log(self, pool: int, last: int) -> None:
        """Delete the events after `last`, and the snapshots of them."""
        for table in (tables.events, tables.snapshots):
            self._execute(delete(table).where(table.c.pool == pool, table.c.seq > last))

    def rows_of(self, pool: int, after: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read what a repair of a pool may replace: all but the events up to `after`."""
        events = tables.events.c
        for table, condition in (
            (tables.pools, tables.pools.c.number == pool),
            (tables.players, tables.players.c.pool == pool),
            (tables.events, (events.pool == pool) & (events.seq > after)),
            (tables.snapshots, tables.snapshots.c.pool == pool),
            (tables.matchings, tables.matchings.c.pool == pool),
            (tables.games, tables.games.c.pool == pool),
        ):
            for row in self._execute(select(table).where(condition)):
                yield table.name, dict(row._mapping)
