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
from pairup.service.store.event_log import SnapshotRow

Part = Literal["log", "pool", "names", "matchings", "games", "snapshot", "base", "answer"]


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
    number: int  # 0: no pool
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
        numbers = transaction.pool_numbers()
    found = []
    for number in numbers:
        with store.reading(still=True) as transaction:
            found.append(verify_pool(transaction.any_pool(number), transaction))
    damaged = tuple(_damaged_answers(store))
    if damaged:
        found.append(Verification("(idempotent answers)", 0, 0, 0, "", damaged))
    return found


def verify_pool(row: PoolRow, transaction: Transaction) -> Verification:
    """Replay the log of a pool, and compare what is stored beside it."""
    with expecting_records() as records:
        return Audit(row, transaction, records).run()


class Audit:
    """A replay of the log of a pool, and what differs from it.

    `records`, empty at first, has the pool's records in the end.
    """

    def __init__(self, row: PoolRow, transaction: Transaction, records: ExpectedRecords) -> None:
        self.row, self.transaction, self.records = row, transaction, records
        self.pool = Pool(row.number, row.secret)
        self.created_at: Moment | None = None
        self.deleted_at: Moment | None = None
        self.begins = 0  # event before the first that is applied
        self._findings: list[Finding] = []

    def run(self) -> Verification:
        """Verify the pool."""
        row = self.row
        name = row.name if row.deleted_at is None else f"{row.name} (deleted, {row.number})"
        try:
            self.replay()
        except ServiceError as damage:
            finding = Finding("log", str(damage), self.pool.seq)
            return Verification(name, row.number, row.seq, 0, "", (finding,))
        found, games = tuple(self.compare()), self.records.count_games()
        return Verification(name, row.number, self.pool.seq, games, self.pool.digest, found)

    def replay(self) -> None:
        """Apply all events; after those that have a snapshot, look at it."""
        snapshots = {each.head.seq: each for each in self.transaction.snapshots(self.row.number)}
        self._begin(sorted(snapshots.values(), key=lambda each: each.head))
        last = self.pool.seq  # what is readable of the log, if an event cannot be applied
        try:
            for recorded in self.transaction.events(self.row.number, self.pool.seq):
                self._apply(recorded)
                last = recorded.seq
                if recorded.seq in snapshots:
                    self._compare_snapshot(recorded.at, snapshots.pop(recorded.seq))
        except ServiceError:
            self.pool.head = self.pool.head._replace(seq=last)
            raise
        if self.pool.seq != self.row.seq:
            raise ServiceError(f"the log ends with event {self.pool.seq} instead of {self.row.seq}")
        for each in snapshots.values():
            if each.head.seq > self.pool.seq:
                what = f"a snapshot is of event {each.head.seq}, which has not happened"
                self._findings.append(Finding("snapshot", what, each.head.seq))
        self.records.finish()

    def _begin(self, snapshots: list[SnapshotRow]) -> None:
        """Begin with an empty pool, or with the snapshot before which the log was dropped.

        Where that one cannot be read, with the next that can, as the service does.
        """
        base = next((each for each in snapshots if each.base), None)
        if base is None:
            return
        for each in snapshots[snapshots.index(base) :]:
            try:
                pool = read_snapshot(self.row.number, each.head, each.body)
            except SnapshotError as error:
                part: Part = "base" if each.base else "snapshot"
                self._findings.append(Finding(part, str(error), each.head.seq))
                continue
            self._begin_with(pool)
            return
        raise ServiceError(
            f"the log begins with the snapshot after event {base.head.seq}, and neither that nor a "
            "later one can be read"
        )

    def _begin_with(self, pool: Pool) -> None:
        self.pool, self.begins = pool, pool.seq
        self.created_at = self.row.created_at
        self.deleted_at = self.row.deleted_at if pool.deleted else None
        self.records.begin(pool)

    def _apply(self, recorded: Recorded) -> None:
        if recorded.at < self.pool.at:
            what = f"event {recorded.seq} is dated before event {recorded.seq - 1}"
            self._findings.append(Finding("log", what, recorded.seq - 1))
        self.pool.replay(recorded)
        self.records.add(recorded)
        if recorded.seq == 1:
            self.created_at = recorded.at
        if recorded.event.kind == "deleted":
            self.deleted_at = recorded.at

    def _compare_snapshot(self, at: Moment, snapshot: SnapshotRow) -> None:
        seq, what = self.pool.seq, f"the snapshot after event {self.pool.seq} differs from the log"
        number, head, body = self.row.number, snapshot.head, snapshot.body
        try:
            header, durable, _ = open_snapshot(number, head, body)
            same_version = header["version"] == current_version(self.pool.learner.policy)
            if same_version:
                read_snapshot(number, head, body)
        except DamagedSnapshotError as error:
            self._findings.append(Finding("snapshot", str(error), seq))
            return
        except SnapshotError:
            return  # of another version, which is not used
        expected = self.pool.to_bytes()
        if not same_version:  # the facts; how the learner's evidence is written may have changed
            durable, expected = durable.partition(b"\n")[0], expected.partition(b"\n")[0]
        if durable != expected or (head, snapshot.at) != (self.pool.head, at):
            self._findings.append(Finding("snapshot", what, seq))

    @property
    def expected_row(self) -> PoolRow:
        """The row of the pool as it must be."""
        pool, created_at = self.pool, self.created_at or 0
        due_at = None if self.deleted_at else pool.games.due_at
        known = (self.row.number, self.row.secret, pool.name, created_at, self.deleted_at)
        return PoolRow(*known, *pool.head, due_at)

    def compare(self) -> Iterator[Finding]:
        """Yield what differs from the log, after all of it was applied."""
        yield from self._findings
        if self.row.chain != self.pool.head.chain:
            what = "the events are not those that were written: one was replaced or edited"
            yield Finding("pool", what)
        elif self.row != self.expected_row:
            yield Finding("pool", "the name or the dates of the pool differ from the log")
        count, last = self.transaction.count_names(self.row.number)
        if (count, last) != (self.pool.players.last,) * 2:
            what = f"names are stored of {count} players up to {last}"
            yield Finding("names", f"{what}, the log has {self.pool.players.last}")
        for part in ("matchings", "games"):
            if self._differing(part):
                yield Finding(part, f"the records of {part} differ from the log")

    def _differing(self, table: Literal["matchings", "games"]) -> bool:
        differing = 0
        for record in getattr(self.transaction, f"stored_{table}")(self.row.number):
            differing += record is None or self.records.differs(record)
        before = self.transaction.archived_before(self.row.number)
        return differing > 0 or self.records.any_missing(table, before)


def _damaged_answers(store: Store) -> Iterator[Finding]:
    with store.reading() as transaction:
        for _, key in transaction.damaged_answers():
            yield Finding("answer", f"the answer stored for the key {key!r} is damaged")
