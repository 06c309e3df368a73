"""Verification: everything that is stored beside the log follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pairup.errors import ServiceError
from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Recorded
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import (
    DamagedSnapshotError,
    SnapshotError,
    open_snapshot,
    read_snapshot,
)
from pairup.service.domain.version import current_version
from pairup.service.operations.expected_records import ExpectedRecords, expecting_records
from pairup.service.store import PoolRow, Store, Transaction

Part = Literal["log", "pool", "matchings", "games", "snapshot", "answer"]


@dataclass(frozen=True)
class Finding:
    """Something that is stored and does not follow from the log."""

    part: Part
    what: str
    seq: int = 0  # of the event or the snapshot


@dataclass(frozen=True)
class Verification:
    """The result for a pool, or for the idempotent answers."""

    pool: str
    id: str
    events: int
    games: int
    digest: str  # of the state, as it is served
    findings: tuple[Finding, ...] = ()

    @property
    def error(self) -> str:
        """What was found; empty if all is sound."""
        return "; ".join(finding.what for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Return the result as a row of a table."""
        shown = {name: getattr(self, name) for name in ("pool", "events", "games", "digest")}
        return shown | {"verdict": self.error or "sound"}


def verify(store: Store) -> list[Verification]:
    """Replay the log of every pool, deleted or not, and compare what is stored beside it.

    Each pool is read as of one moment, so that it may be served meanwhile. What an earlier or a
    later version of pairup wrote is compared as far as it states facts.
    """
    with store.reading() as transaction:
        ids = transaction.pool_ids()
    found = []
    for id in ids:
        with store.reading(still=True) as transaction:
            found.append(verify_pool(transaction.any_pool(id), transaction))
    damaged = tuple(_damaged_answers(store))
    if damaged:
        found.append(Verification("(idempotent answers)", "", 0, 0, "", damaged))
    return found


def verify_pool(row: PoolRow, transaction: Transaction) -> Verification:
    """Replay the log of a pool, and compare what is stored beside it."""
    with expecting_records(row.id) as records:
        return audit_pool(row, transaction, records)


def audit_pool(row: PoolRow, transaction: Transaction, records: ExpectedRecords) -> Verification:
    """Verify a pool; `records`, empty at first, has its records in the end."""
    name = row.name if row.deleted_at is None else f"{row.name} (deleted)"
    audit = _Audit(row, transaction, records)
    try:
        audit.replay()
    except ServiceError as damage:
        finding = Finding("log", str(damage), audit.pool.seq)
        return Verification(name, row.id, row.seq, 0, "", (finding,))
    found = tuple(audit.compare())
    games = records.count("games")
    return Verification(name, row.id, audit.pool.seq, games, audit.pool.digest, found)


class _Audit:
    """A replay of the log of a pool, and what differs from it."""

    def __init__(self, row: PoolRow, transaction: Transaction, records: ExpectedRecords) -> None:
        self.row, self.transaction, self.records = row, transaction, records
        self.pool = Pool(row.id)
        self.created_at: Moment | None = None
        self.deleted_at: Moment | None = None
        self._findings: list[Finding] = []

    def replay(self) -> None:
        """Apply all events; after those that have a snapshot, look at it."""
        snapshots = {seq: (at, body) for seq, at, body in self.transaction.snapshots(self.row.id)}
        for recorded in self.transaction.events(self.row.id):
            self._apply(recorded)
            if recorded.seq in snapshots:
                self._compare_snapshot(recorded, *snapshots.pop(recorded.seq))
        if self.pool.seq != self.row.seq:
            raise ServiceError(f"the log ends with event {self.pool.seq} instead of {self.row.seq}")
        for seq in snapshots:
            what = f"a snapshot is of event {seq}, which has not happened"
            self._findings.append(Finding("snapshot", what, seq))
        self.records.finish()

    def _apply(self, recorded: Recorded) -> None:
        if recorded.at < self.pool.at:
            what = f"event {recorded.seq} is dated before event {recorded.seq - 1}"
            self._findings.append(Finding("log", what, recorded.seq - 1))
        self.pool.apply(recorded)
        self.records.add(recorded)
        if recorded.seq == 1:
            self.created_at = recorded.at
        if recorded.event.kind == "deleted":
            self.deleted_at = recorded.at

    def _compare_snapshot(self, recorded: Recorded, at: int, body: bytes) -> None:
        seq, what = recorded.seq, f"the snapshot after event {recorded.seq} differs from the log"
        try:
            header, durable, _ = open_snapshot(self.row.id, seq, body)
            same_version = header["version"] == current_version(self.pool.learner.policy)
            if same_version:
                read_snapshot(self.row.id, seq, body)
        except DamagedSnapshotError as error:
            self._findings.append(Finding("snapshot", str(error), seq))
            return
        except SnapshotError:
            return  # of another version, which is not used
        expected = self.pool.to_bytes()
        if not same_version:  # the facts; how the learner's evidence is written may have changed
            durable, expected = durable.partition(b"\n")[0], expected.partition(b"\n")[0]
        if durable != expected or at != recorded.at:
            self._findings.append(Finding("snapshot", what, seq))

    def compare(self) -> Iterator[Finding]:
        """Yield what differs from the log, after all of it was applied."""
        yield from self._findings
        row, pool = self.row, self.pool
        stored = (row.name, row.created_at, row.deleted_at)
        if stored != (pool.name, self.created_at, self.deleted_at):
            yield Finding("pool", "the name or the dates of the pool differ from the log")
        if self._differing("matchings"):
            yield Finding("matchings", "the records of matchings differ from the log")
        if self._differing("games"):
            yield Finding("games", "the records of games differ from the log")

    def _differing(self, table: Literal["matchings", "games"]) -> bool:
        differing = 0
        for place, record in getattr(self.transaction, f"stored_{table}")(self.row.id):
            differing += record is None or self.records.differs(table, place, record)
        before = self.transaction.archived_before(self.row.id)
        return differing > 0 or self.records.any_missing(table, before)


def _damaged_answers(store: Store) -> Iterator[Finding]:
    with store.reading() as transaction:
        for _, key in transaction.damaged_answers():
            yield Finding("answer", f"the answer stored for the key {key!r} is damaged")
