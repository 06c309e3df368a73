"""Retention: old events are moved to archives, and records of games that ended long ago deleted."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import delete, exists, func, insert, or_, select

from pairup.service.domain.clock import Moment
from pairup.service.store import tables
from pairup.service.store.archive_files import ArchiveFile
from pairup.service.store.event_log import EventLog


class Retention(EventLog):
    """The part of a transaction that moves what is old out of the database."""

    def archived_until(self, pool_id: str) -> int:
        """Return the last event of a pool that was archived, 0 if none was."""
        table = tables.archives.c
        mine = select(func.max(table.last)).where(table.pool == self._number(pool_id))
        return self._execute(mine).scalar() or 0

    def archived_before(self, pool_id: str | None = None) -> Moment | None:
        """Return the moment before which games of a pool, or of any, were archived, if they were.

        Records of games that were closed before it may be deleted.
        """
        table = tables.archives.c
        query = select(func.max(table.before))
        if pool_id is not None:
            query = query.where(table.pool == self._number(pool_id))
        return self._execute(query).scalar()

    def last_event_before(self, pool_id: str, moment: Moment) -> int:
        """Return the last event in the database from before a moment, 0 if there is none."""
        table = tables.events.c
        mine = select(func.max(table.seq)).where(table.pool == self._number(pool_id))
        return self._execute(mine.where(table.at < moment)).scalar() or 0

    def move_to_archive(
        self, pool_id: str, file: ArchiveFile, folder: Path | None, before: Moment
    ) -> None:
        """Enter an archive, and delete its events from the database."""
        number = self._number(pool_id)
        row = {"pool": number, "folder": None if folder is None else str(folder), "before": before}
        self._execute(insert(tables.archives), {**row, **file._asdict()})
        table = tables.events.c
        archived = table.seq.between(file.first, file.last)
        self._execute(delete(tables.events).where(table.pool == number, archived))

    def drop_closed_games(self, pool_id: str, before: Moment, limit: int) -> tuple[int, int]:
        """Delete matchings whose games were all closed before a moment, with these games.

        At most `limit` matchings at once, and never the latest one of the pool. Returns how many
        matchings and games were deleted.
        """
        matchings, games = tables.matchings.c, tables.games.c
        mine = matchings.pool == self._number(pool_id)
        latest = select(func.max(matchings.number)).where(mine).scalar_subquery()
        open_still = or_(games.closed_at.is_(None), games.closed_at >= before)
        lasting = exists().where(games.matching == matchings.number, open_still)
        old = select(matchings.number).where(mine, matchings.at < before, ~lasting)
        query = old.where(matchings.number < latest).order_by(matchings.number).limit(limit)
        numbers = list(self._execute(query).scalars())
        dropped = self._execute(delete(tables.games).where(games.matching.in_(numbers))).rowcount
        self._execute(delete(tables.matchings).where(matchings.number.in_(numbers)))
        return len(numbers), dropped
