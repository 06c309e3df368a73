"""Services without HTTP: each has a store of its own, and stands for a process on its database."""

from contextlib import ExitStack, contextmanager

from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import digest_of, read_snapshot
from pairup.service.maintenance.verify import verify
from pairup.service.pools.idempotency import KeyedRequest
from pairup.service.pools.service import Service
from pairup.service.settings import Settings
from pairup.service.store import Store
from tests.support.service.clock import SettableClock


class TickingClock(SettableClock):
    """A clock that goes on by a microsecond at each look."""

    def now(self):
        self.moment += 1
        return self.moment


def open_service(database, clock, **settings):
    """Open the service of a database, as a process does that starts."""
    wait_s = settings.get("wait_s", 20.0)
    store = Store(database, inspect=False, wait_s=wait_s)
    return Service(Settings(database=database, sweep_s=3600, **settings), store, clock)


@contextmanager
def services(database, count=2, clock=None, **settings):
    """Open several services of one database, which have the same clock."""
    clock = clock or TickingClock()
    with ExitStack() as opened:
        found = [open_service(database, clock, **settings) for _ in range(count)]
        for service in found:
            opened.callback(service.close)
        yield found


def keyed(key, digest="a"):
    """Make a request with an idempotency key; `digest` tells it from other requests."""
    return KeyedRequest("me", key, digest * 64)


def players_of(service, pool):
    """Return the names of the players of a pool, as a service lists them."""
    return {each["player"] for each in service.list_players(pool, None, "", 1_000)[0]}


def check_stored(store):
    """All that is stored follows from the log."""
    assert {each.pool: each.error for each in verify(store) if each.error} == {}


def check_agreement(service, pool):
    """What a service shows of a pool is its log, replayed, and so is each snapshot of it.

    Returns the number of snapshots.
    """
    shown = service.show_digest(pool)
    with service.store.reading(still=True) as transaction:
        row = transaction.pool_named(pool)
        snapshots = {each.head.seq: each for each in transaction.snapshots(row.number)}
        replayed = _beginning(row, snapshots.values())
        heads = {replayed.seq: (replayed.head, digest_of(replayed))}
        for recorded in transaction.events(row.number, replayed.seq):
            replayed.replay(recorded)
            if recorded.seq in snapshots or recorded.seq == row.seq:
                heads[recorded.seq] = replayed.head, digest_of(replayed)
    assert heads[row.seq] == (row.head, shown["digest"]), "memory is not what the log leads to"
    for seq, each in snapshots.items():
        if seq >= min(heads):
            saved = read_snapshot(row.number, each.head, each.body)
            assert heads[seq] == (saved.head, digest_of(saved)), (
                "a snapshot is not what the log was"
            )
    return len(snapshots)


def _beginning(row, snapshots):
    """Return the pool from before the first event of the log that is stored."""
    for each in snapshots:
        if each.base:
            return read_snapshot(row.number, each.head, each.body)
    return Pool(row.number)


def memory_of(service, pool):
    """Return the pool that a service has in memory, None if it has none."""
    found = [each.pool for each in service.pools.cache if each.name == pool]
    return found[0] if found else None
