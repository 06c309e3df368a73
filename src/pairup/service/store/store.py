"""Store: the database, opened, checked and migrated."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from pairup.service.store import schema
from pairup.service.store.engine import WRITES, for_looking, opened, parsed
from pairup.service.store.failures import StoreDamagedError, failure
from pairup.service.store.faults import fault_point
from pairup.service.store.transaction import Transaction

log = structlog.get_logger()


class Store:
    """A database with the log of every pool.

    Parameters
    ----------
    database
        A file of SQLite, or a URL of SQLite or PostgreSQL.
    inspect
        Whether all of a file is looked through for damage, which takes longer the larger it is.

    Raises
    ------
    ServiceError
        The database cannot be used; nothing in it was changed.
    """

    def __init__(self, database: str, inspect: bool = True) -> None:
        url = parsed(database)
        self._url, self._inspect = url, inspect
        self.name = url.render_as_string(hide_password=True)
        self.many_writers = url.drivername != "sqlite"
        self._engine = opened(url)
        # The writers of this process queue here: SQLite lets them sleep and try again, unfairly.
        self._turn = nullcontext() if self.many_writers else threading.Lock()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Check the database, and bring its schema up to date if need be."""
        if self._outdated():
            with self._telling(), self._begin(writes=True) as connection:
                schema.take_turn(connection)
                if not schema.check(connection, self.name):
                    return  # another was faster
                found = schema.version(connection)
                schema.migrate(connection)
            if found is not None:
                log.warning("migrated", database=self.name, was=found, now=schema.latest())

    def _outdated(self) -> bool:
        """Say whether the schema must be brought up to date, after a look that changes nothing."""
        looking = self._engine if self.many_writers else for_looking(self._url)
        if looking is None:
            return True
        try:
            with self._telling(), looking.connect() as connection:
                if self._inspect and not self.many_writers:
                    self._check_file(connection)
                return schema.check(connection, self.name)
        finally:
            looking.dispose()

    def _check_file(self, connection: Connection) -> None:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            said = " ".join(str(found).split())
            raise StoreDamagedError(
                f"the database {self.name} is damaged ({said}): stop the service and restore a "
                "copy; nothing was changed"
            )

    @contextmanager
    def reading(self, still: bool = False) -> Iterator[Transaction]:
        """Open a transaction that reads; `still`, all of it as of one moment."""
        # In SQLite a transaction always does.
        level = {"isolation_level": "REPEATABLE READ"} if still and self.many_writers else {}
        with self._telling(), self._begin(writes=False, **level) as connection:
            yield Transaction(connection)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction that writes; it is on the disk when the block has ended."""
        with self._turn, self._telling(), self._begin(writes=True) as connection:
            yield Transaction(connection)

    @contextmanager
    def _begin(self, writes: bool, **options: str) -> Iterator[Connection]:
        # Told before it begins, so that it begins as what it is.
        told = self._engine.connect().execution_options(**{WRITES: writes, **options})
        with told as connection:
            with connection.begin():
                yield connection
                if writes:
                    fault_point()
            if writes:
                fault_point()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise failure(self.name, error) from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
