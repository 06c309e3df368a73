"""Failures of the database, by what can be done about them."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import TimeoutError as PoolTimeout

from pairup.errors import ServiceError


class StoreError(ServiceError):
    """Something is wrong with the database."""

    problem = "store-damaged"  # its name for callers; also that of an inconsistent log
    what = advice = ""
    public = ""  # the message for callers of the service, without the address of the database


class StoreUnavailableError(StoreError):
    """The database cannot be reached, is locked or cannot be written; later it may be."""

    problem = "store-unavailable"
    what = "cannot be used now"
    advice = "check that it runs, can be reached and may be written, then try again"


class StoreBusyError(StoreError):
    """Others have kept the database, or a pool in it, for too long."""

    problem = "pool-busy"
    what = "has been busy for too long"
    advice = "try again in a moment, and report outcomes in batches"


class StoreFullError(StoreError):
    """The disk of the database is full."""

    problem = "store-full"
    what = "has no room left on its disk"
    advice = "make room, then try again; nothing of this request was stored"


class StoreDamagedError(StoreError):
    """The database is damaged, or is not a database."""

    what = "is damaged, or is not a database"
    advice = "restore a copy, or give another database; nothing was changed"


class StoreConflictError(StoreError):
    """Another process changed the same thing at the same moment: try again."""

    problem = "busy"
    what = "was changed at the same moment by another process"
    advice = "try again"


_KINDS: dict[str | int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: StoreBusyError,
    "55P03": StoreBusyError,  # lock_timeout
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_CORRUPT: StoreDamagedError,
    sqlite3.SQLITE_NOTADB: StoreDamagedError,
    sqlite3.SQLITE_CONSTRAINT: StoreConflictError,
    "53100": StoreFullError,
    "XX001": StoreDamagedError,
    "XX002": StoreDamagedError,
    "23505": StoreConflictError,
    "40001": StoreConflictError,
    "40P01": StoreConflictError,
}


def translate_error(database: str, error: Exception) -> StoreError:
    """Turn an error of the database into a `StoreError`."""
    if isinstance(error, PoolTimeout):  # of connections
        return busy(database, "all connections are in use")
    cause = getattr(error, "orig", None) or error
    # The code of SQLite without its details.
    code = getattr(cause, "sqlstate", None) or getattr(cause, "sqlite_errorcode", 0) & 0xFF
    kind = _KINDS.get(code, StoreUnavailableError)
    return _make(kind, database, str(cause).strip().partition("\n")[0])


def busy(database: str, why: str) -> StoreError:
    """Make the error of a wait for the database that took too long."""
    return _make(StoreBusyError, database, why)


def _make(kind: type[StoreError], database: str, why: str) -> StoreError:
    made = kind(f"the database {database} {kind.what} ({why}): {kind.advice}")
    made.public = f"the database {kind.what}: {kind.advice}; the service's log says more"
    return made
