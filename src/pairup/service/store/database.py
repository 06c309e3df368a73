"""Store: the database, opened, checked and migrated."""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Connection, event
from sqlalchemy.exc import SQLAlchemyError

from pairup.errors import ServiceError
from pairup.service.store import schema
from pairup.service.store.database_file import DatabaseFile, archive_folder
from pairup.service.store.engine import (
    BUSY_MS,
    WRITES,
    make_engine,
    make_read_only_engine,
    milliseconds,
    milliseconds_until,
    parse_address,
)
from pairup.service.store.failures import (
    StoreBusyError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
    busy,
    translate_error,
)
from pairup.service.store.repairs import RepairTransaction
from pairup.service.store.server import Server, look_at
from pairup.service.store.transaction import Transaction

if TYPE_CHECKING:
    from pairup.service.store.session import Session

WAIT_S = 20.0
_SESSION_WAIT_S = 2.0
_MOMENT_MS = 100
_NEAR = 0.9
log = structlog.get_logger()


class Store:
    """A database with the log of every pool: a file of SQLite, or a URL of SQLite or PostgreSQL.

    With `inspect` a file is searched for damage, which takes longer the larger it is. A database
    that cannot be used is refused with a `ServiceError`; nothing in it was changed. Where less
    than `min_free_bytes` are free on the disk of a file, nothing more is written to it. Nobody
    waits for others longer than `wait_s`: a `StoreBusyError` says so.
    """

    def __init__(
        self,
        database: str,
        inspect: bool = True,
        min_free_bytes: int = 0,
        wait_s: float = WAIT_S,
    ) -> None:
        url = parse_address(database)
        self._min_free_bytes, self._wait_s = min_free_bytes, wait_s
        self._url, self._inspect = url, inspect
        self.name = url.render_as_string(hide_password=True)
        self.many_writers = url.drivername != "sqlite"
        self.process = secrets.token_hex(8)  # by which a server knows this process
        self._engine = make_engine(url, wait_s, self.process)
        self.file = None if self.many_writers else DatabaseFile(Path(str(url.database)))
        if self.file is not None:
            event.listen(self._engine, "connect", self.file.connected)
            event.listen(self._engine, "close", self.file.disconnected)
        # Writers of this process queue here: SQLite would let them sleep and try again, unfairly.
        self._turn = threading.Lock()
        self.server: Server | None = None  # None: a file
        self.write_trouble = ""  # why the last write failed, empty if it did not
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Check the database, and migrate its schema if necessary."""
        if self.many_writers:
            with self._translating_errors():
                self.server = look_at(self._engine, self.name)
        if self._outdated():
            with self._writer() as connection:
                schema.wait_for_turn(connection)
                if not schema.check(connection, self.name):
                    return  # another process was faster
                found = schema.read_version(connection)
                schema.migrate(connection)
            if found is not None:
                log.warning("migrated", database=self.name, was=found, now=schema.latest_version())

    def _outdated(self) -> bool:
        """Return whether the schema must be migrated, without changing anything."""
        reader = self._engine if self.many_writers else make_read_only_engine(self._url)
        if reader is None:
            return True
        try:
            with self._translating_errors(), reader.connect() as connection:
                if self._inspect and not self.many_writers:
                    found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
                    if found != "ok":
                        said = " ".join(str(found).split())
                        raise StoreDamagedError(
                            f"the database {self.name} is damaged ({said}): stop the service and "
                            "restore a copy; nothing was changed"
                        )
                return schema.check(connection, self.name)
        finally:
            reader.dispose()

    @contextmanager
    def reading(self, still: bool = False, deadline: float | None = None) -> Iterator[Transaction]:
        """Open a transaction that reads; with `still`, everything as of one moment.

        Locks, such as those of a migration, are waited for until `deadline`, as by `writing`.
        """
        # In SQLite every transaction reads as of one moment.
        level = "REPEATABLE READ" if still and self.many_writers else ""
        with self._translating_errors(), self._begin(level=level) as connection:
            if deadline is not None:
                self._limit_waits(connection, deadline)
            yield Transaction(connection, self.archive_folder)

    def check_room(self) -> None:
        """Refuse to write where the disk is nearly full, as long as what is stored can be read."""
        if self.file is not None and (free := self.file.free_bytes) < self._min_free_bytes:
            advice = (
                f"{free} bytes are free, and the setting min_free_bytes reserves "
                f"{self._min_free_bytes}: make room; until then it is only read"
            )
            error = StoreFullError(f"the database {self.name} {StoreFullError.what}: {advice}")
            error.public = f"the database {StoreFullError.what}: {advice}"
            raise error

    @contextmanager
    def writing(
        self, into_reserve: bool = False, deadline: float | None = None
    ) -> Iterator[Transaction]:
        """Open a transaction that writes; it is on the disk when the block has ended.

        What makes room, or ends the process, may use the reserved space. Other writers are waited
        for until `deadline`, by the monotonic clock.
        """
        if not into_reserve:
            self.check_room()
        with self._noting_trouble(into_reserve), self._writer(deadline) as connection:
            yield Transaction(connection, self.archive_folder)

    def open_session(self) -> Session:
        """Open a session on a server, which is closed before the store."""
        from pairup.service.store.session import Session  # SQLite needs no psycopg

        return Session(self.name, make_engine(self._url, _SESSION_WAIT_S, self.process))

    @contextmanager
    def _writer(self, deadline: float | None = None) -> Iterator[Connection]:
        """Open a connection that writes, when it is its turn."""
        until = time.monotonic() + self._wait_s if deadline is None else deadline
        with self._turn_until(until), self._translating_errors(), self._begin(until) as connection:
            self._limit_waits(connection, until)
            yield connection

    def _limit_waits(self, connection: Connection, deadline: float) -> None:
        """Limit the time that a transaction of PostgreSQL waits for locks.

        Connections wait for `wait_s` by themselves: a statement is saved where that is near enough.
        """
        left = milliseconds_until(deadline)
        if self.many_writers and left < _NEAR * milliseconds(self._wait_s):
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {left}")

    @contextmanager
    def _turn_until(self, deadline: float) -> Iterator[None]:
        """Wait for the writers of this process before this one, but not beyond the deadline."""
        if self.many_writers:
            yield
            return
        if not self._turn.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise busy(self.name, "another writer of this process has it")
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _noting_trouble(self, into_reserve: bool) -> Iterator[None]:
        try:
            yield
        except (StoreUnavailableError, StoreBusyError, StoreFullError) as error:
            self.write_trouble = error.public or str(error)
            raise
        if not into_reserve:  # what makes room may have found nothing to do
            self.write_trouble = ""

    def probe(self) -> None:
        """Try to write if the last attempt failed: there may be no other, as callers went away."""
        if self.write_trouble:
            with suppress(ServiceError), self.writing() as transaction:
                transaction.write_nothing()

    def shrink(self) -> None:
        """Return the room of deleted rows to the disk; others cannot write meanwhile.

        Only for SQLite: PostgreSQL uses this room again by itself, and `VACUUM FULL` is a decision
        of those who run it.
        """
        self._run_alone("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")

    def empty_write_ahead_log(self) -> bool:
        """Empty the write-ahead log of SQLite, in which erased names may remain.

        Returns whether it is empty: it cannot be emptied while others read. They are waited for
        only a moment, because nobody can write meanwhile.
        """
        waiting = [f"PRAGMA busy_timeout = {each}" for each in (_MOMENT_MS, BUSY_MS)]
        found = self._run_alone(waiting[0], "PRAGMA wal_checkpoint(TRUNCATE)", waiting[1])
        return not found or not found[1][0]

    def _run_alone(self, *statements: str) -> list[Any]:
        """Run statements of SQLite that cannot be part of a transaction; returns their rows."""
        if self.many_writers:
            return []
        turn = self._turn_until(time.monotonic() + self._wait_s)
        # Outside of a transaction, which SQLAlchemy would begin.
        with turn, self._translating_errors(), closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            return [cursor.execute(statement).fetchone() for statement in statements]

    @property
    def archive_folder(self) -> Path | None:
        """The folder of the archives that are beside a file, None for a server."""
        return None if self.file is None else archive_folder(self.file.path)

    @contextmanager
    def repairing(self) -> Iterator[RepairTransaction]:
        """Open a transaction that can also take away what is stored, all of it or nothing."""
        with self._writer() as connection:
            yield RepairTransaction(connection, self.archive_folder)

    @contextmanager
    def _begin(self, writes_by: float | None = None, level: str = "") -> Iterator[Connection]:
        """Open a connection: to read, or to write after a wait that ends at some moment."""
        if self.file is not None:
            self.file.check()
        # Set before the transaction begins, because SQLite begins writers in another way.
        options = {"isolation_level": level} if level else {}
        connecting = self._engine.connect().execution_options(**{WRITES: writes_by, **options})
        with connecting as connection, connection.begin():
            yield connection
        if self.file is not None and writes_by is not None:
            self.file.check_written()

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise translate_error(self.name, error) from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
