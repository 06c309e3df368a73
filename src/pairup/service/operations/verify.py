"""Verify: everything that follows from the log is what the log says."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.pool import Pool
from pairup.service.domain.records import GameRecord, project
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
    """Replay the log of every pool, and compare its snapshots and the records of its games.

    Each pool as of one moment, so that it may be served meanwhile; deleted ones too.
    """
    with store.reading() as transaction:
        ids = transaction.every_pool()
    verdicts = []
    for id in ids:
        with store.reading(still=True) as transaction:
            verdicts.append(_verified(transaction.pool_ever(id), transaction))
    return verdicts


def _verified(row: PoolRow, transaction: Transaction) -> Verdict:
    pool, records = Pool(row.id), dict[str, GameRecord]()
    name = row.name if row.deleted_at is None else f"{row.name} (deleted)"
    try:
        for recorded in transaction.events(row.id):
            pool.apply(recorded)
            project(records, row.id, recorded)
        wrong = (
            _wrong_end(pool, row)
            or _wrong_snapshot(pool, transaction)
            or _wrong_games(records, transaction.games_in(row.id))
        )
    except ServiceError as error:
        return Verdict(name, row.seq, 0, "", str(error))
    return Verdict(name, pool.seq, len(records), digest_of(pool), wrong)


def _wrong_end(pool: Pool, row: PoolRow) -> str:
    if (pool.seq, pool.deleted) == (row.seq, row.deleted_at is not None):
        return ""
    return f"the log ends with event {pool.seq} instead of {row.seq}"


def _wrong_games(projected: dict[str, GameRecord], stored: dict[str, GameRecord]) -> str:
    return "" if stored == projected else "the records of games differ from the log"


def _wrong_snapshot(pool: Pool, transaction: Transaction) -> str:
    for body in transaction.snapshots(pool.id):
        again = Pool.from_bytes(pool.id, body)
        seq = again.seq
        for recorded in transaction.events(pool.id, seq):
            again.apply(recorded)
        if again.to_bytes() != pool.to_bytes():
            return f"the snapshot after event {seq} differs from the log"
    return ""
