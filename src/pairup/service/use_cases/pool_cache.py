"""Pool cache: pools in memory, never ahead of their logs."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from pairup.errors import ServiceError
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import SnapshotError, read_snapshot, write_snapshot
from pairup.service.operations.metrics import Metrics
from pairup.service.operations.settings import Settings
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.failures import StoreError

_RETRY_S = 10  # until a pool that could not be read is tried again
# A snapshot is due when the changes since the last one cost about as much to read again as it costs
# to write: one for each player, or for so many bytes beyond those that cost next to nothing. At
# most so many changes are read again, so that a start takes seconds.
_BYTES_PER_CHANGE, _FREE_BYTES = 50, 100_000
_MAX_REPLAYED = 250_000
log = structlog.get_logger()


class UnreadablePoolError(RefusalError):
    """A pool cannot be read, for a reason of its own; the others can."""


@dataclass
class _Failure:
    """Why a pool could not be read, as long as nothing suggests that it could now."""

    seq: int
    until: float  # by the monotonic clock; a repair need not add an event
    why: str


@dataclass
class CachedPool:
    """A pool's place in memory. The pool is equal to its log whenever the lock is free."""

    id: str
    name: str
    metrics: Metrics
    lock: threading.RLock = field(default_factory=threading.RLock)
    pool: Pool | None = None  # None: to be read
    waiting: int = 0  # requests that wait for the lock
    saved_seq: int = 0  # event of the latest snapshot
    saved_items: int = 0  # players and games that the log told of until then
    saved_bytes: int = 0  # size of the latest snapshot
    failure: _Failure | None = None  # to read it

    def bring_up_to(self, row: PoolRow, transaction: Transaction) -> Pool:
        """Read what the pool in memory lacks of its log, or refuse a pool that cannot be read."""
        if self.failure is None or not self._still_fails(row):
            try:
                self.pool = self._read(row, transaction)
                self.note_failure(None)
                return self.pool
            except StoreError:
                raise  # of the database, not of this pool
            except ServiceError as error:
                log.error("pool unreadable", pool=row.name, why=str(error))
                self.note_failure(_Failure(row.seq, time.monotonic() + _RETRY_S, str(error)))
        assert self.failure is not None
        raise UnreadablePoolError(
            "pool-unreadable",
            f"pool {row.name!r} cannot be read, {self.failure.why}; other pools are served, its "
            "events can be listed, and it can be deleted",
            headers={"Retry-After": str(_RETRY_S)},
        )

    def note_failure(self, failure: _Failure | None) -> None:
        """Note that the pool could not be read, or that it could, or is forgotten."""
        before, self.failure = self.failure, failure
        self.metrics.unreadable_pools.inc((failure is not None) - (before is not None))

    def _still_fails(self, row: PoolRow) -> bool:
        failure = self.failure
        return failure is not None and failure.seq == row.seq and time.monotonic() < failure.until

    def _read(self, row: PoolRow, transaction: Transaction) -> Pool:
        pool = self.pool
        if pool is None or pool.seq > row.seq:
            pool = self._load(row, transaction)
        self.pool = None  # until all of the log is in it
        if pool.seq < row.seq:
            for recorded in transaction.events(row.id, pool.seq):
                pool.apply(recorded)
        if pool.seq < row.seq:
            raise ServiceError(
                f"the log of pool {row.name!r} ends with event {pool.seq} instead of {row.seq}: "
                "it is damaged, see `pairup repair`"
            )
        return pool

    def _load(self, row: PoolRow, transaction: Transaction) -> Pool:
        """Read the latest snapshot that is sound; without any, begin an empty pool."""
        for seq, _, body in transaction.snapshots(row.id):
            try:
                pool = read_snapshot(row.id, seq, body)
            except SnapshotError as error:
                log.warning("snapshot not used", pool=row.name, why=str(error))
                self.metrics.snapshots_refused.inc()
                continue
            if pool.seq <= row.seq:
                self._note_saved(pool, len(body))
                return pool
        pool = Pool(row.id)
        self._note_saved(pool, 0)
        return pool

    def make_snapshot(self, every: int | None = None) -> bytes | None:
        """Make a snapshot of a pool that has changed, or that has changed much.

        With `every`, after so many changes of players and games; of a large pool, after more.
        """
        pool = self.pool
        if pool is None or pool.seq == self.saved_seq:
            return None
        if every is not None and pool.items - self.saved_items < self._changes_until_due(every):
            return None
        made = write_snapshot(pool)
        self._note_saved(pool, len(made))
        return made

    def _changes_until_due(self, every: int) -> int:
        players = 0 if self.pool is None else len(self.pool.players)
        costs = max(players, (self.saved_bytes - _FREE_BYTES) // _BYTES_PER_CHANGE)
        return max(every, min(costs, _MAX_REPLAYED))

    def _note_saved(self, pool: Pool, size: int) -> None:
        self.saved_seq, self.saved_items, self.saved_bytes = pool.seq, pool.items, size


class PoolCache:
    """The pools used last, by name."""

    def __init__(self, settings: Settings, store: Store, metrics: Metrics) -> None:
        self._settings, self._store, self._metrics = settings, store, metrics
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

    def find(self, name: str) -> CachedPool:
        """Return the pool of this name, or refuse; the pool longest unused makes room."""
        with self._guard:
            if name in self._cached:
                self._cached.move_to_end(name)
                return self._cached[name]
        with self._store.reading() as transaction:
            row = transaction.pool_named(name)
        if row is None:
            raise unknown_pool(name)
        with self._guard:
            found = self._cached.setdefault(name, CachedPool(row.id, name, self._metrics))
            for unused in list(self._cached)[: -self._settings.cached_pools]:
                # A request that waits for a pool taken out here still gets it, and reads it again.
                if self._cached[unused].lock.acquire(blocking=False):
                    self._cached[unused].note_failure(None)
                    self._cached.pop(unused).lock.release()
            self._metrics.cached_pools.set(len(self._cached))
            return found

    def drop(self, cached: CachedPool) -> None:
        """Forget a pool that was deleted."""
        with self._guard:
            if self._cached.get(cached.name) is cached:
                del self._cached[cached.name]
                cached.note_failure(None)
            self._metrics.cached_pools.set(len(self._cached))

    @contextmanager
    def hold(self, cached: CachedPool) -> Iterator[float]:
        """Hold a pool's lock, or refuse: a request that waits takes a thread other pools need.

        The block is given the moment, by the monotonic clock, until which it may wait for others.
        """
        deadline = time.monotonic() + self._settings.wait_s
        with self._guard:
            if cached.waiting >= max(1, self._settings.threads // 2):
                raise _busy(f"{cached.waiting} requests are waiting for this pool")
            cached.waiting += 1
        try:
            held = cached.lock.acquire(timeout=self._settings.wait_s)
        finally:
            with self._guard:
                cached.waiting -= 1
        if not held:
            raise _busy(f"this pool has been busy for more than {self._settings.wait_s:g} s")
        try:
            yield deadline
        finally:
            cached.lock.release()


def _busy(what: str) -> RefusalError:
    return RefusalError(
        "pool-busy",
        f"{what}: try again in a moment, and report outcomes in batches",
        headers={"Retry-After": "1"},
    )


def unknown_pool(name: str) -> RefusalError:
    """Make the refusal of a pool that does not exist."""
    return RefusalError(
        "no-such-pool", f"no pool is called {name!r}: create it first, with POST /v1/pools"
    )
