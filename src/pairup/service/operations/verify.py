"""Verification: everything that is stored beside the log follows from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.game_record import GameRecord, project
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import DamagedSnapshotError, SnapshotError, read_snapshot
from pairup.service.store import PoolRow, Store, Transaction


@dataclass(frozen=True)
class Verification:
    """The result for a pool."""

    pool: str
    events: int
    games: int
    digest: str  # of the state, as it is served
    error: str  # empty if the pool is sound

    def as_json(self) -> dict[str, Any]:
        """Return the result as a row of a table."""
        row = asdict(self)
        return row | {"verdict": row.pop("error") or "sound"}


def verify(store: Store) -> list[Verification]:
    """Replay the log of every pool, deleted or not, and compare what is stored beside it.

    Each pool is read as of one moment, so that it may be served meanwhile.
    """
    with store.reading() as transaction:
        ids = transaction.pool_ids()
    found = []
    for id in ids:
        with store.reading(still=True) as transaction:
            found.append(verify_pool(transaction.any_pool(id), transaction))
    return found


def verify_pool(row: PoolRow, transaction: Transaction) -> Verification:
    """Replay the log of a pool, and compare what is stored beside it."""
    pool, records = Pool(row.id), dict[str, GameRecord]()
    name = row.name if row.deleted_at is None else f"{row.name} (deleted)"
    try:
        for recorded in transaction.events(row.id):
            pool.apply(recorded)
            project(records, row.id, recorded)
        error = _find_error(pool, row, records, transaction)
    except ServiceError as damage:
        return Verification(name, row.seq, 0, "", str(damage))
    return Verification(name, pool.seq, len(records), pool.digest, error)


def _find_error(
    pool: Pool, row: PoolRow, records: dict[str, GameRecord], transaction: Transaction
) -> str:
    if (pool.seq, pool.deleted) != (row.seq, row.deleted_at is not None):
        return f"the log ends with event {pool.seq} instead of {row.seq}"
    for seq, _, body in transaction.snapshots(pool.id):
        try:
            again = read_snapshot(pool.id, seq, body)
        except DamagedSnapshotError as error:
            return str(error)
        except SnapshotError:
            continue  # of another version, which is not used
        for recorded in transaction.events(pool.id, seq):
            again.apply(recorded)
        if again.to_bytes() != pool.to_bytes():
            return f"the snapshot after event {seq} differs from the log"
    stored, before = transaction.games_in(pool.id), transaction.archived_before(pool.id)
    for id, record in records.items():
        # Records of games that closed before what was archived are deleted.
        gone = id not in stored and before is not None and (record.closed_at or before) < before
        if not gone and stored.pop(id, None) != record:
            return "the records of games differ from the log"
    return "the records of games differ from the log" if stored else ""
