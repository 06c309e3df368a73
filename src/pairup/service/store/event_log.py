"""The log of events and the snapshots of pools, as they are written and read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
    CursorResult,
    Executable,
    Select,
    bindparam,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.types import NullType

from pairup.errors import ServiceError
from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Deleted, Recorded, dumps, pack, unpack
from pairup.service.store import tables
from pairup.service.store.archive_files import read_archive
from pairup.service.store.event_bodies import RawEvent, decode_body, encode_body

_PAGE = 1_000  # events
_PAGE_BYTES = 10_000_000  # of their bodies, after which a page ends


_APPEND = insert(tables.events)
_ADVANCE = (
    update(tables.pools)
    .where(tables.pools.c.number == bindparam("pool"))
    .values(deleted_at=bindparam("deleted"), seq=bindparam("last"))
)


class SnapshotRow(NamedTuple):
    """A snapshot as it is stored: after which event, when that was, and the bytes."""

    seq: int
    at: Moment
    body: bytes


class EventLog:
    """The part of a transaction that appends to the log and reads it."""

    def __init__(self, connection: Connection, archive_folder: Path | None = None) -> None:
        self._connection, self._execute = connection, connection.execute
        self._folder = archive_folder  # of archives that are beside the database
        self._numbers: dict[str, int] = {}  # of pools, by id

    def _run(self, statement: Executable, *rows: tuple[Any, ...]) -> CursorResult[Any]:
        """Execute a statement for each row of values, in the order of the table's columns.

        Without what SQLAlchemy does for each statement and row, which costs more than the
        database does. The statement must be a constant; it is compiled once.
        """
        compiled = _compiled(statement, self._connection.dialect)
        given: Any = rows
        if not compiled.positional:
            given = [dict(zip(compiled.params, row, strict=True)) for row in rows]
        return self._connection.exec_driver_sql(
            str(compiled), given[0] if len(rows) == 1 else list(given)
        )

    def _number(self, pool_id: str) -> int | None:
        """Return the number by which other tables refer to a pool, None if there is none."""
        if pool_id not in self._numbers:
            table = tables.pools.c
            found = self._execute(select(table.number).where(table.id == pool_id)).scalar()
            if found is None:
                return None
            self._numbers[pool_id] = found
        return self._numbers[pool_id]

    def append(
        self, pool_id: str, recorded: list[Recorded], bodies: list[bytes] | None = None
    ) -> None:
        """Add events to the log, with their bodies if they were encoded before."""
        if not recorded:
            return
        number, given = self._number(pool_id), bodies or encode_events(recorded)
        rows = [
            (number, seq, at, event.kind, body)
            for (seq, at, event), body in zip(recorded, given, strict=True)
        ]
        self._run(_APPEND, *rows)
        seq, at, event = recorded[-1]
        self._run(_ADVANCE, (at if isinstance(event, Deleted) else None, seq, number))

    def events(self, pool_id: str, after: int = 0) -> Iterator[Recorded]:
        """Read the log after event `after`, in order, by pages: it may be longer than memory."""
        while rows := self.raw_events(pool_id, after, _PAGE):
            for seq, at, kind, body in rows:
                yield Recorded(seq, at, unpack(pool_id, seq, kind, body))
            after = rows[-1].seq

    def last_event(self, pool_id: str) -> tuple[int, Moment]:
        """Return the greatest number and date of the events of a pool, zeros without any."""
        table = tables.events.c
        query = select(func.max(table.seq), func.max(table.at))
        seq, at = self._execute(query.where(table.pool == self._number(pool_id))).one()
        return seq or 0, at or 0

    def raw_events(
        self, pool_id: str, after: int, limit: int, lenient: bool = False
    ) -> list[RawEvent]:
        """Read the log without a look into the bodies of its events.

        Events that were archived are read from their files. With `lenient` a body that is damaged
        is shown as it is stored, instead of refused.
        """
        stored = self._stored_events(pool_id, after, limit, lenient)
        if stored and stored[0].seq == after + 1:
            return stored
        found = list[RawEvent]()
        while len(found) < limit and (archived := self._archived_events(pool_id, after)):
            found += archived
            after = found[-1].seq
        return [*found, *stored][:limit]

    def _archived_events(self, pool_id: str, after: int) -> list[RawEvent]:
        """Read the events after event `after` from the file that has the next one, if any has."""
        table = tables.archives.c
        mine = select(tables.archives).where(table.pool == self._number(pool_id))
        row = self._execute(mine.where(table.first <= after + 1, table.last > after)).first()
        if row is None:
            return []
        folder = self._folder if row.folder is None else Path(row.folder)
        assert folder is not None, "only a file of SQLite has archives beside it"
        return [each for each in read_archive(folder / row.name, row.sha256) if each.seq > after]

    def _stored_events(self, pool_id: str, after: int, limit: int, lenient: bool) -> list[RawEvent]:
        table = tables.events.c
        # Without SQLAlchemy's type, which fails where the body was edited by hand and is text now.
        body = type_coerce(table.body, NullType)
        columns: Select[Any] = select(table.seq, table.at, table.kind, body)
        query = columns.where(table.pool == self._number(pool_id), table.seq > after)
        found, size = list[RawEvent](), 0
        with self._execute(query.order_by(table.seq).limit(limit)) as rows:
            for seq, at, kind, stored in rows:
                found.append(RawEvent(seq, at, kind, _decode(pool_id, seq, stored, lenient)))
                size += len(found[-1].body)
                if size > _PAGE_BYTES:  # some events are large, such as those of imports
                    break
        return found

    def snapshots(self, pool_id: str) -> Iterator[SnapshotRow]:
        """Read the snapshots of a pool, the latest first."""
        table = tables.snapshots.c
        seqs = (
            select(table.seq).where(table.pool == self._number(pool_id)).order_by(table.seq.desc())
        )
        for seq in self._execute(seqs).scalars().all():
            columns = select(table.seq, table.at, table.body)
            query = columns.where(table.pool == self._number(pool_id), table.seq == seq)
            yield SnapshotRow(*self._execute(query).one())

    def add_snapshot(self, pool_id: str, seq: int, at: Moment, body: bytes) -> None:
        """Keep a snapshot, and the latest of the older ones."""
        table = tables.snapshots.c
        mine = table.pool == self._number(pool_id)
        before = select(table.seq).where(mine, table.seq < seq).order_by(table.seq.desc())
        older = self._execute(before.limit(1)).scalar()
        if older is not None:
            self._execute(delete(tables.snapshots).where(mine, table.seq < older))
        self._execute(delete(tables.snapshots).where(mine, table.seq == seq))
        row = {"pool": self._number(pool_id), "seq": seq, "at": at, "body": body}
        self._execute(insert(tables.snapshots), row)


@lru_cache(64)
def _compiled(statement: Any, dialect: Any) -> Any:
    return statement.compile(dialect=dialect)


def encode_events(recorded: list[Recorded]) -> list[bytes]:
    """Encode the bodies of events, so that no lock is held meanwhile."""
    return [encode_body(pack(each.event)) for each in recorded]


def _decode(pool_id: str, seq: int, body: bytes | str, lenient: bool) -> str:
    try:
        text = decode_body(body)
        return text if not lenient or _is_json(text) else dumps({"damaged": text})
    except ValueError as error:
        if lenient:
            stored = body if isinstance(body, str) else body.hex()
            return dumps({"damaged": stored})
        raise ServiceError(
            f"event {seq} of pool {pool_id} cannot be read, it has {error}: the log is damaged "
            "or was written by a newer pairup, restore a copy of the database"
        ) from error


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
