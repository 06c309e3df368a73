"""Export: the events of a pool as lines of JSON, whether or not they can be applied."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pairup.errors import ServiceError
from pairup.service.domain.clock import format_moment
from pairup.service.domain.events import dumps
from pairup.service.store import Store

_PAGE = 1_000  # events


def exported_events(store: Store, pool: str) -> Iterator[str]:
    """Yield the events of the pool of this name, or of the pool, deleted or not, with this id."""
    with store.reading(still=True) as transaction:
        row = transaction.pool_named(pool)
        id = row.id if row else pool
        if id not in transaction.pool_ids():
            raise ServiceError(f"no pool is called {pool!r}: give the name of a pool, or its id")
        after = 0
        while rows := transaction.raw_events(id, after, _PAGE, lenient=True):
            for seq, at, kind, body in rows:
                head = {"seq": seq, "at": format_moment(at), "kind": kind}
                yield dumps({**head, "body": json.loads(body)})
            after = rows[-1].seq
