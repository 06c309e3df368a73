"""Access to pools: the one path on which each request reads or changes one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from typing import Any, TypeVar

import structlog

from pairup.errors import ServiceError
from pairup.service.domain import events
from pairup.service.domain.events import Clock, Head
from pairup.service.domain.games import new_secret
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.domain.version import current_version
from pairup.service.observability.metrics import Metrics
from pairup.service.pools import views
from pairup.service.pools.cache import (
    CachedPool,
    PoolCache,
    UnreadablePoolError,
    unknown_pool,
)
from pairup.service.pools.idempotency import KeyedRequest, Reply, ReplyQuota
from pairup.service.pools.notices import Notices
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.rate_limits import RateLimits
from pairup.service.settings import Settings
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.failures import StoreConflictError, StoreFullError

T = TypeVar("T")
Command = Callable[[UnitOfWork], T]
Query = Callable[[Pool, Transaction], T]
_HANDED = 20  # pools that are handed over at once
_TRIES = (False, False, True)  # whether each of them locks the pool
log = structlog.get_logger()


class _StalePoolError(Exception):
    """A pool in memory was deleted, here or by another process, or another one serves it now."""


class PoolAccess:
    """Reads and changes of pools, which are called by name.

    A change holds the pool's lock in this process. It is decided on the pool in memory, and
    committed if the log still ends as that pool knows it; otherwise another process was faster, and
    it is decided again. The last try locks the pool for other processes too, before it decides. A
    pool that is ahead of its log, because a change of it was not committed, leaves the memory.
    """

    def __init__(
        self, settings: Settings, store: Store, clock: Clock, metrics: Metrics, limits: RateLimits
    ) -> None:
        self._settings, self._store, self._clock = settings, store, clock
        self._metrics, self._limits = metrics, limits
        self.notices = Notices()
        self.replies = ReplyQuota(settings, metrics)
        self.cache = PoolCache(settings, store, metrics)

    def create(
        self, name: str, rules: Rules, request: KeyedRequest | None, by: str | None
    ) -> Reply:
        """Create a pool."""
        self._limits.check_events()
        for _ in _TRIES:
            with suppress(StoreConflictError):  # the same name or key, at the same moment
                return self._create(name, rules, request, by)
        raise _busy(name)

    def _create(
        self, name: str, rules: Rules, request: KeyedRequest | None, by: str | None
    ) -> Reply:
        with self._store.writing() as transaction:
            taken = transaction.pool_named(name)
            # After the look at the name: the same request may have been committed in between.
            if request and (stored := request.stored_reply(transaction)):
                return stored
            self.replies.check(request)
            self._check_free(name, taken, transaction)
            now, secret = self._clock.now(), new_secret()
            pool = Pool(transaction.add_pool(name, secret, now), secret)
            work = UnitOfWork(pool, lambda: transaction, now, self._settings.max_players)
            version = current_version(rules.make_policy())
            work.add(events.Created(name, rules.stored(), version, by))
            reply = Reply(views.pool(pool))
            work.flush(transaction, request, reply)
            if self._settings.webhook_url:
                transaction.tell_of(pool.number)
        self._count(work, request)
        return reply

    def _check_free(self, name: str, taken: PoolRow | None, transaction: Transaction) -> None:
        if taken:
            raise RefusalError(
                "pool-exists",
                f"a pool is called {name!r} already: use it, or choose another name",
            )
        if transaction.count_pools() >= self._settings.max_pools:
            self._metrics.limits.labels("max_pools").inc()
            raise RefusalError(
                "too-many-pools",
                f"there are {self._settings.max_pools} pools, the most that the setting "
                "max_pools allows: delete one, or raise it",
            )

    def change(self, name: str, command: Command[T], request: KeyedRequest | None = None) -> T:
        """Run a command that changes a pool.

        What had happened before it refused, for example a game that expired, has happened: it is
        committed, and then the refusal is raised. With a `request` the command returns its reply,
        which is stored, and which a request that is sent again gets.
        """
        self._limits.check_events()
        return self._try(name, command, request)

    def change_once(
        self, name: str, command: Command[dict[str, Any]], request: KeyedRequest | None
    ) -> Reply:
        """Run a command that changes a pool, unless the same request has done so before."""
        return self.change(name, lambda work: Reply(command(work)), request)

    def _try(
        self,
        name: str,
        command: Command[T],
        request: KeyedRequest | None = None,
        keep: bool = True,
    ) -> T:
        """Run a command on a pool, which is kept in memory or not, and again if need be."""
        deadline = self._deadline()
        for locks in _TRIES:
            cached = self.cache.find(name, keep, deadline)
            try:
                with self.cache.hold(cached, deadline):
                    made: T = self._change(cached, command, request, deadline, locks)
                    return made
            except UnreadablePoolError:
                self.cache.keep(cached)  # remembers that it cannot be read
                raise
            except StoreConflictError:
                cached.alone = False
            except _StalePoolError:
                continue  # by its name, it is found again if it was created again
        self.cache.find(name, keep, deadline)  # or it was deleted last
        raise _busy(name)

    def _deadline(self) -> float:
        return time.monotonic() + self._settings.wait_s

    def _change(
        self,
        cached: CachedPool,
        command: Command[Any],
        request: KeyedRequest | None,
        deadline: float,
        locks: bool,
    ) -> Any:
        """Load, decide, append to the log if it ends as expected, commit, and then show it."""
        self._store.check_room()
        with ExitStack() as opened:
            read = self._opener(opened, deadline, writes=locks)
            if request and (stored := request.stored_reply(read())):
                return stored
            pool, look = cached.pool, read
            if pool is None or locks or not cached.alone:
                pool = cached.bring_up_to(self._row(read(), cached, locks), read())
            else:  # what is read beside the pool must be of the same moment
                look = cache(partial(self._check_head, read, cached, pool.head))
            with cached.ahead(pool) as committed:
                self.replies.check(request)
                now, most = self._clock.now(), self._settings.max_players
                work = UnitOfWork(pool, look, now, most, cached.owner)
                result, refusal = _decided(work, command)
                kept = None if refusal else request  # a refusal is not stored
                if work.log or kept:
                    work.prepare(cached, self._settings.snapshot_every)
                    if not locks:
                        opened.close()  # nothing stays open while the writer is waited for
                        read = self._opener(opened, deadline, writes=True)
                if not work.log:  # a reply that is kept must not be later than what it says
                    self._check_head(read, cached, pool.head, lock=kept is not None)
                if work.log or kept:
                    head = work.flush(read(), kept, result)
                opened.close()
                committed(pool.head if not work.log else head)
        self._count(work, kept)
        if pool.deleted:
            self.cache.drop(cached)
        if refusal is not None:
            raise refusal
        return result

    def _check_head(
        self, read: Callable[[], Transaction], cached: CachedPool, head: Head, lock: bool = False
    ) -> Transaction:
        """Raise a conflict if the log does not end as the pool in memory knows it."""
        transaction = read()
        if self._row(transaction, cached, lock).head != head:
            raise StoreConflictError(f"pool {cached.name!r} was changed by another process")
        return transaction

    def _opener(
        self, opened: ExitStack, deadline: float, writes: bool
    ) -> Callable[[], Transaction]:
        """Return a function that opens a transaction when it is first called."""
        if writes:
            return cache(lambda: opened.enter_context(self._store.writing(deadline=deadline)))
        return cache(lambda: opened.enter_context(self._store.reading(deadline=deadline)))

    def _count(self, work: UnitOfWork, kept: KeyedRequest | None) -> None:
        """Count what was committed, and notify those who follow the pool."""
        if work.log:
            self._tell(work.pool.number)
        self._metrics.count_events(work.pool.name, work.log)
        self._limits.count_events(sum(recorded.event.items for recorded in work.log))
        if kept:
            self.replies.add(kept.owner, work.reply_bytes)

    def _tell(self, number: int) -> None:
        self.notices.tell(number)
        if self.cache.ownership is not None:
            self.cache.ownership.tell(number)

    def read(self, name: str, query: Query[T]) -> T:
        """Look at a pool as it is now; on a full disk, before games that are due expire."""
        full, deadline = False, self._deadline()
        for _ in _TRIES:
            cached = self.cache.find(name, deadline=deadline)
            with (
                self.cache.hold(cached, deadline),
                suppress(_StalePoolError),
                self._current(cached, deadline) as (pool, transaction),
            ):
                if full or not pool.games.due(self._clock.now()):
                    return query(pool, transaction)
            try:
                self._try(name, _change_nothing)
            except StoreFullError:
                full = True
        raise _busy(name)

    @contextmanager
    def _current(self, cached: CachedPool, deadline: float) -> Iterator[tuple[Pool, Transaction]]:
        """Update a pool in memory, whose lock is held, from its log."""
        with self._store.reading(deadline=deadline) as transaction:
            row = self._row(transaction, cached)
            yield cached.bring_up_to(row, transaction), transaction

    def delete_unread(self, name: str, by: str | None) -> None:
        """Delete a pool that cannot be read: its log, such as it is, stays stored."""
        deadline = self._deadline()
        cached = self.cache.find(name, deadline=deadline)
        writing = self._store.writing(deadline=deadline)
        with self.cache.hold(cached, deadline), writing as transaction:
            try:
                row = self._row(transaction, cached, lock=True)
            except _StalePoolError:  # another process was faster
                raise unknown_pool(name) from None
            seq, at = transaction.last_event(row.number)
            number, at = max(seq, row.seq) + 1, max(at, self._clock.now())
            deleted = events.Recorded.of(number, at, events.Deleted(by))
            transaction.append(row.number, [deleted], row.head, owner=row.owner)
        self._metrics.count_events(name, [deleted])
        self._tell(row.number)
        self.cache.drop(cached)

    def _row(self, transaction: Transaction, cached: CachedPool, lock: bool = False) -> PoolRow:
        row = transaction.pool(cached.number, lock)
        # A number can be given again after a restore.
        if row is None or row.name != cached.name or not self.cache.is_served(row):
            self.cache.drop(cached)
            raise _StalePoolError
        cached.owner = row.owner
        return row

    def expire_games(self) -> None:
        """Expire games that are due, of pools in memory or not."""
        now = self._clock.now()
        with self._store.reading() as transaction:
            due = transaction.due_pools(now)
        # Of games that a clock proposed which was ahead, the store knows only when they expire.
        ahead = (each.name for each in self.cache if each.is_due(now))
        for name in dict.fromkeys([*due, *ahead]):
            try:
                self._try(name, _change_nothing, keep=False)
            except MisdirectedError:
                continue  # its owner does it
            except (RefusalError, ServiceError) as error:  # deleted, unreadable, a store in trouble
                log.warning("sweep", pool=name, why=str(error))

    def glance(self, cached: CachedPool, query: Callable[[Pool], None], update: bool) -> None:
        """Look at a pool in memory, with `update` as it is now, unless a request has it."""
        if cached.pool is None or not cached.lock.acquire(blocking=False):
            return
        try:
            if not update and cached.pool is not None:
                query(cached.pool)
            elif update:
                with (
                    suppress(_StalePoolError),
                    self._current(cached, self._deadline()) as (pool, _),
                ):
                    query(pool)
        finally:
            cached.lock.release()

    def save(self, cached: CachedPool, to: str | None = None) -> None:
        """Save a pool in memory that has changed since it was saved, unless its log has gone on.

        Another process, if one is given, serves it then.
        """
        with cached.lock:
            pool = cached.pool
            snapshot = None if pool is None else cached.make_snapshot(pool)
            if snapshot is None and to is None:
                return
            with self._store.writing(into_reserve=True) as transaction:
                row = transaction.pool(cached.number, lock=True)
                if row is None or row.owner != cached.owner:
                    return
                if pool is not None and snapshot is not None and row.head == pool.head:
                    transaction.add_snapshot(pool.number, pool.head, pool.at, snapshot)
                if to is not None:
                    transaction.give_pool(cached.number, cached.owner, to)
            if to is not None:
                self.cache.drop(cached)

    def hand_over(self) -> None:
        """Hand the pools over that go to other processes since these have come."""
        if self.cache.ownership is None:
            return
        known = {each.name: each for each in self.cache}
        for row, to in self.cache.ownership.misplaced(_HANDED):
            cached = CachedPool(row.number, row.name, self._metrics, owner=row.owner)
            self.save(known.get(row.name) or cached, to)


def _decided(work: UnitOfWork, command: Command[Any]) -> tuple[Any, RefusalError | None]:
    """Run a command; returns its result, and its refusal if it refuses."""
    try:
        return command(work), None
    except RefusalError as refusal:
        return None, refusal


def _change_nothing(work: UnitOfWork) -> None:
    """Change nothing but what the clock does: games that are due have expired."""


def _busy(name: str) -> RefusalError:
    return RefusalError(
        "busy", f"pool {name!r} was changed by others at the same moment, three times: try again"
    )
