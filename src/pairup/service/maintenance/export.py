"""Export: the events of a pool as lines of JSON, whether or not they can be applied."""

from __future__ import annotations

from collections.abc import Iterator

from pairup.errors import ServiceError
from pairup.service.domain.events import dumps
from pairup.service.store import PoolRow, Store, Transaction

_PAGE = 1_000  # events


def exported_events(store: Store, pool: str) -> Iterator[str]:
    """Yield the events of the pool of this name, or of the deleted pool with this number."""
    with store.reading(still=True) as transaction:
        row = transaction.pool_named(pool) or _numbered(transaction, pool)
        after = 0
        while events := transaction.shown_events(row, after, _PAGE):
            yield from map(dumps, events)
            after = events[-1]["seq"]


def _numbered(transaction: Transaction, pool: str) -> PoolRow:
    if not pool.isdecimal() or int(pool) not in transaction.pool_numbers():
        raise ServiceError(
            f"no pool is called {pool!r}: give the name of a pool, or the number of a deleted one, "
            "which `pairup verify` shows"
        )
    return transaction.any_pool(int(pool))
