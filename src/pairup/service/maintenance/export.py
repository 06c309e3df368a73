"""Export: the events of a pool as lines of JSON, whether or not they can be applied; an audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.events import (
    Configured,
    Created,
    Deleted,
    Loaded,
    dumps,
    format_moment,
)
from pairup.service.store import PoolRow, Store, Transaction

_PAGE = 1_000  # events
_BY_ADMINISTRATORS = (Created, Configured, Deleted, Loaded)


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


def audited(store: Store, pool: str | None = None) -> list[dict[str, Any]]:
    """List what administrators did to the pools of a name, or to all: when, what and who."""
    with store.reading(still=True) as transaction:
        found = transaction.events_of_kinds(each.kind for each in _BY_ADMINISTRATORS)
        rows = transaction.some_pools({number for number, _ in found})
    names = {row.number: row.name for row in rows}
    return [
        {
            "at": format_moment(event.at),
            "pool": names[number],
            "event": event.seq,
            "kind": event.kind,
            "by": body.get("by") or "",
            "what": dumps(body.get("changes") or body.get("rules") or {}),
        }
        for number, event in found
        for body in [json.loads(event.body)]
        if pool in (None, names[number])
    ]
