"""Archiving: old events leave the database for compressed files, which the log still reads.

An event is archived only behind a snapshot that was verified, so that no start reads the archive.
Each file is on the disk before its events are deleted, in the transaction that enters the file:
killed anywhere in between, a run leaves at most a file that the next one writes again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.clock import Moment
from pairup.service.domain.pool import replay
from pairup.service.domain.snapshot import SnapshotError, read_snapshot, write_snapshot
from pairup.service.operations.verify import verify_pool
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.archive_files import MAX_EVENTS, write_archive

_MATCHINGS = 500  # deleted at once, so that others can write in between


@dataclass
class Archived:
    """What was moved out of the database for a pool."""

    pool: str
    events: int = 0
    games: int = 0
    files: int = 0
    bytes: int = 0
    error: str = ""  # why nothing was moved

    def as_json(self) -> dict[str, Any]:
        """Return the result as a row of a table."""
        row = asdict(self)
        return row | {"verdict": row.pop("error") or "archived"}


def archive(store: Store, before: Moment, folder: Path | None = None) -> list[Archived]:
    """Archive what happened before a moment, of every pool that is sound; it may be served.

    Without a folder the files are beside the database, which must be a file then.
    """
    place = folder or store.archive_folder
    if place is None:
        raise ServiceError(
            "archives of a database in a server need a folder that every process of the service "
            "can read: give --to FOLDER"
        )
    with store.reading() as transaction:
        ids = transaction.pool_ids()
    found = [_Archiving(store, id, before, place, folder).run() for id in ids]
    store.shrink()
    return found


class _Archiving:
    """The archiving of one pool."""

    def __init__(
        self, store: Store, id: str, before: Moment, place: Path, folder: Path | None
    ) -> None:
        self._store, self._id, self._before = store, id, before
        self._place, self._folder = place, None if folder is None else folder.absolute()

    def run(self) -> Archived:
        """Archive the events of the pool and then the records of its games, in small steps."""
        with self._store.reading(still=True) as transaction:
            row = transaction.any_pool(self._id)
            cut = transaction.last_event_before(self._id, self._before)
            verified = verify_pool(row, transaction)
            covered = row.deleted_at is not None or _covers(transaction, row, cut)
        done = Archived(verified.pool, error=verified.error)
        if verified.error:
            return done
        if cut and not covered:
            self._save()
        while cut and self._move_events(cut, done):
            pass
        while self._drop_games(done):
            pass
        return done

    def _save(self) -> None:
        """Write a snapshot of the pool as it is now, made from its log."""
        with self._store.writing() as transaction:
            row = transaction.pool(self._id, lock=True)
            if row is None:
                return  # deleted meanwhile
            pool = replay(self._id, transaction.events(self._id))
            transaction.add_snapshot(pool.id, pool.seq, pool.at, write_snapshot(pool))

    def _move_events(self, cut: int, done: Archived) -> bool:
        """Archive the next events up to the cut; returns whether there were any."""
        with self._store.reading(still=True) as transaction:
            after = transaction.archived_until(self._id)
            wanted = min(MAX_EVENTS, cut - after)
            events = transaction.raw_events(self._id, after, wanted) if wanted > 0 else []
        if not events:
            return False
        file = write_archive(self._place, self._id, events)
        with self._store.writing() as transaction:
            transaction.lock_pool(self._id)
            if transaction.archived_until(self._id) == after:  # unless another run was faster
                transaction.move_to_archive(self._id, file, self._folder, self._before)
                done.events += len(events)
                done.files += 1
                done.bytes += file.size
        return True

    def _drop_games(self, done: Archived) -> bool:
        with self._store.writing() as transaction:
            transaction.lock_pool(self._id)
            matchings, games = transaction.drop_closed_games(self._id, self._before, _MATCHINGS)
        done.games += games
        return matchings > 0


def _covers(transaction: Transaction, row: PoolRow, cut: int) -> bool:
    """Whether a snapshot that this version reads is behind the cut, or at it."""
    for seq, _, body in islice(transaction.snapshots(row.id), 1):
        try:
            return read_snapshot(row.id, seq, body).seq >= cut
        except SnapshotError:
            return False
    return False
