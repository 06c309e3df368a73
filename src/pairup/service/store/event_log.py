"""The log of events, its archives and the snapshots of pools, as they are written and read.

The body of an event is stored as a byte that names its form, the CRC-32 of the JSON, and the JSON
deflated with a preset dictionary: most bodies are so short that only what is known beforehand makes
them shorter. `zlib.decompressobj(-15, DICTIONARY)` inflates what follows the first five bytes.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    Connection,
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
from pairup.service.domain.event_views import RawEvent
from pairup.service.domain.events import Deleted, Head, Moment, Recorded, dumps, unpack
from pairup.service.store import tables
from pairup.service.store.archive_files import NAME, ArchiveFile, read_archive
from pairup.service.store.failures import StoreConflictError, StoreDamagedError

_DEFLATED = 1  # another dictionary takes another number: this one is in databases
DICTIONARY = (
    b'"status":"away"}"status":"waiting"}{"players":["forget":true,"rates":[0."cause":"released"}'
    b'"answers":[["accepted","timed_out"],["declined",null],["accepted","declined"],["accepted",'
    b'"accepted"]],"heard":[[true,false],[true,true]]}"counts_as":"discard"}'
    b'"waiting":[],"available":null,"apart":[],"expires_at":17,"random":0.,"random_deviation":0.,'
    b'"best":0.}{"matching":17,"games":[{"players":[,"chance":0.,"explores":true},{"players":['
    b',"chance":0.,"explores":false}],"waiting":[],"available":null,"apart":[],"expires_at":17'
    b'{"games":[[17,0]],"played":[false],"causes":["declined"],"answers":null,"heard":null}'
    b'{"games":[[17,0]],"played":[false],"causes":["unstated"],"answers":null,"heard":null}'
    b'{"games":[[17,0]],"played":[true],"causes":null,"answers":null,"heard":null}'
)
_SHORT = 4_096  # bytes; a small window is set up faster, and the body fits in it


def encode_body(body: str) -> bytes:
    """Compress the JSON of an event or of a reply.

    Examples
    --------
    >>> body = '{"games":[[1767225600000000,0]],"played":[true],"causes":null,"answers":null}'
    >>> len(body), len(encode_body(body)), decode_body(encode_body(body)) == body
    (77, 21, True)
    """
    text = body.encode()
    window, memory = (-12, 5) if len(text) < _SHORT else (-15, 8)
    deflating = zlib.compressobj(6, zlib.DEFLATED, window, memory, zdict=DICTIONARY)
    check = zlib.crc32(text).to_bytes(4, "big")
    return bytes([_DEFLATED]) + check + deflating.compress(text) + deflating.flush()


def is_intact(stored: bytes | str) -> bool:
    """Return whether a stored body can be read and fits its checksum."""
    try:
        decode_body(stored)
    except ValueError:
        return False
    return True


def decode_body(stored: bytes | str) -> str:
    """Return the JSON that was compressed, or raise a `ValueError`."""
    if isinstance(stored, str):
        raise ValueError("a body that is text, edited by hand")
    if stored[:1] != bytes([_DEFLATED]):
        raise ValueError(f"a body of form {stored[:1].hex()!r}, expected 1")
    try:
        text = zlib.decompressobj(-15, DICTIONARY).decompress(stored[5:])
    except zlib.error as error:
        raise ValueError(f"a body that cannot be inflated ({error})") from error
    if zlib.crc32(text) != int.from_bytes(stored[1:5], "big"):
        raise ValueError("a body that differs from its checksum")
    return text.decode()


_PAGE = 1_000  # events
_PAGE_BYTES = 10_000_000  # of their bodies, after which a page ends
_APPEND = insert(tables.events)
_ADVANCE = (
    update(tables.pools)
    .where(
        tables.pools.c.number == bindparam("pool"),
        tables.pools.c.seq == bindparam("known_seq"),
        tables.pools.c.chain == bindparam("known_chain"),
        tables.pools.c.owner == bindparam("known_owner"),
    )
    .values(
        deleted_at=bindparam("deleted"),
        seq=bindparam("last"),
        chain=bindparam("links"),
        due_at=bindparam("due"),
    )
)


class SnapshotRow(NamedTuple):
    """A snapshot as it is stored: at which head of the log, when that was, and the bytes."""

    head: Head
    at: Moment
    base: bool  # whether the log before it was dropped
    body: bytes


class Archive(NamedTuple):
    """A file of earlier events, and where it is."""

    file: ArchiveFile
    path: Path
    before: Moment  # the moment whose past was archived
    dropped: bool  # whether the file was deleted on purpose


class EventLog:
    """The part of a transaction that appends to the logs of pools and reads them."""

    def __init__(self, connection: Connection, archive_folder: Path | None = None) -> None:
        self._connection, self._execute = connection, connection.execute
        self._folder = archive_folder  # of archives that are beside the database

    def _run(self, statement: Executable, *rows: tuple[Any, ...]) -> Any:
        """Execute a statement for each row of values, in the order of its parameters.

        Without what SQLAlchemy does for each statement and row, which costs more than the
        database does. The statement must be a constant; it is compiled once. Returns a cursor.
        """
        text, names = _compiled(statement, self._connection.dialect)
        if names is None:  # SQLite, whose driver takes rows as they are
            cursor = self._connection.connection.cursor()
            cursor.execute(text, rows[0]) if len(rows) == 1 else cursor.executemany(text, rows)
            return cursor
        given = [dict(zip(names, row, strict=True)) for row in rows]
        return self._connection.exec_driver_sql(text, given[0] if len(rows) == 1 else given)

    # Events

    def append(
        self,
        pool: int,
        recorded: list[Recorded],
        head: Head,
        due_at: Moment | None = None,
        bodies: list[bytes] | None = None,
        owner: str = "",
    ) -> Head:
        """Add events to a log that ends at `head`, and return its new head.

        A log that has another head, or a pool that has another `owner`, is not touched: a
        `StoreConflictError` says so. `due_at` is when the next open game expires then; `bodies` are
        those of the events if they were encoded before.
        """
        if not recorded:
            return head
        known, given = head, bodies or encode_events(recorded)
        for each in recorded:
            head = head.after(each)
        last = recorded[-1]
        deleted_at = last.at if isinstance(last.event, Deleted) else None
        new = deleted_at, *head, None if deleted_at else due_at
        if self._run(_ADVANCE, (*new, pool, *known, owner)).rowcount != 1:
            raise StoreConflictError(
                f"the log of pool {pool} has not ended with event {known.seq}: another process "
                "changed it, try again"
            )
        rows = [(pool, each.seq, each.at, each.event.kind) for each in recorded]
        self._run(_APPEND, *((*row, body) for row, body in zip(rows, given, strict=True)))
        return head

    def events(self, pool: int, after: int = 0) -> Iterator[Recorded]:
        """Read the log after event `after`, in order, by pages: it may be longer than memory."""
        while rows := self.raw_events(pool, after, _PAGE):
            for seq, at, kind, body in rows:
                yield Recorded(seq, at, unpack(pool, seq, kind, body), body)
            after = rows[-1].seq

    def first_event(self, pool: int) -> int:
        """Return the number of the first event that is still stored: 1, if none was dropped."""
        dropped = tables.archives.c.dropped_at.is_not(None)
        return 1 + (self._greatest(tables.archives.c.last, pool, dropped) or 0)

    def last_event(self, pool: int) -> tuple[int, Moment]:
        """Return the greatest number and date of the events of a pool, zeros without any."""
        table = tables.events.c
        query = select(func.max(table.seq), func.max(table.at))
        seq, at = self._execute(query.where(table.pool == pool)).one()
        return seq or 0, at or 0

    def raw_events(
        self, pool: int, after: int, limit: int, lenient: bool = False
    ) -> list[RawEvent]:
        """Read the log without parsing the bodies of its events.

        Events that were archived are read from their files; those whose files were dropped are
        left out. With `lenient` a body that is damaged is shown as it is stored, instead of
        refused.
        """
        stored = self._stored_events(pool, after, limit, lenient)
        if stored and stored[0].seq == after + 1:
            return stored
        found = list[RawEvent]()
        for archive in self.archives(pool, after):
            if not archive.dropped and len(found) < limit:
                events = read_archive(archive.path, archive.file.sha256)
                found += [each for each in events if each.seq > after]
        return [*found, *stored][:limit]

    def _stored_events(self, pool: int, after: int, limit: int, lenient: bool) -> list[RawEvent]:
        table = tables.events.c
        # Without SQLAlchemy's type, which fails where the body was edited by hand and is text now.
        body = type_coerce(table.body, NullType)
        columns: Select[Any] = select(table.seq, table.at, table.kind, body)
        query = columns.where(table.pool == pool, table.seq > after)
        found, size = list[RawEvent](), 0
        with self._execute(query.order_by(table.seq).limit(limit)) as rows:
            for seq, at, kind, stored in rows:
                found.append(RawEvent(seq, at, kind, _decode(pool, seq, stored, lenient)))
                size += len(found[-1].body)
                if size > _PAGE_BYTES:  # some events are large, such as those of imports
                    break
        return found

    def events_of_kinds(self, kinds: Iterable[str]) -> list[tuple[int, RawEvent]]:
        """Read the events of some kinds in all logs, with their pools, by date.

        Archived ones are read from their files, unless these were dropped.
        """
        table, wanted = tables.events.c, set(kinds)
        query = select(table.pool, table.seq, table.at, table.kind, table.body)
        found = [
            (pool, RawEvent(seq, at, kind, _decode(pool, seq, body, lenient=True)))
            for pool, seq, at, kind, body in self._execute(query.where(table.kind.in_(wanted)))
        ]
        for pool in self._execute(select(tables.archives.c.pool).distinct()).scalars().all():
            files = [each for each in self.archives(pool) if not each.dropped]
            events = (
                event for each in files for event in read_archive(each.path, each.file.sha256)
            )
            found += [(pool, each) for each in events if each.kind in wanted]
        return sorted(found, key=lambda each: (each[1].at, each[0], each[1].seq))

    # Archives

    def archives(self, pool: int | None = None, after: int = 0) -> list[Archive]:
        """List the archives of a pool, or of all, with events after one, in their order."""
        table = tables.archives.c
        query = select(tables.archives).where(table.last > after)
        mine = query if pool is None else query.where(table.pool == pool)
        return [self._archive(row) for row in self._execute(mine.order_by(table.first))]

    def _archive(self, row: Any) -> Archive:
        folder = self._folder if row.folder is None else Path(row.folder)
        assert folder is not None, "only a file of SQLite has archives beside it"
        if not re.fullmatch(NAME, row.name):  # it may lead out of the folder
            raise StoreDamagedError(
                f"the database names an archive {row.name!r}, which is not how archives are "
                "called: it was tampered with, take another copy of it"
            )
        file = ArchiveFile(row.first, row.last, row.last_at, row.name, row.sha256, row.size)
        return Archive(file, folder / row.name, row.before, row.dropped_at is not None)

    def archived_until(self, pool: int) -> int:
        """Return the last event of a pool that was archived, 0 if none was."""
        return self._greatest(tables.archives.c.last, pool) or 0

    def archived_before(self, pool: int) -> Moment | None:
        """Return the moment before which games of a pool were archived, None if none were.

        Records of games that were closed before it may be deleted.
        """
        return self._greatest(tables.archives.c.before, pool)

    def _greatest(self, column: Any, pool: int, *where: Any) -> int | None:
        """Return the greatest value of a column in the archives of a pool, None without any."""
        query = select(func.max(column)).where(tables.archives.c.pool == pool, *where)
        found: int | None = self._execute(query).scalar()
        return found

    def last_event_before(self, pool: int, moment: Moment) -> int:
        """Return the last event in the database from before a moment, 0 if there is none."""
        table = tables.events.c
        mine = select(func.max(table.seq)).where(table.pool == pool)
        return self._execute(mine.where(table.at < moment)).scalar() or 0

    def move_to_archive(
        self, pool: int, file: ArchiveFile, folder: Path | None, before: Moment
    ) -> None:
        """Enter an archive, and delete its events from the database."""
        row = {"pool": pool, "folder": None if folder is None else str(folder), "before": before}
        self._execute(insert(tables.archives), {**row, **file._asdict()})
        table = tables.events.c
        archived = table.seq.between(file.first, file.last)
        self._execute(delete(tables.events).where(table.pool == pool, archived))

    def drop_archives(self, pool: int, last: int, base: Head, at: Moment) -> None:
        """Mark the archives up to event `last` as deleted: the log begins with a snapshot."""
        table, snapshots = tables.archives.c, tables.snapshots.c
        begins = update(tables.snapshots).where(snapshots.pool == pool)
        self._execute(begins.values(base=False))
        found = self._execute(begins.where(snapshots.seq == base.seq).values(base=True))
        if found.rowcount != 1:
            raise StoreConflictError(
                f"the snapshot of pool {pool} after event {base.seq} was replaced by a later one: "
                "try again"
            )
        mine = table.pool == pool, table.last <= last, table.dropped_at.is_(None)
        self._execute(update(tables.archives).where(*mine).values(dropped_at=at))

    # Snapshots

    def snapshots(self, pool: int) -> Iterator[SnapshotRow]:
        """Read the snapshots of a pool, the latest first."""
        table = tables.snapshots.c
        seqs = select(table.seq).where(table.pool == pool).order_by(table.seq.desc())
        columns = select(table.seq, table.chain, table.at, table.base, table.body)
        for seq in self._execute(seqs).scalars().all():
            query = columns.where(table.pool == pool, table.seq == seq)
            if row := self._execute(query).first():  # unless later ones have replaced it meanwhile
                yield SnapshotRow(Head(row.seq, row.chain), row.at, row.base, row.body)

    def add_snapshot(self, pool: int, head: Head, at: Moment, body: bytes) -> None:
        """Add a snapshot, and drop older ones but the latest and the one that a log begins with."""
        table = tables.snapshots.c
        older = select(table.seq).where(table.pool == pool, table.seq < head.seq)
        last = self._execute(older.order_by(table.seq.desc()).limit(1)).scalar()
        base = select(table.base).where(table.pool == pool, table.seq == head.seq)
        is_base = bool(self._execute(base).scalar())
        if last is not None:
            superseded = table.pool == pool, table.seq < last, ~table.base
            self._execute(delete(tables.snapshots).where(*superseded))
        self._execute(delete(tables.snapshots).where(table.pool == pool, table.seq == head.seq))
        row = {"pool": pool, "seq": head.seq, "chain": head.chain, "at": at, "base": is_base}
        self._execute(insert(tables.snapshots), {**row, "body": body})


@lru_cache(64)
def _compiled(statement: Any, dialect: Any) -> tuple[str, tuple[str, ...] | None]:
    """Return the text of a statement, and the names of its parameters if they have some."""
    compiled = statement.compile(dialect=dialect)
    return str(compiled), None if compiled.positional else tuple(compiled.params)


def encode_events(recorded: list[Recorded]) -> list[bytes]:
    """Encode the bodies of events, so that no lock is held meanwhile."""
    return [encode_body(each.body) for each in recorded]


def _decode(pool: int, seq: int, body: bytes | str, lenient: bool) -> str:
    try:
        text = decode_body(body)
        return text if not lenient or _is_json(text) else dumps({"damaged": text})
    except ValueError as error:
        if lenient:
            stored = body if isinstance(body, str) else body.hex()
            return dumps({"damaged": stored})
        raise ServiceError(
            f"event {seq} of pool {pool} cannot be read, it has {error}: the log is damaged "
            "or was written by a newer pairup, restore a copy of the database"
        ) from error


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
