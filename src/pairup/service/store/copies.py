"""Copies of a whole database, as of one moment, while it is served."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, insert, select, text, update

from pairup.errors import ServiceError
from pairup.service.store import tables
from pairup.service.store.archive_files import sync_folder, write_private
from pairup.service.store.database import Store
from pairup.service.store.database_file import archive_folder

_PAGE = 1_000  # rows


def copy_store(store: Store, file: Path) -> None:
    """Copy a database into a new file of SQLite, with the archives beside it."""
    if store.file is not None:
        copy_file(store.file.path, file)
        return
    with _new_file(file) as part:
        with closing(Store(str(part))) as copy:
            level = {"isolation_level": "REPEATABLE READ"}
            with store._begin(writes=False, **level) as source, copy._begin(writes=True) as target:
                _copy_tables(source, target)
        _copy_archives(part, None, archive_folder(file))


def copy_file(source: Path, file: Path) -> None:
    """Copy a file of SQLite that may be in use, with its archives; it is not changed."""
    with _new_file(file) as part:
        reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        with closing(reading), closing(sqlite3.connect(part)) as writing:
            reading.backup(writing)  # all at once: a reader keeps nobody from writing
            writing.execute("PRAGMA journal_mode = DELETE")  # all of it in one file
        _copy_archives(part, archive_folder(source), archive_folder(file))


def copy_to_server(store: Store, server: Store, archives: Path) -> None:
    """Copy a file of SQLite into an empty database of a server; its archives stay in a folder."""
    with store._begin(writes=False) as source, server._begin(writes=True) as target:
        if target.execute(select(func.count()).select_from(tables.pools)).scalar():
            raise ServiceError(
                f"the database {server.name} has pools already: give an empty one; nothing was "
                "changed"
            )
        _copy_tables(source, target)
        target.execute(update(tables.archives).values(folder=str(archives.absolute())))
        for name in ("pools", "matchings"):  # whose next numbers follow the copied ones
            column = f"pg_get_serial_sequence('{name}', 'number')"
            following = f"(SELECT coalesce(max(number), 0) + 1 FROM {name})"
            target.execute(text(f"SELECT setval({column}, {following}, false)"))


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    """Make a file under another name, which gets its own when it is whole and on the disk."""
    if file.exists() or not file.parent.is_dir():
        why = "exists already" if file.exists() else "is in a folder that does not exist"
        raise ServiceError(f"the file {str(file)!r} {why}: give another name")
    part = file.with_name(f"{file.name}.part")
    _remove(part)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        part.replace(file)
        sync_folder(file.parent)
    except (OSError, sqlite3.Error) as error:
        raise ServiceError(
            f"the copy {str(file)!r} cannot be written ({error}): make room or give another "
            "name; nothing else was changed"
        ) from error
    finally:
        _remove(part)


def _copy_tables(source: Connection, target: Connection) -> None:
    for table in tables.metadata.sorted_tables:
        found = source.execution_options(yield_per=_PAGE).execute(select(table))
        for page in found.partitions():
            target.execute(insert(table), [dict(row._mapping) for row in page])


def _copy_archives(part: Path, beside: Path | None, folder: Path) -> None:
    """Copy the archives that a copy names to the folder beside it, and name them so."""
    with closing(sqlite3.connect(part)) as connection:
        known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'archives'")
        if known.fetchone() is None:
            return  # an older schema
        for place, name in connection.execute("SELECT folder, name FROM archives").fetchall():
            source = beside if place is None else Path(place)
            assert source is not None, "only a file of SQLite has archives beside it"
            write_private(folder / name, (source / name).read_bytes())
        connection.execute("UPDATE archives SET folder = NULL")
        connection.commit()


def _remove(part: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        part.with_name(part.name + ending).unlink(missing_ok=True)
