"""Archiving: old events leave the database for compressed files, which the log still reads.

An event is archived only behind a snapshot that was verified, so that no start reads the archive.
Each file is on the disk before its events are deleted, in the transaction that enters the file:
killed anywhere in between, a run leaves at most a file that the next one writes again. What was
read of a log is acted on only while that log goes on: a failover, or a copy that is restored in
place, may have replaced it meanwhile.

Archives can be dropped: their files are deleted, and the log begins with a snapshot from then on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.events import Head, Moment
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import SnapshotError, read_snapshot, write_snapshot
from pairup.service.maintenance.verify import verify_pool
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.archive_files import MAX_EVENTS, write_archive
from pairup.service.store.failures import StoreConflictError

_MATCHINGS = 500  # deleted at once, so that others can write in between


class _ReplacedError(ServiceError):
    """A log is not the one that was read before, or its continuation."""


@dataclass
class Archived:
    """What was moved out of the database for a pool, or deleted of its archives."""

    pool: str
    events: int = 0
    games: int = 0
    files: int = 0
    bytes: int = 0
    error: str = ""  # why nothing, or nothing more, was done

    def as_json(self, done: str = "archived") -> dict[str, Any]:
        """Return the result as a row of a table, whose verdict is `done` if all went well."""
        row = asdict(self)
        return row | {"verdict": row.pop("error") or done}


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
        numbers = transaction.pool_numbers()
    found = [_Archiving(store, number, before, place, folder).run() for number in numbers]
    store.shrink()
    return found


class _Archiving:
    """The archiving of one pool."""

    def __init__(
        self, store: Store, number: int, before: Moment, place: Path, folder: Path | None
    ) -> None:
        self._store, self._number, self._before = store, number, before
        self._place, self._folder = place, None if folder is None else folder.absolute()

    def run(self) -> Archived:
        """Archive the events of the pool and then the records of its games, in small steps."""
        with self._store.reading(still=True) as transaction:
            row = transaction.any_pool(self._number)
            cut = transaction.last_event_before(self._number, self._before)
            if (told := transaction.told_until(self._number)) is not None:
                cut = min(cut, told)  # what a webhook must be told is read from the database
            verified = verify_pool(row, transaction)
        self._head = row.head
        done = Archived(verified.pool, error=verified.error)
        if verified.error:
            return done
        try:
            if cut:
                find_base(self._store, self._number, cut)
            while cut and self._move_events(cut, done):
                pass
            while self._drop_games(done):
                pass
        except _ReplacedError as error:
            done.error = str(error)
        return done

    def _move_events(self, cut: int, done: Archived) -> bool:
        """Archive the next events up to the cut; returns whether there were any."""
        with self._store.reading(still=True) as transaction:
            row = transaction.any_pool(self._number)
            self._head = follow_log(transaction, row, self._head)
            after = transaction.archived_until(self._number)
            wanted = min(MAX_EVENTS, cut - after)
            events = transaction.raw_events(self._number, after, wanted) if wanted > 0 else []
        if not events:
            return False
        file = write_archive(self._place, row.secret, events)
        with self._store.writing() as transaction:
            self._lock(transaction, file.name)
            if transaction.archived_until(self._number) == after:  # unless another run was faster
                transaction.move_to_archive(self._number, file, self._folder, self._before)
                done.events += len(events)
                done.files += 1
                done.bytes += file.size
        return True

    def _lock(self, transaction: Transaction, written: str = "") -> None:
        """Lock the pool for other writers, if its log is still the one that was verified.

        Otherwise the file that was written goes again, unless it is that of another run.
        """
        row = transaction.any_pool(self._number, lock=True)
        try:
            self._head = follow_log(transaction, row, self._head)
        except _ReplacedError:
            names = {each.file.name for each in transaction.archives(self._number)}
            if written and written not in names:
                (self._place / written).unlink(missing_ok=True)
            raise

    def _drop_games(self, done: Archived) -> bool:
        with self._store.writing() as transaction:
            self._lock(transaction)
            matchings, games = transaction.drop_closed_games(self._number, self._before, _MATCHINGS)
        done.games += games
        return matchings > 0


def follow_log(transaction: Transaction, row: PoolRow, head: Head) -> Head:
    """Return the head of a log that went on from a known head; refuse a log that did not."""
    for recorded in transaction.events(row.number, head.seq) if head.seq < row.seq else ():
        head = head.after(recorded)
    if head != row.head:
        raise _ReplacedError(
            f"the log of pool {row.name!r} was replaced while it was read, by a failover or a copy "
            "that was restored: nothing more was moved or deleted, try again"
        )
    return head


def find_base(store: Store, number: int, after: int) -> Head:
    """Return the head of a snapshot that is not before an event; write one if there is none.

    What it lacks of the log is read before other writers are kept out, all but what happens
    meanwhile.
    """
    with store.reading(still=True) as transaction:
        pool, found = _read_pool(transaction, number, after)
    if found:
        return pool.head
    with store.writing() as transaction:
        follow_log(transaction, transaction.any_pool(number, lock=True), pool.head)
        for recorded in transaction.events(number, pool.seq):
            pool.replay(recorded)
        transaction.add_snapshot(number, pool.head, pool.at, write_snapshot(pool))
    return pool.head


def _read_pool(transaction: Transaction, number: int, after: int) -> tuple[Pool, bool]:
    """Return the pool of the earliest snapshot that is not before an event, and whether there is.

    Otherwise the pool as it is now, by its whole log.
    """
    start = Pool(number)
    for snapshot in reversed(list(transaction.snapshots(number))):
        try:
            pool = read_snapshot(number, snapshot.head, snapshot.body)
        except SnapshotError:
            continue
        if pool.seq >= after:
            return pool, True
        start = pool
    for recorded in transaction.events(number, start.seq):
        start.replay(recorded)
    return start, False


def drop_archives(store: Store, before: Moment, at: Moment) -> list[Archived]:
    """Delete the archives of what happened before a moment, and record that; see `archive`.

    Files that are gone already are recorded too. Otherwise a pool must be sound: this is the last
    chance to repair it from them.
    """
    with store.reading() as transaction:
        numbers = transaction.pool_numbers()
    return [_drop(store, number, before, at) for number in numbers]


def _drop(store: Store, number: int, before: Moment, at: Moment) -> Archived:
    with store.reading(still=True) as transaction:
        row = transaction.any_pool(number)
        old = [each for each in transaction.archives(number) if each.file.last_at < before]
        new = [each for each in old if not each.dropped]
        whole = bool(new) and all(each.path.exists() for each in new)
        error = verify_pool(row, transaction).error if whole else ""
    if error:
        return Archived(row.name, error=error)
    if new:
        _note_dropped(store, number, new[-1].file.last, at)
    for archive in old:  # also those of a run that was killed before it had deleted them
        archive.path.unlink(missing_ok=True)
    events = sum(each.file.last - each.file.first + 1 for each in new)
    size = sum(each.file.size for each in new)
    return Archived(row.name, events, files=len(new), bytes=size)


def _note_dropped(store: Store, number: int, last: int, at: Moment) -> None:
    for tries_left in (2, 1, 0):
        base = find_base(store, number, last)
        try:
            with store.writing(into_reserve=True) as transaction:
                transaction.any_pool(number, lock=True)
                transaction.drop_archives(number, last, base, at)
            return
        except StoreConflictError:  # the service has replaced the snapshot meanwhile
            if not tries_left:
                raise
