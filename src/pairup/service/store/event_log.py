"""The log of events and the snapshots of pools, as they are written and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Deleted, Recorded, pack, unpack
from pairup.service.store import tables

_PAGE = 1_000  # events


class EventLog:
    """The part of a transaction that appends to the log and reads it."""

    def __init__(self, connection: Connection) -> None:
        self._execute = connection.execute

    def append(self, pool_id: str, recorded: list[Recorded]) -> None:
        """Add events to the log."""
        if not recorded:
            return
        rows = [
            {"pool_id": pool_id, "seq": seq, "at": at, "kind": event.kind, "body": pack(event)}
            for seq, at, event in recorded
        ]
        self._execute(insert(tables.events), rows)
        values: dict[str, Any] = {"seq": recorded[-1].seq}
        if isinstance(recorded[-1].event, Deleted):
            values["deleted_at"] = recorded[-1].at
        self._execute(update(tables.pools).where(tables.pools.c.id == pool_id).values(values))

    def events(self, pool_id: str, after: int = 0) -> Iterator[Recorded]:
        """Read the log after event `after`, in order, by pages: it may be longer than memory."""
        while True:
            rows = self.raw_events(pool_id, after, _PAGE)
            for row in rows:
                yield Recorded(row.seq, row.at, unpack(pool_id, row.seq, row.kind, row.body))
            if len(rows) < _PAGE:
                return
            after = rows[-1].seq

    def raw_events(self, pool_id: str, after: int, limit: int) -> list[Row[Any]]:
        """Read the log as it is stored."""
        table = tables.events.c
        query = select(tables.events).where(table.pool_id == pool_id, table.seq > after)
        return list(self._execute(query.order_by(table.seq).limit(limit)))

    def snapshots(self, pool_id: str) -> Iterator[bytes]:
        """Read the snapshots of a pool, the latest first."""
        table = tables.snapshots.c
        seqs = select(table.seq).where(table.pool_id == pool_id).order_by(table.seq.desc())
        for seq in self._execute(seqs).scalars().all():
            query = select(table.body).where(table.pool_id == pool_id, table.seq == seq)
            yield self._execute(query).scalar_one()

    def add_snapshot(self, pool_id: str, seq: int, at: Moment, body: bytes) -> None:
        """Keep a snapshot, and the latest of the older ones."""
        table = tables.snapshots.c
        mine = table.pool_id == pool_id
        before = select(table.seq).where(mine, table.seq < seq).order_by(table.seq.desc())
        older = self._execute(before.limit(1)).scalar()
        if older is not None:
            self._execute(delete(tables.snapshots).where(mine, table.seq < older))
        self._execute(delete(tables.snapshots).where(mine, table.seq == seq))
        row = {"pool_id": pool_id, "seq": seq, "at": at, "body": body}
        self._execute(insert(tables.snapshots), row)
