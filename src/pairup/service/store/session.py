"""Sessions: a connection to PostgreSQL on which a process keeps its lease and hears of others."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from pairup.service.store.failures import translate_error
from pairup.service.store.transaction import Transaction

_CHANNEL = "pairup"
_MAX_WORDS = 500  # in a notice, which has at most 8,000 bytes


class Session:
    """A connection of its own, on which each statement is a transaction; of one thread.

    Only `wake` may be called by others. After an error it is opened again.
    """

    def __init__(self, database: str, engine: Engine) -> None:
        self._database, self._engine = database, engine
        self._connection: Connection | None = None
        self._woken, self._waking = socket.socketpair()
        self._waking.setblocking(False)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Use the connection, which is open after this."""
        with self._translating_errors():
            yield Transaction(self._open())

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, psycopg.Error) as error:
            self._drop()
            raise translate_error(self._database, error) from error

    def _open(self) -> Connection:
        if self._connection is None:
            opened = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            opened.exec_driver_sql(f"LISTEN {_CHANNEL}")
            self._connection = opened
        return self._connection

    def tell(self, words: Iterable[str]) -> None:
        """Send words to every process, this one included."""
        with self._translating_errors():
            told = list(words)
            for start in range(0, len(told), _MAX_WORDS):
                said = " ".join(told[start : start + _MAX_WORDS])
                self._open().exec_driver_sql(f"NOTIFY {_CHANNEL}, '{said}'")

    def hear(self, seconds: float) -> set[str]:
        """Wait for words for some time, or until it is woken; returns the words."""
        with self._translating_errors():
            driver: Any = self._open().connection.driver_connection
            waiting = select.poll()  # `select` knows the first 1,024 files of a process only
            for each in (driver, self._woken):
                waiting.register(each, select.POLLIN)
            found = waiting.poll(max(0.0, 1_000 * seconds))
            if self._woken.fileno() in (file for file, _ in found):
                self._woken.recv(1_000)
            return {word for each in driver.notifies(timeout=0) for word in each.payload.split()}

    def wake(self) -> None:
        """End the wait of the thread that hears."""
        with suppress(OSError):  # woken often enough, or closed
            self._waking.send(b"1")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close the connection."""
        self._drop()
        self._engine.dispose()
        self._woken.close()
        self._waking.close()
