"""Versions of the schema: older databases are migrated, newer ones are not touched."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from pairup.errors import ServiceError
from pairup.service.store.failures import StoreDamagedError
from pairup.service.store.tables import metadata

_MIGRATIONS = Path(__file__).with_name("migrations")
_LOCK = 0x70616972  # an advisory lock of PostgreSQL, as several processes may start at once


def _config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def read_version(connection: Connection) -> str | None:
    """Return the version of the schema of a database, None if it is empty."""
    return MigrationContext.configure(connection).get_current_revision()


@cache
def _versions() -> tuple[str, ...]:
    """List the versions that this pairup knows, the latest first."""
    return tuple(each.revision for each in ScriptDirectory.from_config(_config()).walk_revisions())


def latest_version() -> str:
    """Return the version that this pairup writes."""
    return _versions()[0]


def check(connection: Connection, database: str) -> bool:
    """Return whether a database must be migrated; refuse one of another version, or not ours."""
    found = read_version(connection)
    if found is None:
        tables = inspect(connection).get_table_names()
        if tables:
            raise ServiceError(
                f"the database {database} is not pairup's, it has a table {sorted(tables)[0]!r}: "
                "give an empty one, or a file that does not exist yet; nothing was changed"
            )
        return True
    if found not in _versions():
        raise ServiceError(
            f"the database {database} has schema {found}, this pairup knows {_versions()[-1]} to "
            f"{latest_version()}: serve it with the pairup that wrote it; nothing was changed"
        )
    if found != latest_version():
        return True
    missing = set(metadata.tables) - set(inspect(connection).get_table_names())
    if missing:
        raise StoreDamagedError(
            f"the database {database} is damaged, it lacks the table {min(missing)!r}: restore a "
            "copy; nothing was changed"
        )
    return False


def wait_for_turn(connection: Connection) -> None:
    """Wait for processes that migrate the same database; in SQLite a writer is alone anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def migrate(connection: Connection) -> None:
    """Migrate a database that passed `check` to the latest version, in one transaction."""
    command.upgrade(_config(connection), "head")
