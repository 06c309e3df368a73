"""Verification: everything that is stored beside the log follows from it.

Records as the log says they must be are on a temporary disk: a log may be longer than memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import StaticPool, create_engine

from pairup.errors import ServiceError
from pairup.service.domain.events import Moment, Recorded
from pairup.service.domain.games import GameRecord, MatchingRecord
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import (
    DamagedSnapshotError,
    SnapshotError,
    digest_of,
    durable_part,
    open_snapshot,
    read_snapshot,
)
from pairup.service.domain.version import current_version
from pairup.service.store import PoolRow, Store, Transaction, tables
from pairup.service.store.event_log import SnapshotRow
from pairup.service.store.repairs import RepairTransaction

Part = Literal["log", "pool", "names", "matchings", "games", "snapshot", "base", "reply"]


@dataclass(frozen=True)
class Finding:
    """Something that is stored and does not follow from the log."""

    part: Part
    what: str
    seq: int = 0  # of the event or the snapshot


@dataclass(frozen=True)
class Verification:
    """The result for a pool, or for the idempotent replies."""

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
    damaged = tuple(_damaged_replies(store))
    if damaged:
        found.append(Verification("(idempotent replies)", 0, 0, 0, "", damaged))
    return found


def verify_pool(row: PoolRow, transaction: Transaction) -> Verification:
    """Replay the log of a pool, and compare what is stored beside it."""
    with expecting_records(row.number) as records:
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
        return Verification(name, row.number, self.pool.seq, games, digest_of(self.pool), found)

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

    def _begin(self, snapshots: list[SnapshotRow]) -> None:
        """Start with an empty pool, or with the first snapshot before which the log was dropped.

        Events that were not dropped are checked, whatever a snapshot says.
        """
        bases = [each for each in snapshots if each.base]
        first = self.transaction.first_event(self.row.number)
        if first > 1 and bases:
            base = bases.pop(0)
            self._look_over(first, base.head.seq)
            self._begin_with(self._first_readable(snapshots[snapshots.index(base) :]))
        for each in bases:
            what = f"the snapshot after event {each.head.seq} is said to begin the log"
            found = Finding("snapshot", f"{what}, which begins before it", each.head.seq)
            self._findings.append(found)

    def _look_over(self, first: int, last: int) -> None:
        """Read the events before the snapshot with which the log begins that are still there."""
        expected = first
        for recorded in self.transaction.events(self.row.number, first - 1):
            if recorded.seq > last:
                break
            if recorded.seq != expected:
                raise ServiceError(f"event {expected} is missing, found event {recorded.seq}")
            expected += 1
        if expected <= last:
            raise ServiceError(f"event {expected} is missing, up to event {last}")

    def _first_readable(self, snapshots: list[SnapshotRow]) -> Pool:
        """Return the pool of the first snapshot that can be read, as the service does."""
        for each in snapshots:
            try:
                return read_snapshot(self.row.number, each.head, each.body)
            except SnapshotError as error:
                part: Part = "base" if each.base else "snapshot"
                self._findings.append(Finding(part, str(error), each.head.seq))
        raise ServiceError(
            f"the log begins with the snapshot after event {snapshots[0].head.seq}, and neither "
            "that nor a later one can be read"
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
            version, durable, _ = open_snapshot(number, head, body)
            same_version = version == current_version(self.pool.learner.policy)
            if same_version:
                read_snapshot(number, head, body)
        except DamagedSnapshotError as error:
            self._findings.append(Finding("snapshot", str(error), seq))
            return
        except SnapshotError:
            return  # of another version, which is not used
        expected = durable_part(self.pool)
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
        return PoolRow(*known, *pool.head, due_at, self.row.owner)

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

    def _differing(self, part: Literal["matchings", "games"]) -> bool:
        before = self.transaction.archived_before(self.row.number)
        expected = iter(self.records.read(part))
        wanted = next(expected, None)
        for record in getattr(self.transaction, f"stored_{part}")(self.row.number):
            if record is None:
                return True
            while wanted is not None and wanted.key < record.key:
                if not _is_archived(wanted, before):
                    return True
                wanted = next(expected, None)
            if wanted is not None and wanted.key == record.key:
                if wanted != record:
                    return True
                wanted = next(expected, None)
            elif self.records.knows(record):
                return True
        left = () if wanted is None else (wanted, *expected)
        return not all(_is_archived(each, before) for each in left)


def _is_archived(record: GameRecord | MatchingRecord, before: Moment | None) -> bool:
    """Return whether a record may be gone because games before a moment were archived."""
    closed_at = record.key if isinstance(record, MatchingRecord) else record.closed_at
    return before is not None and closed_at is not None and closed_at < before


def _damaged_replies(store: Store) -> Iterator[Finding]:
    with store.reading() as transaction:
        for _, key in transaction.damaged_replies():
            yield Finding("reply", f"the reply stored for the idempotency key {key!r} is damaged")


class ExpectedRecords:
    """The records of a pool as its log says they must be, written event by event as by requests.

    Of a log whose beginning was dropped, the records of games that had ended by then are not known.
    """

    def __init__(self, pool: int, transaction: RepairTransaction) -> None:
        self._pool, self._transaction = pool, transaction
        self.since: Moment = 0  # key of the last matching from before the log begins
        self.carried: list[GameRecord] = []  # open where the log begins

    def begin(self, pool: Pool) -> None:
        """Start with a pool as it was before the first event of the log."""
        self.since = pool.matching
        self.carried = [game.record for game in pool.games.values()]
        self._transaction.add_games(self._pool, self.carried)

    def add(self, recorded: Recorded) -> None:
        """Update the records by the next event."""
        self._transaction.update_records(self._pool, recorded)

    def read(self, part: Literal["matchings", "games"]) -> Iterator[GameRecord | MatchingRecord]:
        """Read the records in the order of their keys; of matchings those that are known."""
        found = getattr(self._transaction, f"stored_{part}")(self._pool)
        return (each for each in found if part == "games" or each.key > self.since)

    def knows(self, record: GameRecord | MatchingRecord) -> bool:
        """Return whether a record must be expected if it is right."""
        key = record.key if isinstance(record, MatchingRecord) else record.key.matching
        return key > self.since

    def count_games(self) -> int:
        """Return how many records of games there must be."""
        return sum(1 for _ in self.read("games"))


@contextmanager
def expecting_records(pool: int) -> Iterator[ExpectedRecords]:
    """Open a temporary file for expected records while the block runs."""
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(""), poolclass=StaticPool)
    tables.metadata.create_all(engine, [tables.matchings, tables.games])
    with closing(engine.raw_connection()), engine.begin() as connection:
        yield ExpectedRecords(pool, RepairTransaction(connection))
