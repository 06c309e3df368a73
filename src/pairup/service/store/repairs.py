"""Repairs: statements that replace what does not follow from the log, or cut the log itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import delete, select, update

from pairup.service.domain.clock import Moment
from pairup.service.store import tables
from pairup.service.store.transaction import Transaction


class RepairTransaction(Transaction):
    """A transaction that can also take away and overwrite."""

    def drop_snapshot(self, pool_id: str, seq: int) -> None:
        """Take a snapshot away."""
        table = tables.snapshots.c
        mine = table.pool == self._number(pool_id), table.seq == seq
        self._execute(delete(tables.snapshots).where(*mine))

    def drop_answer(self, owner: str, key: str) -> None:
        """Take an idempotent answer away."""
        table = tables.answers.c
        self._execute(delete(tables.answers).where(table.owner == owner, table.key == key))

    def drop_records(self, pool_id: str) -> None:
        """Take all records of matchings and games of a pool away."""
        mine = tables.matchings.c.pool == self._number(pool_id)
        numbers = select(tables.matchings.c.number).where(mine)
        self._execute(delete(tables.games).where(tables.games.c.matching.in_(numbers)))
        self._execute(delete(tables.matchings).where(mine))

    def set_pool(
        self, pool_id: str, name: str, created_at: Moment, deleted_at: Moment | None, seq: int
    ) -> None:
        """Overwrite the row of a pool."""
        row = {"name": name, "created_at": created_at, "deleted_at": deleted_at, "seq": seq}
        self._execute(update(tables.pools).where(tables.pools.c.id == pool_id).values(row))

    def cut_log(self, pool_id: str, last: int) -> None:
        """Take away the events after `last`, and the snapshots of them."""
        for table in (tables.events, tables.snapshots):
            mine = table.c.pool == self._number(pool_id), table.c.seq > last
            self._execute(delete(table).where(*mine))

    def rows_of(self, pool_id: str, after: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read what a repair of a pool may replace: all but the events up to `after`."""
        number = self._number(pool_id)
        matchings = select(tables.matchings.c.number).where(tables.matchings.c.pool == number)
        events = tables.events.c
        for table, condition in (
            (tables.pools, tables.pools.c.id == pool_id),
            (tables.events, (events.pool == number) & (events.seq > after)),
            (tables.snapshots, tables.snapshots.c.pool == number),
            (tables.matchings, tables.matchings.c.pool == number),
            (tables.games, tables.games.c.matching.in_(matchings)),
        ):
            for row in self._execute(select(table).where(condition)):
                yield table.name, dict(row._mapping)
