"""Backups: a copy of a database in one file of SQLite, verified, and the way back."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from pairup.errors import ServiceError
from pairup.service.operations.verify import Verification, verify
from pairup.service.store import Store
from pairup.service.store.copies import copy_file, copy_store, copy_to_server
from pairup.service.store.database_file import archive_folder
from pairup.service.store.engine import parse_address


def back_up(store: Store, file: Path) -> list[Verification]:
    """Copy a database into a new file, with its archives beside it, and verify the copy."""
    copy_store(store, file)
    with closing(Store(str(file))) as copy:
        return verify(copy)


def restore(file: Path, database: str) -> list[Verification]:
    """Copy a backup to where it will be served, which must be new or empty, and verify it.

    The backup is not changed, even where it has an older schema. In a server, its archives are read
    from where they are, beside the backup.
    """
    if not file.is_file():
        raise ServiceError(f"there is no backup {str(file)!r}: correct the name")
    url = parse_address(database)
    if url.drivername == "sqlite":
        copy_file(file, Path(str(url.database)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            copy_file(file, Path(folder) / "copy.db")
            with (
                closing(Store(f"{folder}/copy.db")) as copy,
                closing(Store(database)) as server,
            ):
                copy_to_server(copy, server, archive_folder(file))
    with closing(Store(database)) as restored:
        return verify(restored)
