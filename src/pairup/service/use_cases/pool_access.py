"""Access to pools: how each request reads or changes one, alone and in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from pairup.errors import ServiceError
from pairup.service.domain import events
from pairup.service.domain.clock import Clock
from pairup.service.domain.events import Recorded
from pairup.service.domain.pool import Pool
from pairup.service.domain.pool_rules import Rules
from pairup.service.domain.version import current_version
from pairup.service.operations.metrics import Metrics
from pairup.service.operations.rate_limits import RateLimits
from pairup.service.operations.settings import Settings
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.failures import StoreConflictError, StoreFullError
from pairup.service.use_cases import views
from pairup.service.use_cases.idempotency import AnswerQuota, KeyedRequest, Reply
from pairup.service.use_cases.pool_cache import CachedPool, PoolCache
from pairup.service.use_cases.unit_of_work import DrawIds, UnitOfWork

P = ParamSpec("P")
T = TypeVar("T")
Command = Callable[[UnitOfWork], T]
Query = Callable[[Pool, Transaction], T]
_TRIES = 3


class _StalePoolError(Exception):
    """A pool in memory was deleted, here or by another process."""


class _OvertakenError(Exception):
    """Another process changed a pool between a decision and its commit."""


@dataclass
class _Change:
    """What a request does to a pool, decided and ready to be written."""

    work: UnitOfWork
    request: KeyedRequest | None  # whose answer is kept
    result: Any = None
    refusal: RefusalError | None = None
    snapshot: bytes | None = None
    size: int = 0  # bytes of the kept answer

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not self.work.log and self.request is None and self.snapshot is None

    def write(self, transaction: Transaction) -> None:
        """Write the events, what follows from them, the answer, and the snapshot if it is due."""
        self.work.flush(transaction)
        if self.request:
            self.size = self.request.keep(transaction, self.result, self.work.now)
        if self.snapshot is not None:
            pool = self.work.pool
            transaction.add_snapshot(pool.id, pool.seq, pool.at, self.snapshot)


def _retried(attempt: Callable[P, T]) -> Callable[P, T]:
    """Try again where another process was faster, or has deleted the pool in memory."""

    @wraps(attempt)
    def retried(*given: P.args, **options: P.kwargs) -> T:
        said = "the pool was deleted and created again meanwhile: try again"
        for _ in range(_TRIES):
            try:
                return attempt(*given, **options)
            except StoreConflictError as conflict:
                said = str(conflict)
            except _StalePoolError:
                continue  # by its name, it is found again if it was created again
        raise RefusalError("busy", f"{said} (tried {_TRIES} times)")

    return retried


class PoolAccess:
    """Reads and changes of pools, which are called by name.

    A change holds the pool's lock and, in one transaction, the lock of its row: it reads what other
    processes appended, decides, appends its events and its idempotent answer, and commits. SQLite
    has one writer for all pools, so there it decides first, and commits if nobody else changed the
    pool meanwhile. Whatever fails on the way, the pool in memory is thrown away and read again.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        limits: RateLimits,
        new_ids: DrawIds,
    ) -> None:
        self._settings, self._store, self._clock = settings, store, clock
        self._metrics, self._limits, self._new_ids = metrics, limits, new_ids
        self.answers = AnswerQuota(settings.max_answers, settings.max_answers_bytes)
        self.cache = PoolCache(settings, store, metrics)

    @_retried
    def create(self, name: str, rules: Rules, request: KeyedRequest | None) -> Reply:
        """Create a pool."""
        self._limits.check_events()
        with self._store.writing() as transaction:
            taken = transaction.pool_named(name)
            # After the look at the name: the same request may have been committed in between.
            if request and (stored := request.stored_reply(transaction)):
                return stored
            self._check_quota(request)
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
            pool = Pool(self._new_ids(1)[0])
            work = UnitOfWork(pool, lambda: transaction, self._clock.now(), self._new_ids)
            transaction.add_pool(work.pool.id, name, work.now)
            version = current_version(rules.make_policy())
            work.add(events.Created(name, rules.as_json(), version))
            work.flush(transaction)
            reply = Reply(views.pool(work.pool))
            size = request.keep(transaction, reply, work.now) if request else 0
        self._count(work, request, size)
        return reply

    @_retried
    def change(self, name: str, command: Command[T], request: KeyedRequest | None = None) -> T:
        """Let a command change a pool.

        What had happened before it refused, for example a game that expired, has happened: it is
        committed, and then the refusal is raised.
        """
        self._limits.check_events()
        cached = self.cache.find(name)
        with self.cache.hold(cached) as deadline:
            return self._change_held(cached, command, request, deadline)

    def change_once(
        self, name: str, command: Command[dict[str, Any]], request: KeyedRequest | None
    ) -> Reply:
        """Let a command change a pool, unless the same request has done so before."""
        return self.change(name, lambda work: Reply(command(work)), request)

    def _change_held(
        self,
        cached: CachedPool,
        command: Command[Any],
        request: KeyedRequest | None,
        deadline: float,
    ) -> Any:
        try:
            if not self._store.many_writers:
                with suppress(_OvertakenError):
                    return self._change_ahead(cached, command, request)
            return self._change_locked(cached, command, request, deadline)
        except (RefusalError, _StalePoolError):
            raise  # before the pool was touched, or after the commit
        except BaseException:
            cached.pool = None  # it may be ahead of its log
            raise

    def _change_ahead(
        self, cached: CachedPool, command: Command[Any], request: KeyedRequest | None
    ) -> Any:
        """Decide on a change before the only writer of SQLite is taken from the other pools."""
        self._store.check_room()
        with ExitStack() as opened:
            read = cache(lambda: opened.enter_context(self._store.reading()))
            if request and (stored := request.stored_reply(read())):
                return stored
            pool = cached.pool or cached.bring_up_to(self._row(read(), cached), read())
            seq = pool.seq
            change = self._decide(pool, cached, read, command, request)
            if change.empty:
                self._check_seq(read(), cached, seq)
                return self._finish(cached, change)
        with self._store.writing() as transaction:
            if request and request.stored_reply(transaction):
                raise self._overtaken(cached)
            self._check_seq(transaction, cached, seq, lock=True)
            change.write(transaction)
        return self._finish(cached, change)

    def _check_seq(
        self, transaction: Transaction, cached: CachedPool, seq: int, lock: bool = False
    ) -> None:
        """Give up if the log of a pool does not end with the event after which was decided."""
        if self._row(transaction, cached, lock).seq != seq:
            raise self._overtaken(cached)

    def _overtaken(self, cached: CachedPool) -> _OvertakenError:
        cached.pool = None  # it is ahead of a log that another process went on with
        return _OvertakenError()

    def _change_locked(
        self,
        cached: CachedPool,
        command: Command[Any],
        request: KeyedRequest | None,
        deadline: float,
    ) -> Any:
        """Decide on a change and write it, while other processes wait for the pool's row."""
        with self._store.writing(deadline=deadline) as transaction:
            row = self._row(transaction, cached, lock=True)
            if request and (stored := request.stored_reply(transaction)):
                return stored
            pool = cached.bring_up_to(row, transaction)
            change = self._decide(pool, cached, lambda: transaction, command, request)
            change.write(transaction)
        return self._finish(cached, change)

    def _decide(
        self,
        pool: Pool,
        cached: CachedPool,
        read: Callable[[], Transaction],
        command: Command[Any],
        request: KeyedRequest | None,
    ) -> _Change:
        self._check_quota(request)
        change = _Change(UnitOfWork(pool, read, self._clock.now(), self._new_ids), request)
        try:
            change.result = command(change.work)
        except RefusalError as problem:
            change.refusal, change.request = problem, None  # it has no answer to keep
        change.snapshot = cached.make_snapshot(self._settings.snapshot_every)
        change.work.bodies  # noqa: B018 # encoded before a lock is taken for them
        return change

    def _finish(self, cached: CachedPool, change: _Change) -> Any:
        """Count what was committed, and return or raise what the command did."""
        self._count(change.work, change.request, change.size)
        if change.work.pool.deleted:
            self.cache.drop(cached)
        if change.refusal is not None:
            raise change.refusal
        return change.result

    def _check_quota(self, request: KeyedRequest | None) -> None:
        if request and self.answers.full(request.owner):
            self._metrics.limits.labels("max_answers").inc()
            self.answers.check(request.owner)

    def _count(self, work: UnitOfWork, kept: KeyedRequest | None, size: int) -> None:
        """Count what was committed."""
        self._metrics.count_events(work.pool.name, work.log)
        self._limits.count_events(sum(recorded.event.items for recorded in work.log))
        if kept:
            self.answers.add(kept.owner, size)

    @_retried
    def read(self, name: str, query: Query[T]) -> T:
        """Look at a pool as it is now; on a full disk, before games that are due expire."""
        cached, full = self.cache.find(name), False
        with self.cache.hold(cached) as deadline:
            while True:
                try:
                    with self._store.reading() as transaction:
                        pool = cached.bring_up_to(self._row(transaction, cached), transaction)
                        if full or not pool.games.due(self._clock.now()):
                            return query(pool, transaction)
                except ServiceError:
                    cached.pool = None
                    raise
                try:
                    self._store.check_room()  # before the pool in memory would be thrown away
                    self._change_held(cached, _change_nothing, None, deadline)
                except StoreFullError:
                    full = True

    def delete_unread(self, name: str) -> None:
        """Delete a pool that cannot be read: its log, such as it is, stays stored."""
        cached = self.cache.find(name)
        with self.cache.hold(cached), self._store.writing() as transaction:
            row = self._row(transaction, cached, lock=True)
            seq, at = transaction.last_event(row.id)
            deleted = Recorded(max(seq, row.seq) + 1, max(at, self._clock.now()), events.Deleted())
            transaction.append(row.id, [deleted])
        self._metrics.count_events(name, [deleted])
        self.cache.drop(cached)

    def _row(self, transaction: Transaction, cached: CachedPool, lock: bool = False) -> PoolRow:
        row = transaction.pool(cached.id, lock)
        if row is None:
            self.cache.drop(cached)
            raise _StalePoolError
        return row

    def expire_games(self, cached: CachedPool) -> None:
        """Let games of a pool in memory expire that are due."""
        if not cached.lock.acquire(blocking=False):
            return  # the request that holds it lets them expire
        try:
            due = cached.pool is not None and cached.pool.games.due(self._clock.now())
        finally:
            cached.lock.release()
        if due:
            self.change(cached.name, _change_nothing)

    def glance(self, cached: CachedPool, query: Callable[[Pool], None]) -> None:
        """Look at a pool in memory as it is now, unless a request has it."""
        if cached.pool is None or not cached.lock.acquire(blocking=False):
            return
        try:
            with self._store.reading() as transaction:
                query(cached.bring_up_to(self._row(transaction, cached), transaction))
        except _StalePoolError:
            return  # deleted
        finally:
            cached.lock.release()

    def save(self, cached: CachedPool) -> None:
        """Save a pool in memory that has changed since it was saved."""
        with cached.lock:
            pool, snapshot = cached.pool, cached.make_snapshot()
            if pool is None or snapshot is None:
                return
            with self._store.writing(into_reserve=True) as transaction:
                if transaction.pool(cached.id, lock=True) is not None:
                    transaction.add_snapshot(cached.id, pool.seq, pool.at, snapshot)


def _change_nothing(work: UnitOfWork) -> None:
    """Change nothing but what the clock does: games that are due have expired."""
