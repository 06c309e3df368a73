"""Failures of the database, by what can be done about them."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from pairup.errors import ServiceError


class StoreError(ServiceError):
    """Something is wrong with the database.

    Attributes
    ----------
    public
        The message for callers of the service, without the address of the database.
    """

    public = ""


class StoreUnavailableError(StoreError):
    """The database cannot be reached, is locked or cannot be written; later it may be."""


class StoreFullError(StoreError):
    """The disk of the database is full."""


class StoreDamagedError(StoreError):
    """The database is damaged, or is not a database."""


class StoreConflictError(StoreError):
    """Another process changed the same thing at the same moment: try again."""


_SQLITE = {
    sqlite3.SQLITE_FULL: StoreFullError,
    sqlite3.SQLITE_CORRUPT: StoreDamagedError,
    sqlite3.SQLITE_NOTADB: StoreDamagedError,
    sqlite3.SQLITE_CONSTRAINT: StoreConflictError,
}
_POSTGRESQL = {
    "53100": StoreFullError,
    "XX001": StoreDamagedError,
    "XX002": StoreDamagedError,
    "23505": StoreConflictError,
    "40001": StoreConflictError,
    "40P01": StoreConflictError,
}
_ADVICE: dict[type[StoreError], str] = {
    StoreUnavailableError: "check that it runs, can be reached and may be written, then try again",
    StoreFullError: "make room, then try again; nothing of this request was stored",
    StoreDamagedError: "restore a copy, or give another database; nothing was changed",
    StoreConflictError: "try again",
}
_WHAT: dict[type[StoreError], str] = {
    StoreUnavailableError: "cannot be used now",
    StoreFullError: "has no room left on its disk",
    StoreDamagedError: "is damaged, or is not a database",
    StoreConflictError: "was changed at the same moment by another process",
}


def translate_error(database: str, error: SQLAlchemyError) -> StoreError:
    """Turn an error of SQLAlchemy into a `StoreError`."""
    kind = _error_type(error)
    cause = getattr(error, "orig", None) or error
    said = str(cause).strip().partition("\n")[0]
    made = kind(f"the database {database} {_WHAT[kind]} ({said}): {_ADVICE[kind]}")
    made.public = f"the database {_WHAT[kind]}: {_ADVICE[kind]}; the service's log says more"
    return made


def _error_type(error: SQLAlchemyError) -> type[StoreError]:
    cause = error.orig if isinstance(error, DBAPIError) else None
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # without its details
        return _SQLITE.get(code, StoreUnavailableError)
    return _POSTGRESQL.get(getattr(cause, "sqlstate", None) or "", StoreUnavailableError)
