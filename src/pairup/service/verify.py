"""Verify: everything that follows from the log is what the log says."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pairup.errors import ServiceError
from pairup.service.pool import Pool, replayed
from pairup.service.records import projected
from pairup.service.store import PoolRow, Store, Transaction


@dataclass(frozen=True)
class Verdict:
    """What was found about a pool."""

    pool: str
    events: int
    games: int
    digest: str  # of the pool's state, as it is served
    wrong: str  # empty if nothing is

    def as_json(self) -> dict[str, Any]:
        """Return what was found."""
        return {
            "pool": self.pool,
            "events": self.events,
            "games": self.games,
            "digest": self.digest,
            "verdict": self.wrong or "sound",
        }


def digest_of(pool: Pool) -> str:
    """Return a digest of all that a pool is."""
    return hashlib.sha256(pool.to_bytes()).hexdigest()


def verify(store: Store) -> list[Verdict]:
    """Replay the log of every pool, and compare its snapshots and the records of its games."""
    verdicts, after = list[Verdict](), ""
    while True:
        with store.reading() as transaction:
            rows = transaction.pools(after, 100)
        for row in rows:
            with store.reading() as transaction:
                verdicts.append(_verified(row, transaction))
        if not rows:
            return verdicts
        after = rows[-1].name


def _verified(row: PoolRow, transaction: Transaction) -> Verdict:
    try:
        log = list(transaction.events(row.id))
        pool = replayed(row.id, log)
        games = transaction.games_in(row.id)
        wrong = _wrong_snapshot(pool, transaction) or (
            "" if games == projected(row.id, log) else "the records of games differ from the log"
        )
    except ServiceError as error:
        return Verdict(row.name, row.seq, 0, "", str(error))
    return Verdict(row.name, pool.seq, len(games), digest_of(pool), wrong)


def _wrong_snapshot(pool: Pool, transaction: Transaction) -> str:
    for body in transaction.snapshots(pool.id):
        again = Pool.from_bytes(pool.id, body)
        seq = again.seq
        for recorded in transaction.events(pool.id, seq):
            again.apply(recorded)
        if again.to_bytes() != pool.to_bytes():
            return f"the snapshot after event {seq} differs from the log"
    return ""
