"""Ownership: of the processes that share a server of PostgreSQL, one serves each pool.

A process has a *lease*, a row with a deadline by the server's clock, and renews it every second.
The row of a pool names its owner. A pool whose owner has no lease any more goes to the process of
greatest hash of pool and process, so that all agree on it without asking, and the death or the
arrival of a process moves only its own share of the pools. Whoever appends to a log names the owner
that it knows, in the statement that checks the head: a process that was stopped, and goes on after
another has taken over, writes nothing.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar

import structlog

from pairup.errors import ServiceError
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.store import Peer, PoolRow, Store, Transaction

LEASE_S, _RENEW_S = 3.0, 1.0
_REST_S = 0.02  # between two notices to others
_TRIES = 3
_MAX_UNTOLD = 10_000
_MEMBERS = "processes"  # the notice that a process came or went
# Whether the request of this context was forwarded by another process, which chose this one.
forwarded: ContextVar[bool] = ContextVar("forwarded", default=False)
log = structlog.get_logger()


class Ownership:
    """Which of the pools this process serves, and who serves the others.

    Parameters
    ----------
    store : Store
        A server of PostgreSQL.
    address : str
        Where other processes reach this one, for example "http://10.0.0.7:8001".
    heard : callable
        Called with the number of a pool that another process has changed.
    """

    def __init__(self, store: Store, address: str, heard: Callable[[int], None]) -> None:
        self.id, self._store, self._heard = store.process, store, heard
        self.me = Peer(address, secrets.token_urlsafe(32))
        self._live: dict[str, Peer] = {}  # all processes that have a lease, by id
        self._member, self._left = False, False
        self._placed: dict[str, Peer] | None = self._live  # of whom each has the pools it should
        self._renewing = threading.Lock()  # or a lease would be renewed after it was ended
        self._untold = deque[str](maxlen=_MAX_UNTOLD)  # for other processes
        self._session, self._closed = store.open_session(), threading.Event()
        self._renew()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def peer(self, process: str) -> Peer | None:
        """Return how a process is reached, None if it had no lease when this one looked last."""
        return self._live.get(process)

    def join(self) -> None:
        """Begin to serve pools."""
        with self._store.writing() as transaction:
            self._renew_in(transaction)
        self._tell_members()

    def _renew_in(self, transaction: Transaction) -> None:
        if self._left:
            raise RefusalError("not-ready", "the service is shutting down: ask another process")
        self._member = True
        transaction.renew_lease(self.id, self.me, LEASE_S)
        self._see(transaction.processes()[0])

    def prefers(self, pool: int) -> str | None:
        """Return the process that a pool goes to, None if there is none yet."""
        return _preferred(self._live, pool)

    def take(self, row: PoolRow) -> None:
        """Make sure that this process serves a pool, or raise a `MisdirectedError`."""
        for _ in range(_TRIES):
            if row.owner == self.id:
                return
            live = self._live  # another thread replaces it
            owner = row.owner if row.owner in live else _preferred(live, row.number)
            mine = owner in (None, self.id) or (row.owner not in live and forwarded.get())
            if owner is not None and not mine:
                raise MisdirectedError(row.name, owner, live[owner].address)
            with self._store.writing() as transaction:
                self._renew_in(transaction)
                if transaction.take_pool(row.number, row.owner, self.id):
                    log.info("pool taken", pool=row.name, of=row.owner)
                    if owner not in (None, self.id):  # it goes to another, as this one sees it
                        self._placed = None
                    return
                row = transaction.any_pool(row.number)  # another process was faster
        raise RefusalError("busy", f"pool {row.name!r} is changing its process: try again")

    def misplaced(self, limit: int) -> list[tuple[PoolRow, str]]:
        """List some of the pools that this process serves and that go to another, and to which.

        Until there are none, after processes have come or gone.
        """
        live = self._live
        if self._placed is live or self._left:
            return []
        self._placed, found = live, None  # before the look: a pool may be taken meanwhile
        try:
            with self._store.reading() as transaction:
                rows = transaction.pools_of(self.id)
            placed = ((row, _preferred(live, row.number)) for row in rows)
            found = [(row, to) for row, to in placed if to is not None and to != self.id]
        finally:
            if found != []:
                self._placed = None
        return found[:limit]

    def leave(self) -> None:
        """Serve no pool from now on: others take them at once."""
        self._left, self._member = True, False
        with self._renewing, self._store.writing(into_reserve=True) as transaction:
            transaction.end_lease(self.id)
            self._see({id: peer for id, peer in self._live.items() if id != self.id})
        self._tell_members()

    def tell(self, pool: int) -> None:
        """Tell other processes that a pool has changed."""
        if len(self._live) > 1:
            self._untold.append(str(pool))
            self._session.wake()

    def _tell_members(self) -> None:
        self._untold.append(_MEMBERS)
        self._session.wake()

    # The thread

    def _run(self) -> None:
        due = 0.0
        while not self._closed.is_set():
            try:
                if time.monotonic() >= due:
                    due = time.monotonic() + self._renew()
                self._tell()
                if _MEMBERS in (words := self._session.hear(due - time.monotonic())):
                    due = 0.0
                for word in words - {_MEMBERS}:
                    self._heard(int(word))
            except (ServiceError, RefusalError) as error:
                log.warning("lease not renewed", why=str(error))
                self._closed.wait(_RENEW_S)
                due = 0.0
            except Exception:  # a bug, after which the lease must still be renewed
                log.exception("lease")
                self._closed.wait(_RENEW_S)

    def _renew(self) -> float:
        """Renew the lease, and end those that are over; returns when to look again, in seconds."""
        with self._renewing, self._session.transaction() as transaction:
            if self._member:
                transaction.renew_lease(self.id, self.me, LEASE_S)
            live, rests = transaction.processes()
            for process in rests.keys() - live.keys():
                if transaction.end_lease(process, ended=True):
                    log.warning("process without lease", process=process)
        self._see(live)
        return min([_RENEW_S, *(rests[process] + _REST_S for process in live)])

    def _see(self, live: dict[str, Peer]) -> None:
        if live.keys() != self._live.keys():
            self._live = live

    def _tell(self) -> None:
        words = {self._untold.popleft() for _ in range(len(self._untold))}
        if words:
            self._session.tell(words)
            self._closed.wait(_REST_S)  # meanwhile, more of them gather

    def close(self) -> None:
        """Stop, and end the lease."""
        if not self._left:
            with suppress(ServiceError):
                self.leave()
        self._closed.set()
        self._session.wake()
        self._thread.join()
        with suppress(ServiceError):
            self._tell()
        self._session.close()


def _preferred(live: Iterable[str], pool: int) -> str | None:
    def rank(process: str) -> bytes:
        return hashlib.blake2b(f"{process} {pool}".encode(), digest_size=8).digest()

    return max(live, key=rank, default=None)
