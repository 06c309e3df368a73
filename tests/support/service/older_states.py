"""Older states of a database, put back in place while services use it.

An operator restores a file of SQLite in its place; PostgreSQL fails over to a replica that had not
yet received the last transactions.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import delete, insert, select

from pairup.service.store import Store, tables


class OlderState:
    """A database as it is now, with its archives, which can be put back later."""

    def __init__(self, database, archives=None):
        self._database, self._archives = database, archives or Path(f"{database}.archive")
        self._files = _files(self._archives)
        if "://" in database:
            with closing(Store(database)) as store, store._begin() as connection:
                self._rows = {
                    table: [dict(row._mapping) for row in connection.execute(select(table))]
                    for table in tables.metadata.sorted_tables
                }
            return
        self._copy = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(database)) as connection:
            connection.backup(self._copy)

    def put_back(self):
        """Let the database be as it was; whoever has it open is not told."""
        shutil.rmtree(self._archives, ignore_errors=True)
        for path, content in self._files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if "://" not in self._database:
            with closing(sqlite3.connect(self._database)) as connection:
                self._copy.backup(connection)
            return
        with closing(Store(self._database)) as store, store._writer() as connection:
            for table in reversed(tables.metadata.sorted_tables):
                connection.execute(delete(table))
            for table, rows in self._rows.items():
                if rows:
                    connection.execute(insert(table), rows)
            following = "(SELECT coalesce(max(number), 0) + 1 FROM pools)"
            sequence = "pg_get_serial_sequence('pools', 'number')"
            connection.exec_driver_sql(f"SELECT setval({sequence}, {following}, false)")

    def close(self):
        if "://" not in self._database:
            self._copy.close()


def _files(folder):
    found = folder.iterdir() if folder.is_dir() else ()
    return {path: path.read_bytes() for path in found}
