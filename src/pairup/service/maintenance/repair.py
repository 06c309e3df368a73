"""Repair: what does not follow from the log is dropped or written again, after a copy.

The log itself is never changed, unless the caller asks that the log of a pool be cut after the last
event that can be applied: what was acknowledged after it is lost then.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairup.errors import ServiceError
from pairup.service.maintenance.verify import (
    Audit,
    Finding,
    expecting_records,
    verify,
)
from pairup.service.store import Store
from pairup.service.store.repairs import RepairTransaction

_REMEDIES = {
    "snapshot": "drop the snapshot: the pool is read from an older one, or from its log",
    "base": "let the log begin with the next snapshot that can be read",
    "pool": "write the pool's row again from the log",
    "matchings": "write the records of matchings and games again from the log",
    "games": "write the records of matchings and games again from the log",
    "names": "enter the players whose names are missing as erased",
    "reply": "drop the reply: a request that is sent again is done again",
}


@dataclass(frozen=True)
class Remedy:
    """Something that is wrong, and what can be done about it."""

    pool: str
    number: int  # 0: no pool
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
        if not last:
            return "restore a copy of the database, or delete the pool"
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
        Remedy(pool.pool, pool.number, finding, finding.part == "log" and pool.pool in cut)
        for pool, finding in found
    ]


def repair(store: Store, remedies: Collection[Remedy], copy: Path) -> None:
    """Do what can be done; `copy`, a file that does not exist yet, gets all rows that may change.

    The service must not run meanwhile.
    """
    wanted = [remedy for remedy in remedies if remedy.can_be_done]
    cuts = {remedy.number: remedy.finding.seq for remedy in wanted if remedy.cut}
    pools = dict.fromkeys(remedy.number for remedy in wanted if remedy.number)
    with store.repairing() as transaction:
        _copy_rows(transaction, pools, cuts, copy)
        for number in pools:
            if number in cuts:
                transaction.cut_log(number, cuts[number])
            _rebuild(transaction, number, cuts.get(number))
        for owner, key in transaction.damaged_replies():
            transaction.drop_reply(owner, key)


def _copy_rows(
    transaction: RepairTransaction, pools: Iterable[int], cuts: Mapping[int, int], copy: Path
) -> None:
    """Write the rows that may change into a file that only its owner can read."""
    opened = os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with open(opened, "w", encoding="utf-8") as file:
        for number in pools:
            for table, row in transaction.rows_of(number, cuts.get(number, 0)):
                file.write(json.dumps({"table": table, "row": row}, default=_as_hex) + "\n")


def _as_hex(value: Any) -> str:
    return bytes(value).hex()


def _rebuild(transaction: RepairTransaction, number: int, cut: int | None) -> None:
    """Make everything that is stored of a pool follow from its log."""
    row = transaction.any_pool(number)
    if cut is not None:  # the log must end where the row says before it can be read
        row = row._replace(seq=cut)
    with expecting_records(number) as records:
        audit = Audit(row, transaction, records)
        found = audit.run()
        if not audit.pool.seq:
            raise ServiceError("the log has no event that can be read: delete the pool")
        parts = {finding.part for finding in found.findings}
        for finding in found.findings:
            if finding.part in ("snapshot", "base"):
                transaction.drop_snapshot(number, finding.seq)
        if "base" in parts:
            transaction.begin_log(number, audit.begins)
        if cut is not None or "pool" in parts:
            transaction.set_pool(audit.expected_row)
        if "names" in parts:
            _write_names(transaction, audit)
        if parts & {"matchings", "games"}:
            _write_records(transaction, audit)


def _write_names(transaction: RepairTransaction, audit: Audit) -> None:
    """Enter players who have no row, and take away rows of players who are not in the log."""
    number, last = audit.row.number, audit.pool.players.last
    known = transaction.numbered(number)
    transaction.drop_names(number, last)
    missing = (player for player in range(1, last + 1) if player not in known)
    transaction.add_names(number, ((player, None) for player in missing))


def _write_records(transaction: RepairTransaction, audit: Audit) -> None:
    """Write records as requests did, event by event, from where the log begins."""
    number, records = audit.row.number, audit.records
    transaction.drop_records(number, records.since + 1)
    transaction.write_games(number, records.carried)
    for recorded in transaction.events(number, audit.begins):
        transaction.update_records(number, recorded)
