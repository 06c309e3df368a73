"""Copies of a whole database, as of one moment, while it is served."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, text, update

from pairup.errors import ServiceError
from pairup.service.store import tables
from pairup.service.store.archive_files import NAME, read_checked, sync_folder, write_private
from pairup.service.store.database import Store
from pairup.service.store.database_file import archive_folder

_PAGE = 1_000  # rows


@contextmanager
def copying_store(store: Store, file: Path) -> Iterator[Path]:
    """Copy a database into a new file of SQLite, with its archives; see `copying_file`."""
    if store.file is not None:
        with copying_file(store.file.path, file, trusted=True) as part:
            yield part
        return
    with _new_file(file) as part:
        with closing(Store(str(part))) as copy:
            reading = store._begin(level="REPEATABLE READ")
            with reading as source, copy._writer() as target:
                _copy_tables(source, target)
        _copy_archives(part, _archives(part, None, trusted=True))
        yield part


@contextmanager
def copying_file(source: Path, file: Path, trusted: bool = False) -> Iterator[Path]:
    """Copy a file of SQLite that may be in use, with its archives; it is not changed.

    The copy, and the archives beside it, have other names while the block runs, and disappear if an
    error comes. Where the source is not trusted, because it may come from elsewhere, its archives
    must be beside it.
    """
    archives = _archives(source, archive_folder(source), trusted)  # checked before any is written
    with _new_file(file) as part:
        reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        with closing(reading), closing(sqlite3.connect(part)) as writing:
            reading.backup(writing)  # all at once: a reader keeps nobody from writing
        _copy_archives(part, archives)
        yield part


def copy_to_server(store: Store, server: Store, archives: Path) -> None:
    """Copy a file of SQLite into an empty database of a server; its archives stay in a folder."""
    with store._begin() as source, server._writer() as target:
        if target.execute(select(func.count()).select_from(tables.pools)).scalar():
            raise ServiceError(
                f"the database {server.name} has pools already: give an empty one; nothing was "
                "changed"
            )
        _copy_tables(source, target)
        target.execute(update(tables.archives).values(folder=str(archives.absolute())))
        column = "pg_get_serial_sequence('pools', 'number')"
        following = "(SELECT coalesce(max(number), 0) + 1 FROM pools)"  # the copied ones
        target.execute(text(f"SELECT setval({column}, {following}, false)"))


@contextmanager
def _new_file(file: Path) -> Iterator[Path]:
    """Make a file under another name, which gets its own when it is whole and on the disk."""
    folder = archive_folder(file)
    if file.exists() or not file.parent.is_dir():
        why = "exists already" if file.exists() else "is in a folder that does not exist"
        raise ServiceError(f"the file {str(file)!r} {why}: give another name")
    if folder.exists():
        raise ServiceError(
            f"the folder {str(folder)!r} exists already, which the archives of the copy need: "
            "give another name, or move it away"
        )
    part = file.with_name(f"{file.name}.part")
    _remove(part)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        with closing(sqlite3.connect(part)) as copy:  # one file, to be read without a log beside it
            copy.execute("PRAGMA journal_mode = DELETE")
        with open(part, "rb") as written:
            os.fsync(written.fileno())
        if archive_folder(part).exists():
            archive_folder(part).replace(folder)
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


class _Archive(NamedTuple):
    """An archive that a database names."""

    path: Path
    sha256: str
    dropped: bool  # whether its file was deleted on purpose


def _archives(file: Path, beside: Path | None, trusted: bool) -> list[_Archive]:
    """List the archives that a file of SQLite names, or refuse names that lead elsewhere."""
    opened = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    query = "SELECT folder, name, sha256, dropped_at IS NOT NULL FROM archives"
    with closing(opened) as connection:
        try:
            rows = connection.execute(query).fetchall()
        except sqlite3.Error:
            return []  # not a database of this schema, which is refused when it is opened
    for folder, name, *_ in rows:
        if not re.fullmatch(NAME, str(name)) or (folder is not None and not trusted):
            named = name if folder is None else f"{folder}/{name}"
            raise ServiceError(
                f"{str(file)!r} names an archive {named!r}, and a backup has its archives beside "
                "it, under names of their own: it was tampered with, take another one; nothing "
                "was written"
            )
    return [_Archive(_folder(beside, folder) / name, *rest) for folder, name, *rest in rows]


def _folder(beside: Path | None, named: str | None) -> Path:
    if named is not None:
        return Path(named)
    assert beside is not None, "only a file of SQLite has archives beside it"
    return beside


def _copy_archives(part: Path, archives: list[_Archive]) -> None:
    """Copy archives to the folder beside a copy, and let it name them so."""
    for path, sha256, dropped in archives:
        if not dropped:
            write_private(archive_folder(part) / path.name, read_checked(path, sha256))
    with closing(sqlite3.connect(part)) as connection:
        if archives:
            connection.execute("UPDATE archives SET folder = NULL")
            connection.commit()


def _remove(part: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        part.with_name(part.name + ending).unlink(missing_ok=True)
    shutil.rmtree(archive_folder(part), ignore_errors=True)
