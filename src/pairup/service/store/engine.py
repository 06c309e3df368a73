"""Engines: how each kind of database is opened, so that what is committed is on the disk."""

from __future__ import annotations

import math
import sqlite3
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool, QueuePool

from pairup.errors import ServiceError

WRITES = "pairup_writes"  # execution option of a connection that will write: until when it waits
BUSY_MS = 20_000
_MAX_IDLE_MS = 60_000
_PAGE_BYTES = 4_096  # of a file of SQLite that has no tables yet
# A machine that vanishes is noticed in seconds, not in hours.
_KEEPING = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_MIN_CONNECT_S, _MAX_CONNECT_S = 2, 10  # whole seconds; libpq takes 1 for 2


def parse_address(database: str) -> URL:
    """Read the address of a database: a file, or a URL of SQLite or PostgreSQL.

    Examples
    --------
    >>> parse_address("pools.db").render_as_string()
    'sqlite:///pools.db'
    >>> parse_address("postgresql://db/pairup").drivername
    'postgresql+psycopg'
    """
    try:
        local = "://" not in database
        url = URL.create("sqlite", database=database) if local else make_url(database)
    except ArgumentError:
        raise ServiceError(
            f"{database!r} is not the address of a database: give a file, sqlite:///file or "
            "postgresql://user@host/name"
        ) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise ServiceError(
            f"a database must be SQLite or PostgreSQL, got {url.drivername!r}: give a file, "
            "sqlite:///file or postgresql://user@host/name"
        )
    if url.drivername == "sqlite":
        _check_file(url.database or ":memory:")
    return url


def _check_file(name: str) -> None:
    """Refuse a name that cannot be that of a database."""
    if name == ":memory:":
        raise ServiceError("a database in memory loses everything when it stops: give a file")
    file = Path(name)
    if file.is_dir():
        raise ServiceError(f"a database is a file, {name!r} is a folder: try {name}/pools.db")
    if not file.parent.is_dir():
        raise ServiceError(
            f"the folder of the database {name!r} does not exist: make {str(file.parent)!r} first"
        )


def is_missing(database: str) -> bool:
    """Return whether a database is a file that does not exist yet."""
    url = parse_address(database)
    return url.drivername == "sqlite" and not Path(str(url.database)).exists()


def session_name(process: str) -> str:
    """Return what the sessions of a process are called on a server."""
    return f"pairup {process}"


def make_engine(url: URL, wait_s: float, process: str = "") -> Engine:
    """Make an engine that waits no longer than `wait_s`: for a connection, a server or a lock.

    An attempt to reach a server may take 2 seconds in any case.
    """
    if url.drivername == "sqlite":
        # Never makes a file: that of a running service may have been deleted.
        connect = partial(_connect_sqlite, url, "rw", check_same_thread=False)
        engine = create_engine(
            "sqlite://", creator=connect, poolclass=QueuePool, pool_timeout=wait_s
        )
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    connect_s = min(max(math.ceil(wait_s), _MIN_CONNECT_S), _MAX_CONNECT_S)
    wait_ms = milliseconds(wait_s)
    named = {"application_name": session_name(process)}
    given = {
        **_KEEPING,
        **named,
        "connect_timeout": connect_s,
        "tcp_user_timeout": max(wait_ms, 2_000),
    }
    engine = create_engine(url, pool_pre_ping=True, connect_args=given, pool_timeout=wait_s)
    event.listen(engine, "connect", partial(_set_up_postgresql, wait_ms))
    return engine


def make_read_only_engine(url: URL) -> Engine | None:
    """Make an engine that cannot change a file of SQLite, None if there is no such file yet.

    To switch on the write-ahead log would already change a file, which may belong to others.
    """
    file = Path(str(url.database))
    if not file.exists() or not file.stat().st_size:
        return None
    journal = file.with_name(f"{file.name}-journal")
    if file.stat().st_size <= _PAGE_BYTES and journal.exists():
        return None  # the power was cut while it was made: SQLite must write to undo that
    return create_engine(
        "sqlite://", creator=partial(_connect_sqlite, url, "ro"), poolclass=NullPool
    )


def _connect_sqlite(url: URL, mode: str, **options: Any) -> sqlite3.Connection:
    address = f"file:{quote(str(Path(str(url.database)).absolute()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_MS / 1000, **options)


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by _begin_sqlite, not by the driver
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = FULL")  # a commit is on the disk before it is answered
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # what is erased is gone from the file


def _use_wal(connection: Any) -> None:
    """Switch on the write-ahead log; SQLite gives up at once while another process does so."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _set_up_postgresql(wait_ms: int, connection: Any, _: Any) -> None:
    connection.autocommit = True
    # Nobody waits or holds a lock without end, not even a process that is frozen.
    connection.execute(f"SET lock_timeout = {wait_ms}")
    connection.execute(f"SET idle_in_transaction_session_timeout = {_MAX_IDLE_MS}")
    connection.autocommit = False


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a reader that becomes a writer might have to give up.
    deadline = connection.get_execution_options().get(WRITES)
    cursor = connection.connection.cursor()
    if deadline is None:
        cursor.execute("BEGIN")
        return
    cursor.execute(f"PRAGMA busy_timeout = {milliseconds_until(deadline)}")
    cursor.execute("BEGIN IMMEDIATE")


def milliseconds_until(deadline: float) -> int:
    """Return how long a moment of the monotonic clock can be waited for, at least 1."""
    return milliseconds(deadline - time.monotonic())


def milliseconds(seconds: float) -> int:
    """Return a time in milliseconds, at least 1: 0 would mean to wait forever."""
    return max(1, round(1_000 * seconds))
