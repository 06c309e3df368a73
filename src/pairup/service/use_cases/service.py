"""Service: pools in memory, never ahead of their logs."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from pairup.errors import ServiceError
from pairup.service.domain import events as happened
from pairup.service.domain.clock import SECOND, Clock, WallClock
from pairup.service.domain.pool import Pool
from pairup.service.domain.rules import Rules
from pairup.service.operations.metrics import Metrics
from pairup.service.operations.settings import Settings
from pairup.service.operations.warmup import warm
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.failures import StoreConflictError
from pairup.service.use_cases import commands
from pairup.service.use_cases.idempotency import Answer, Repeatable
from pairup.service.use_cases.unit_of_work import Changes

T = TypeVar("T")
Command = Callable[[Changes, Transaction], Answer]
View = Callable[[Pool, Transaction], T]
_TRIES = 3
_SELDOM = 20  # times as long as it takes to save a pool, it is not saved again
log = structlog.get_logger()


@dataclass
class Seat:
    """A pool's place in memory."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    pool: Pool | None = None  # equal to its log whenever the lock is free
    snapshot: int = 0  # event of the latest snapshot
    saved_at: float = 0.0  # by the monotonic clock
    saving_s: float = 0.0  # how long it took
    waiting: int = 0  # requests that wait for the lock


class Service:
    """Every pool of a store.

    A request that changes a pool holds its lock and, in one transaction, the lock of its row: it
    reads what other processes appended, decides, appends its events and its idempotent answer, and
    commits. Whatever fails on the way, the pool in memory is thrown away and read again.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock or WallClock()
        self.metrics = metrics or Metrics()
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._guard = threading.Lock()

    def warm_up(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Compile the policies and read the pools that the first requests will need."""
        warm(Rules().make_policy())
        with self.store.reading() as transaction:
            rows = transaction.pools("", self.settings.cached_pools)
        for row in rows:
            if stopping():
                return
            try:
                warm(self.read(row.id, lambda pool, _: pool.rules.make_policy()))
            except (RefusalError, ServiceError) as error:  # others can be served still
                log.warning("pool not read", pool=row.name, why=str(error))

    def find(self, name: str) -> str:
        """Return the id of the pool of this name, or refuse."""
        with self.store.reading() as transaction:
            row = transaction.pool_named(name)
        if row is None:
            raise no_pool(name)
        return row.id

    def create(
        self,
        name: str,
        rules: Rules,
        render: Callable[[Pool], Answer],
        repeatable: Repeatable | None = None,
    ) -> Answer:
        """Make a pool."""
        return self._trying(lambda: self._create(name, rules, render, repeatable))

    def _create(
        self,
        name: str,
        rules: Rules,
        render: Callable[[Pool], Answer],
        repeatable: Repeatable | None,
    ) -> Answer:
        now = self.clock.now()
        with self.store.writing() as transaction:
            taken = transaction.pool_named(name)
            # After the look at the name: the same request may have been committed in between.
            stored = repeatable and repeatable.stored(transaction)
            if stored:
                return stored
            if taken:
                raise RefusalError(
                    "pool-exists",
                    f"a pool is called {name!r} already: use it, or choose another name",
                )
            pool = Pool(commands.new_id())
            changes = Changes(pool, now)
            changes.add(happened.Created(name, rules.as_json()))
            transaction.add_pool(pool.id, name, now)
            transaction.append(pool.id, changes.log)
            answer = render(pool)
            if repeatable:
                repeatable.keep(transaction, answer, now)
        self.metrics.happened(changes.log)
        return answer

    def change(
        self, pool_id: str, command: Command, repeatable: Repeatable | None = None
    ) -> Answer:
        """Let a command change a pool.

        What had happened before a command was refused, a game that expired say, has happened: it
        is committed, and the refusal raised.
        """
        return self._trying(lambda: self._change(pool_id, command, repeatable))

    def _change(self, pool_id: str, command: Command, repeatable: Repeatable | None) -> Answer:
        seat = self._seat(pool_id)
        with self._held(seat):
            return self._changed(seat, pool_id, command, repeatable)

    def _changed(
        self, seat: Seat, pool_id: str, command: Command, repeatable: Repeatable | None = None
    ) -> Answer:
        answer, refusal = Answer(204), None
        try:
            with self.store.writing() as transaction:
                row = transaction.pool(pool_id, lock=True)
                if row is None:
                    raise self._gone(pool_id)
                stored = repeatable and repeatable.stored(transaction)
                if stored:
                    return stored
                pool = self._current(seat, transaction, row)
                changes = Changes(pool, self.clock.now())
                try:
                    answer = command(changes, transaction)
                except RefusalError as problem:
                    refusal = problem
                transaction.append(pool_id, changes.log)
                if repeatable and refusal is None:
                    repeatable.keep(transaction, answer, changes.now)
                self._snapshot(seat, transaction)
        except RefusalError:
            raise  # before the pool was touched
        except BaseException:
            seat.pool = None  # it may be ahead of its log
            raise
        self.metrics.happened(changes.log)
        if pool.deleted:
            self._drop(pool_id)
        if refusal is not None:
            raise refusal
        return answer

    def read(self, pool_id: str, view: View[T]) -> T:
        """Look at a pool as it is now."""
        seat = self._seat(pool_id)
        with self._held(seat):
            while True:
                try:
                    with self.store.reading() as transaction:
                        row = transaction.pool(pool_id)
                        if row is None:
                            raise self._gone(pool_id)
                        pool = self._current(seat, transaction, row)
                        if not pool.due(self.clock.now()):
                            return view(pool, transaction)
                except ServiceError:
                    seat.pool = None
                    raise
                self._trying(lambda: self._changed(seat, pool_id, _nothing))

    def _trying(self, attempt: Callable[[], Answer]) -> Answer:
        for _ in range(_TRIES):
            try:
                return attempt()
            except StoreConflictError as conflict:
                said = str(conflict)
        raise RefusalError("busy", f"{said} (tried {_TRIES} times)")

    @contextmanager
    def _held(self, seat: Seat) -> Iterator[None]:
        """Hold a pool's lock, or refuse: who waits for it takes a thread that other pools need."""
        with self._guard:
            if seat.waiting >= max(1, self.settings.threads // 2):
                raise _busy(f"{seat.waiting} requests wait for this pool")
            seat.waiting += 1
        try:
            held = seat.lock.acquire(timeout=self.settings.wait_s)
        finally:
            with self._guard:
                seat.waiting -= 1
        if not held:
            raise _busy(f"this pool is worked on for more than {self.settings.wait_s:g} seconds")
        try:
            yield
        finally:
            seat.lock.release()

    def _gone(self, pool_id: str) -> RefusalError:
        """Say that a pool was deleted, here or by another process, and keep it no longer."""
        self._drop(pool_id)
        return no_pool(pool_id)

    def _drop(self, pool_id: str) -> None:
        with self._guard:
            self._seats.pop(pool_id, None)
            self.metrics.cached_pools.set(len(self._seats))

    def _seat(self, pool_id: str) -> Seat:
        """Return a pool's place; the pool longest unused makes room."""
        with self._guard:
            seat = self._seats.setdefault(pool_id, Seat())
            self._seats.move_to_end(pool_id)
            for id in list(self._seats)[: -self.settings.cached_pools]:
                # Who waits for a seat that is taken away gets it still: it reads its pool again.
                if self._seats[id].lock.acquire(blocking=False):
                    self._seats.pop(id).lock.release()
            self.metrics.cached_pools.set(len(self._seats))
            return seat

    def _current(self, seat: Seat, transaction: Transaction, row: PoolRow) -> Pool:
        """Bring the pool in memory up to its log."""
        pool = seat.pool
        if pool is None or pool.seq > row.seq:
            pool = self._loaded(seat, transaction, row)
        seat.pool = None  # until all of the log is in it
        if pool.seq < row.seq:
            for recorded in transaction.events(row.id, pool.seq):
                pool.apply(recorded)
        if pool.seq < row.seq:
            raise ServiceError(
                f"the log of pool {row.name!r} ends with event {pool.seq} instead of {row.seq}: "
                "it is damaged, restore a copy of the database"
            )
        seat.pool = pool
        return pool

    def _loaded(self, seat: Seat, transaction: Transaction, row: PoolRow) -> Pool:
        for body in transaction.snapshots(row.id):
            try:
                pool = Pool.from_bytes(row.id, body)
            except ServiceError as error:
                log.warning("snapshot unreadable", pool=row.name, why=str(error))
                continue
            if pool.seq <= row.seq:
                seat.snapshot = pool.seq
                return pool
        seat.snapshot = 0
        return Pool(row.id)

    def _snapshot(self, seat: Seat, transaction: Transaction, every: int | None = None) -> None:
        """Save the pool in this transaction, if enough happened since it was saved.

        A pool so large that it takes long is saved less often, to spend little time on it.
        """
        pool, began = seat.pool, time.monotonic()
        if pool is None or pool.seq - seat.snapshot < (every or self.settings.snapshot_every):
            return
        if not every and began - seat.saved_at < _SELDOM * seat.saving_s:
            return
        transaction.add_snapshot(pool.id, pool.seq, pool.at, pool.to_bytes())
        seat.snapshot, seat.saved_at = pool.seq, time.monotonic()
        seat.saving_s = seat.saved_at - began

    def sweep(self) -> None:
        """Let games expire that are due in the pools in memory."""
        with self._guard:
            seats = list(self._seats.items())
        for id, seat in seats:
            try:
                self._sweep(id, seat)
            except (RefusalError, ServiceError) as error:  # deleted elsewhere, a store in trouble
                log.warning("sweep", pool=id, why=str(error))

    def _sweep(self, pool_id: str, seat: Seat) -> None:
        if not seat.lock.acquire(blocking=False):
            return  # whoever holds it lets them expire
        try:
            due = seat.pool is not None and seat.pool.due(self.clock.now())
        finally:
            seat.lock.release()
        if due:
            self.read(pool_id, lambda pool, transaction: None)

    def forget_answers(self) -> None:
        """Forget idempotent answers that are older than the settings say."""
        before = self.clock.now() - round(self.settings.keep_answers_s * SECOND)
        more = True
        while more:  # some at a time: others write in between
            with self.store.writing() as transaction:
                more = transaction.drop_answers(before)

    def close(self) -> None:
        """Save every pool in memory, so that the next start is fast, and close the store."""
        for id, seat in list(self._seats.items()):
            with seat.lock:
                try:
                    self._save(id, seat)
                except ServiceError as error:  # the log has it all: only the next start is slower
                    log.warning("snapshot not written", pool=id, why=str(error))
        self.store.close()

    def _save(self, pool_id: str, seat: Seat) -> None:
        if seat.pool is None or seat.pool.seq == seat.snapshot:
            return
        with self.store.writing() as transaction:
            if transaction.pool(pool_id, lock=True) is not None:
                self._snapshot(seat, transaction, every=1)


def _nothing(changes: Changes, transaction: Transaction) -> Answer:
    """Change nothing but what the clock does."""
    return Answer(204)


def _busy(what: str) -> RefusalError:
    return RefusalError(
        "pool-busy",
        f"{what}: try again in a moment, and report outcomes in batches",
        headers={"Retry-After": "1"},
    )


def no_pool(name: str) -> RefusalError:
    """Say that a pool is unknown."""
    return RefusalError(
        "no-such-pool", f"no pool is called {name!r}: make it first, with POST /v1/pools"
    )
