"""Repair: what does not follow from the log is dropped or written again, after a copy.

The log itself is never changed, unless the caller asks that the log of a pool be cut after the last
event that can be applied: what was acknowledged after it is lost then.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.events import Recorded
from pairup.service.operations.expected_records import ExpectedRecords, expecting_records
from pairup.service.operations.verify import Finding, audit_pool, verify
from pairup.service.store import Store
from pairup.service.store.repairs import RepairTransaction

_REMEDIES = {
    "snapshot": "drop the snapshot: the pool is read from an older one, or from its log",
    "pool": "write the pool's row again from the log",
    "matchings": "write the records of matchings and games again from the log",
    "games": "write the records of matchings and games again from the log",
    "answer": "drop the answer: a request that is sent again is done again",
}


@dataclass(frozen=True)
class Remedy:
    """Something that is wrong, and what can be done about it."""

    pool: str
    id: str
    finding: Finding
    cut: bool = False  # whether the caller wants the log to be cut

    @property
    def can_be_done(self) -> bool:
        """Whether a repair does it."""
        return self.finding.part in _REMEDIES or self.cut

    @property
    def says(self) -> str:
        """What is done, or what the operator can do."""
        if self.finding.part in _REMEDIES:
            return _REMEDIES[self.finding.part]
        last = self.finding.seq
        if self.cut:
            return f"cut the log after event {last}: what happened later is lost"
        return (
            f"restore a copy of the database, delete the pool, or ask with --cut {self.pool} that "
            f"its log ends with event {last}: what happened later is lost then"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the remedy as a row of a table."""
        return {"pool": self.pool, "found": self.finding.what, "remedy": self.says}


def find_remedies(store: Store, cut: Collection[str] = ()) -> list[Remedy]:
    """List everything that is wrong in a database, and what can be done about it.

    `cut` has the names of the pools whose logs are to be cut if they cannot be read to their ends.
    """
    found = [(pool, finding) for pool in verify(store) for finding in pool.findings]
    unknown = set(cut) - {pool.pool for pool, finding in found if finding.part == "log"}
    if unknown:
        raise ServiceError(
            f"the log of pool {min(unknown)!r} need not be cut: leave out --cut {min(unknown)}"
        )
    return [
        Remedy(pool.pool, pool.id, finding, finding.part == "log" and pool.pool in cut)
        for pool, finding in found
    ]


def repair(store: Store, remedies: Collection[Remedy], copy: Path) -> None:
    """Do what can be done; `copy`, a file that does not exist yet, gets all rows that may change.

    The service must not run meanwhile.
    """
    wanted = [remedy for remedy in remedies if remedy.can_be_done]
    cuts = {remedy.id: remedy.finding.seq for remedy in wanted if remedy.cut}
    pools = dict.fromkeys(remedy.id for remedy in wanted if remedy.id)
    with store.repairing() as transaction:
        with copy.open("x", encoding="utf-8") as file:
            for id in pools:
                for table, row in transaction.rows_of(id, cuts.get(id, 0)):
                    file.write(json.dumps({"table": table, "row": row}, default=_as_hex) + "\n")
        for id in pools:
            if id in cuts:
                transaction.cut_log(id, cuts[id])
            _rebuild(transaction, id, cut=id in cuts)
        for owner, key in transaction.damaged_answers():
            transaction.drop_answer(owner, key)


def _as_hex(value: Any) -> str:
    return bytes(value).hex()


def _rebuild(transaction: RepairTransaction, id: str, cut: bool) -> None:
    """Make everything that is stored of a pool follow from its log."""
    if cut:  # the row must end where the log ends before the log can be read
        _write_row(transaction, id)
    with expecting_records(id) as records:
        found = audit_pool(transaction.any_pool(id), transaction, records)
        for finding in found.findings:
            if finding.part == "snapshot":
                transaction.drop_snapshot(id, finding.seq)
        if any(finding.part == "pool" for finding in found.findings):
            _write_row(transaction, id)
        if any(finding.part in ("matchings", "games") for finding in found.findings):
            _write_records(transaction, id, records)


def _write_records(transaction: RepairTransaction, id: str, records: ExpectedRecords) -> None:
    transaction.drop_records(id)
    for matching, games in records.matchings():
        transaction.add_matching(matching, games)


def _write_row(transaction: RepairTransaction, id: str) -> None:
    first, last, deleted_at = _ends(transaction.events(id))
    name = getattr(first.event, "name", "")
    transaction.set_pool(id, name, first.at, deleted_at, last.seq)


def _ends(log: Iterator[Recorded]) -> tuple[Recorded, Recorded, int | None]:
    """Return the first and the last event of a log, and when the pool was deleted."""
    first = last = next(log, None)
    if first is None or last is None:
        raise ServiceError("the log has no event that can be read: delete the pool")
    for recorded in log:
        last = recorded
    return first, last, last.at if last.event.kind == "deleted" else None
