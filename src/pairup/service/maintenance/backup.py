"""Backups: a copy of a database in one file of SQLite, verified, and the way back."""

from __future__ import annotations

import tempfile
from contextlib import closing, suppress
from pathlib import Path

from pairup.errors import ServiceError
from pairup.service.maintenance.verify import Verification, verify
from pairup.service.store import Store
from pairup.service.store.copies import copy_to_server, copying_file, copying_store
from pairup.service.store.database_file import archive_folder
from pairup.service.store.engine import parse_address


class _UnsoundError(Exception):
    """A backup is not restored, because what is in it does not follow from its log."""


def back_up(store: Store, file: Path) -> list[Verification]:
    """Copy a database into a new file, with its archives beside it, and verify the copy."""
    with copying_store(store, file) as copy:
        return _verified(copy)


def restore(file: Path, database: str) -> list[Verification]:
    """Copy a backup to where it will be served, which must be new or empty, if it is sound.

    The backup is not changed. In a server, its archives are read from where they are, beside the
    backup. Where something in the backup differs from its log, nothing is restored.
    """
    if not file.is_file():
        raise ServiceError(f"there is no backup {str(file)!r}: correct the name")
    url = parse_address(database)
    if url.drivername == "sqlite":
        return _restore_file(file, Path(str(url.database)))
    with tempfile.TemporaryDirectory() as folder:
        verdicts = _restore_file(file, Path(folder) / "copy.db")
        if all(found.error == "" for found in verdicts):
            with (
                closing(Store(f"{folder}/copy.db")) as copy,
                closing(Store(database)) as server,
            ):
                copy_to_server(copy, server, archive_folder(file))
                return verify(server)
    return verdicts


def _restore_file(file: Path, target: Path) -> list[Verification]:
    verdicts: list[Verification] = []
    with suppress(_UnsoundError), copying_file(file, target) as copy:
        verdicts = _verified(copy)
        if any(found.error for found in verdicts):
            raise _UnsoundError
    return verdicts


def _verified(file: Path) -> list[Verification]:
    with closing(Store(str(file))) as copy:
        return verify(copy)
