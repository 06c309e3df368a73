"""Server: what the service needs of PostgreSQL, and of what is in between."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, Engine

from pairup.errors import ServiceError

_OLDEST = 120_000
# What each setting must be, or an acknowledged change may be lost with the machine of the server.
_SAFE = {
    "fsync": ("on",),
    "full_page_writes": ("on",),
    "synchronous_commit": ("on", "local", "remote_write", "remote_apply"),
}


class Server(NamedTuple):
    """A server that can be used."""

    version: str
    settings: dict[str, str]
    unsafe: list[str]  # why what was acknowledged may be lost


def look_at(engine: Engine, database: str) -> Server:
    """Look at a server, and refuse one that is too old, or that is not reached by sessions."""
    with engine.connect() as one, engine.connect() as other:
        number = int(_show(one, "server_version_num"))
        version = _show(one, "server_version")
        if number < _OLDEST:
            raise ServiceError(
                f"the database {database} is PostgreSQL {version}, pairup needs 12 or later: "
                "upgrade the server; nothing was changed"
            )
        one.rollback()
        if _shares_sessions(one, other):
            raise ServiceError(
                f"the database {database} is reached through a connection pooler that changes the "
                "session between transactions, in which time limits, notices and prepared "
                "statements are lost: set its pool_mode to session for this database, or connect "
                "to the server itself; nothing was changed"
            )
        settings = {name: _show(one, name) for name in _SAFE}
    unsafe = [
        f"{name} is {settings[name]}: set it to on, or what was acknowledged may be lost with the "
        "server's machine"
        for name, safe in _SAFE.items()
        if settings[name] not in safe
    ]
    return Server(version, settings, unsafe)


def _show(connection: Connection, name: str) -> str:
    return str(connection.exec_driver_sql(f"SHOW {name}").scalar_one())


def _shares_sessions(one: Connection, other: Connection) -> bool:
    """Return whether a pooler gives another session to the next transaction of a connection.

    One connection names itself in its session; while the other one has a transaction open, for
    which a pooler takes that session, it looks for the name.
    """
    if one.connection.driver_connection.info.backend_pid == _pid(one):  # type: ignore[union-attr]
        return False  # nothing in between: a pooler makes up the number that it tells
    one.rollback()
    one.exec_driver_sql("SET pairup.session = 'one'")
    one.commit()
    _pid(other)
    found = one.exec_driver_sql("SELECT current_setting('pairup.session', true)").scalar_one()
    one.exec_driver_sql("RESET pairup.session")
    one.commit()
    other.rollback()
    return found != "one"


def _pid(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
