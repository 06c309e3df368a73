"""Copies of a whole database, as of one moment, while it is served."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, func, insert, select, text, update

from pairup.errors import ServiceError
from pairup.service.store import tables
from pairup.service.store.archive_files import read_checked, sync_folder, write_private
from pairup.service.store.database import Store
from pairup.service.store.database_file import archive_folder
from pairup.service.store.event_log import Archive, EventLog

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
        _copy_archives(part, None, trusted=True)
        yield part


@contextmanager
def copying_file(source: Path, file: Path, trusted: bool = False) -> Iterator[Path]:
    """Copy a file of SQLite that may be in use, with its archives; it is not changed.

    The copy, and the archives beside it, have other names while the block runs, and disappear if an
    error comes. Where the source is not trusted, for example a third party's backup, its archives
    must be beside it.
    """
    with _new_file(file) as part:
        reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
        with closing(reading), closing(sqlite3.connect(part)) as writing:
            reading.backup(writing)  # all at once: a reader keeps nobody from writing
        # Those that the copy names: their files are on the disk, and others may be archived by now.
        _copy_archives(part, archive_folder(source), trusted)
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
        if table is tables.processes:  # of this server, not of its contents
            continue
        found = source.execution_options(yield_per=_PAGE).execute(select(table))
        for page in found.partitions():
            target.execute(insert(table), [dict(row._mapping) for row in page])


def _copy_archives(part: Path, beside: Path | None, trusted: bool) -> None:
    """Copy the archives that a copy names to the folder beside it, and let it name them so."""
    with closing(Store(str(part), inspect=False)) as copy, copy._writer() as connection:
        log = EventLog(connection, beside)
        archives = log.archives()  # refused before any is written if one has an odd name
        if not trusted:
            _check_folders(archives, beside)
        for each in archives:
            if not each.dropped:
                content = read_checked(each.path, each.file.sha256)
                write_private(archive_folder(part) / each.file.name, content)
        connection.execute(update(tables.archives).values(folder=None))


def _check_folders(archives: list[Archive], beside: Path | None) -> None:
    """Refuse archives that are not beside the backup which names them."""
    for each in archives:
        if each.path.parent != beside:
            raise ServiceError(
                f"the backup names an archive {str(each.path)!r}, and a backup has its archives "
                "beside it: it was tampered with, take another one; nothing was written"
            )


def _remove(part: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        part.with_name(part.name + ending).unlink(missing_ok=True)
    shutil.rmtree(archive_folder(part), ignore_errors=True)
