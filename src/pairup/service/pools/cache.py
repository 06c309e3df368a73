"""Pool cache: pools in memory, never ahead of their logs."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile

import structlog

from pairup.errors import ServiceError
from pairup.service.domain.events import START, Head, Moment
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import SnapshotError, read_snapshot, write_snapshot
from pairup.service.observability.metrics import Metrics
from pairup.service.pools.ownership import Ownership
from pairup.service.problems import RefusalError
from pairup.service.settings import Settings
from pairup.service.store import Peer, PoolRow, Store, Transaction
from pairup.service.store.event_log import SnapshotRow
from pairup.service.store.failures import StoreError

_RETRY_S = 10  # until a pool that could not be read is tried again
# A snapshot is due when the changes since the last one cost about as much to read again as it costs
# to write: one for each player, or for each of these bytes beyond those that cost little. At
# most this many changes are read again, so that a start takes seconds.
_BYTES_PER_CHANGE, _FREE_BYTES = 50, 100_000
_MAX_REPLAYED = 250_000
log = structlog.get_logger()


class UnreadablePoolError(RefusalError):
    """A pool cannot be read, for a reason of its own; the others can."""


@dataclass
class _Failure:
    """Why a pool could not be read, as long as nothing suggests that it could now."""

    head: Head
    until: float  # by the monotonic clock; a repair need not add an event
    why: str


@dataclass
class CachedPool:
    """A pool's place in memory. While the lock is free, the pool in it is as its log was."""

    number: int
    name: str
    metrics: Metrics
    lock: threading.RLock = field(default_factory=threading.RLock)
    pool: Pool | None = None  # None: to be read
    known: Head = START  # of its log, when the pool was last in memory
    owner: str = ""  # the process that serves it, as appends to its log name it
    alone: bool = False  # whether no other process is known to change it
    waiting: int = 0  # requests that wait for the lock
    saved_seq: int = 0  # event of the latest snapshot
    saved_items: int = 0  # players and games in the events until then
    saved_bytes: int = 0  # size of the latest snapshot
    failure: _Failure | None = None  # to read it
    replaced: int = 0  # times that its log was replaced while it was in memory

    @contextmanager
    def ahead(self, pool: Pool) -> Iterator[Callable[[Head], None]]:
        """Allow the pool to be ahead of its log while the block runs.

        It is shown again in the end if it is as its log, which ends as it did before or as the
        block has said that it was committed. Otherwise it is thrown away.
        """
        heads, self.pool = [pool.head], None
        try:
            yield heads.append
        finally:
            self.known = heads[-1]
            if pool.head == self.known:
                self.pool = pool

    def is_due(self, now: Moment) -> bool:
        """Return whether a game of the pool in memory is due; False while a request has it."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            return self.pool is not None and bool(self.pool.games.due(now))
        finally:
            self.lock.release()

    def bring_up_to(self, row: PoolRow, transaction: Transaction) -> Pool:
        """Read what the pool in memory lacks of its log, or refuse a pool that cannot be read."""
        if self.failure is None or not self._still_fails(row):
            try:
                self.pool = self._read(row, transaction)
                self.known = self.pool.head
                self.failure = None
                return self.pool
            except StoreError:
                raise  # of the database, not of this pool
            except ServiceError as error:
                log.error("pool unreadable", pool=row.name, why=str(error))
                self.failure = _Failure(row.head, time.monotonic() + _RETRY_S, str(error))
        assert self.failure is not None
        raise UnreadablePoolError(
            "pool-unreadable",
            f"pool {row.name!r} cannot be read, {self.failure.why}; other pools are served, its "
            "events can be listed, and it can be deleted",
            retry_s=_RETRY_S,
        )

    def _still_fails(self, row: PoolRow) -> bool:
        failure = self.failure
        return failure is not None and failure.head == row.head and time.monotonic() < failure.until

    def _read(self, row: PoolRow, transaction: Transaction) -> Pool:
        """Return the pool at the head of its log, if possible from the one in memory."""
        pool, self.pool = self.pool, None  # until all of the log is in it
        if pool is not None:
            with suppress(_OtherLogError):
                return self._replay_rest(pool, row, transaction)
        if pool is not None or row.seq < self.known.seq:
            self._note_replaced(row)
        for snapshot in transaction.snapshots(row.number):
            if pool := self._open(snapshot, row):
                with suppress(*([] if snapshot.base else [_OtherLogError])):
                    return self._replay_rest(pool, row, transaction)
        pool = Pool(row.number, row.secret)
        self._note_saved(pool, 0)
        return self._replay_rest(pool, row, transaction)

    def _replay_rest(self, pool: Pool, row: PoolRow, transaction: Transaction) -> Pool:
        """Replay a pool to the head of its log, and read its players' names, or refuse the log."""
        try:
            rest = transaction.events(row.number, pool.seq) if pool.seq < row.seq else ()
            for recorded in takewhile(lambda each: each.seq <= row.seq, rest):  # others write on
                pool.replay(recorded)
                if pool.seq == self.known.seq and pool.head != self.known:
                    self._note_replaced(row)
        except StoreError:
            raise
        except ServiceError as error:
            raise _OtherLogError(str(error)) from error
        if pool.head != row.head:
            ends = f"ends with event {pool.seq} instead of {row.seq}"
            edited = f"is not the one that was written up to event {row.seq}"
            raise _OtherLogError(
                f"the log of pool {row.name!r} {ends if pool.seq != row.seq else edited}: it is "
                "damaged, see `pairup repair`"
            )
        pool.names.update(transaction.names(row.number, pool.unnamed()))
        return pool

    def _note_replaced(self, row: PoolRow) -> None:
        """Count a log that is not the one that the pool in memory followed from."""
        log.warning("log replaced", pool=row.name, memory=self.known.seq, log=row.seq)
        self.metrics.logs_replaced.inc()
        self.replaced += 1
        self.known = START  # and once is enough

    def _open(self, snapshot: SnapshotRow, row: PoolRow) -> Pool | None:
        """Read a snapshot; None if it cannot be used."""
        try:
            pool = read_snapshot(row.number, snapshot.head, snapshot.body)
        except SnapshotError as error:
            log.warning("snapshot not used", pool=row.name, why=str(error))
            self.metrics.snapshots_refused.inc()
            return None
        pool.ids = row.ids
        self._note_saved(pool, len(snapshot.body))
        return pool

    def make_snapshot(self, pool: Pool, every: int | None = None) -> bytes | None:
        """Make a snapshot of a pool that has changed, or that has changed much.

        With `every`, after that many changes of players and games; of a large pool, after more.
        """
        if pool.seq == self.saved_seq:
            return None
        if every is not None and pool.items - self.saved_items < self._due_after(pool, every):
            return None
        made = write_snapshot(pool)
        self._note_saved(pool, len(made))
        return made

    def _due_after(self, pool: Pool, every: int) -> int:
        """Return the number of changes after which a snapshot is due."""
        costs = max(len(pool.players), (self.saved_bytes - _FREE_BYTES) // _BYTES_PER_CHANGE)
        return max(every, min(costs, _MAX_REPLAYED))

    def _note_saved(self, pool: Pool, size: int) -> None:
        self.saved_seq, self.saved_items, self.saved_bytes = pool.seq, pool.items, size


class _OtherLogError(ServiceError):
    """A pool is not one of this log, or the log is damaged."""


class PoolCache:
    """The pools used last, by name."""

    def __init__(self, settings: Settings, store: Store, metrics: Metrics) -> None:
        self._settings, self._store, self._metrics = settings, store, metrics
        self.ownership: Ownership | None = None  # None: whoever is asked serves a pool
        self._cached: OrderedDict[str, CachedPool] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._cached)

    @property
    def unreadable(self) -> int:
        """Number of pools that could not be read when they were last looked at."""
        return sum(cached.failure is not None for cached in self)

    def __iter__(self) -> Iterator[CachedPool]:
        with self._guard:
            return iter(list(self._cached.values()))

    def find(self, name: str, keep: bool = True, deadline: float | None = None) -> CachedPool:
        """Return the pool of this name, or refuse; the pool longest unused makes room.

        With `keep` False, one that is not in memory does not get there. The database is waited for
        until `deadline`, by the monotonic clock.
        """
        with self._guard:
            if name in self._cached:
                self._cached.move_to_end(name)
                return self._cached[name]
        with self._store.reading(deadline=deadline) as transaction:
            row = transaction.pool_named(name)
        if row is None:
            raise unknown_pool(name)
        alone, owner = not self._store.many_writers, row.owner
        if self.ownership is not None:
            self.ownership.take(row)
            alone, owner = True, self.ownership.id
        found = CachedPool(row.number, name, self._metrics, owner=owner, alone=alone)
        return self.keep(found) if keep else found

    def peer(self, process: str) -> Peer | None:
        """Return how another process is reached, None if it has ended."""
        return None if self.ownership is None else self.ownership.peer(process)

    def is_served(self, row: PoolRow) -> bool:
        """Return whether this process serves a pool, as its row says."""
        return self.ownership is None or row.owner == self.ownership.id

    def keep(self, cached: CachedPool) -> CachedPool:
        """Add a pool to the memory, or return the one of this name that is there already."""
        with self._guard:
            found = self._cached.setdefault(cached.name, cached)
            for unused in list(self._cached)[: -self._settings.cached_pools]:
                # A request that waits for a pool taken out here still gets it, and reads it again.
                if self._cached[unused].lock.acquire(blocking=False):
                    self._cached.pop(unused).lock.release()
            self._metrics.cached_pools.set(len(self._cached))
            return found

    def drop(self, cached: CachedPool) -> None:
        """Forget a pool that was deleted."""
        with self._guard:
            if self._cached.get(cached.name) is cached:
                del self._cached[cached.name]
            self._metrics.cached_pools.set(len(self._cached))

    @contextmanager
    def hold(self, cached: CachedPool, deadline: float) -> Iterator[None]:
        """Hold a pool's lock, or refuse: a request that waits takes a thread other pools need."""
        with self._guard:
            if cached.waiting >= max(1, self._settings.threads // 2):
                raise _busy(f"{cached.waiting} requests are waiting for this pool")
            cached.waiting += 1
        try:
            held = cached.lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
        finally:
            with self._guard:
                cached.waiting -= 1
        if not held:
            raise _busy(f"this pool has been busy for more than {self._settings.wait_s:g} s")
        try:
            yield
        finally:
            cached.lock.release()


def _busy(what: str) -> RefusalError:
    return RefusalError(
        "pool-busy",
        f"{what}: try again in a moment, and report outcomes in batches",
        retry_s=1,
    )


def unknown_pool(name: str) -> RefusalError:
    """Make the refusal of a pool that does not exist."""
    return RefusalError("no-such-pool", f"no pool is called {name!r}: create it first")
