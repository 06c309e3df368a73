"""Transactions: everything that is read from the store or written to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from pairup.service.domain import events as happened
from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Recorded, dumps, packed, unpacked
from pairup.service.domain.records import OPEN, GameRecord, changes
from pairup.service.store import tables

_CHUNK = 500  # of ids in a statement
_PAGE = 1_000  # of events


@dataclass(frozen=True)
class PoolRow:
    """A pool as the store lists it."""

    id: str
    name: str
    created_at: Moment
    seq: int
    deleted_at: Moment | None = None


@dataclass(frozen=True)
class MatchingRow:
    """A matching as the store lists it."""

    id: str
    pool_id: str
    at: Moment
    expires_at: Moment
    waiting: list[str]


@dataclass(frozen=True)
class StoredAnswer:
    """What was answered to a request with an idempotency key."""

    digest: str
    status: int
    headers: dict[str, str]
    body: str


class Transaction:
    """A transaction, open until the block ends that began it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    # Pools

    def pool_named(self, name: str) -> PoolRow | None:
        """Find the pool of this name that is not deleted."""
        return self._pool(tables.pools.c.name == name)

    def pool(self, id: str, lock: bool = False) -> PoolRow | None:
        """Find a pool that is not deleted; `lock` keeps other writers out until the end."""
        return self._pool(tables.pools.c.id == id, lock)

    def _pool(self, condition: Any, lock: bool = False) -> PoolRow | None:
        query = select(tables.pools).where(condition, tables.pools.c.deleted_at.is_(None))
        # SQLite has no rows to lock, and ignores this: its writers are alone anyway.
        row = self._connection.execute(query.with_for_update() if lock else query).first()
        return None if row is None else _pool_row(row)

    def pools(self, after: str, limit: int) -> list[PoolRow]:
        """List pools by name."""
        table = tables.pools.c
        query = select(tables.pools).where(table.deleted_at.is_(None), table.name > after)
        rows = self._connection.execute(query.order_by(table.name).limit(limit))
        return [_pool_row(row) for row in rows]

    def every_pool(self) -> list[str]:
        """List the ids of all pools by name, of deleted ones too."""
        table = tables.pools.c
        query = select(table.id).order_by(table.name, table.created_at, table.id)
        return list(self._connection.execute(query).scalars())

    def pool_ever(self, id: str) -> PoolRow:
        """Find a pool that exists, or did."""
        query = select(tables.pools).where(tables.pools.c.id == id)
        return _pool_row(self._connection.execute(query).one())

    def add_pool(self, id: str, name: str, at: Moment) -> None:
        """Enter a pool without events; its name must be free."""
        row = {"id": id, "name": name, "created_at": at, "seq": 0}
        self._connection.execute(insert(tables.pools), row)

    # The log

    def append(self, pool_id: str, recorded: list[Recorded]) -> None:
        """Add events to the log, and to the records of games what follows from them."""
        if not recorded:
            return
        rows = [
            {"pool_id": pool_id, "seq": seq, "at": at, "kind": event.kind, "body": packed(event)}
            for seq, at, event in recorded
        ]
        self._connection.execute(insert(tables.events), rows)
        values: dict[str, Any] = {"seq": recorded[-1].seq}
        if isinstance(recorded[-1].event, happened.Deleted):
            values["deleted_at"] = recorded[-1].at
        self._connection.execute(
            update(tables.pools).where(tables.pools.c.id == pool_id).values(values)
        )
        self._record(pool_id, recorded)

    def events(self, pool_id: str, after: int = 0) -> Iterator[Recorded]:
        """Read the log after event `after`, in order, by pages: it may be longer than memory."""
        while True:
            rows = self.raw_events(pool_id, after, _PAGE)
            for row in rows:
                event = unpacked(pool_id, row.seq, row.kind, row.body)
                yield Recorded(row.seq, row.at, event)
            if len(rows) < _PAGE:
                return
            after = rows[-1].seq

    def raw_events(self, pool_id: str, after: int, limit: int) -> list[Row[Any]]:
        """Read the log as it is stored."""
        table = tables.events.c
        query = select(tables.events).where(table.pool_id == pool_id, table.seq > after)
        return list(self._connection.execute(query.order_by(table.seq).limit(limit)))

    def snapshots(self, pool_id: str) -> Iterator[bytes]:
        """Read the snapshots of a pool, the latest first."""
        table = tables.snapshots.c
        seqs = select(table.seq).where(table.pool_id == pool_id).order_by(table.seq.desc())
        for seq in self._connection.execute(seqs).scalars().all():
            query = select(table.body).where(table.pool_id == pool_id, table.seq == seq)
            yield self._connection.execute(query).scalar_one()

    def add_snapshot(self, pool_id: str, seq: int, at: Moment, body: bytes) -> None:
        """Keep a snapshot, and of the older ones the latest."""
        table = tables.snapshots.c
        mine = table.pool_id == pool_id
        before = select(table.seq).where(mine, table.seq < seq).order_by(table.seq.desc())
        older = self._connection.execute(before.limit(1)).scalar()
        if older is not None:
            self._connection.execute(delete(tables.snapshots).where(mine, table.seq < older))
        self._connection.execute(delete(tables.snapshots).where(mine, table.seq == seq))
        row = {"pool_id": pool_id, "seq": seq, "at": at, "body": body}
        self._connection.execute(insert(tables.snapshots), row)

    # Matchings and games

    def _record(self, pool_id: str, log: list[Recorded]) -> None:
        """Bring the records of games up to date, all that change the same columns at once."""
        changed: dict[str, dict[str, Any]] = {}
        for recorded in log:
            if isinstance(recorded.event, happened.Proposed):
                self._propose(pool_id, recorded.at, recorded.event)
            for change in changes(recorded):
                for id in change.games:
                    changed.setdefault(id, {}).update(change.values)
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for id, values in changed.items():
            if "answers" in values:
                values["answers"] = dumps(values["answers"])
            alike.setdefault(tuple(values), []).append({"game": id, **values})
        for columns, rows in alike.items():
            new: dict[str, Any] = {column: bindparam(column) for column in columns}
            mine = tables.games.c.id == bindparam("game")
            self._connection.execute(update(tables.games).where(mine).values(new), rows)

    def _propose(self, pool_id: str, at: Moment, event: happened.Proposed) -> None:
        matching = {"id": event.matching, "pool_id": pool_id, "at": at}
        matching |= {"expires_at": event.expires_at, "waiting": dumps(event.waiting)}
        self._connection.execute(insert(tables.matchings), matching)
        rows = [
            {
                "id": game["id"],
                "pool_id": pool_id,
                "matching_id": event.matching,
                "place": place,
                "players": dumps(game["players"]),
                "chance": game["chance"],
                "expires_at": event.expires_at,
                "state": OPEN,
                "learnt": False,
                "late": False,
            }
            for place, game in enumerate(event.games)
        ]
        if rows:
            self._connection.execute(insert(tables.games), rows)

    def matching(self, id: str) -> MatchingRow | None:
        """Find a matching."""
        query = select(tables.matchings).where(tables.matchings.c.id == id)
        row = self._connection.execute(query).first()
        if row is None:
            return None
        return MatchingRow(row.id, row.pool_id, row.at, row.expires_at, json.loads(row.waiting))

    def games_of(self, matching_id: str, most: int | None = None) -> list[GameRecord]:
        """List the games of a matching in their order, `most` of them if that is given."""
        table = tables.games.c
        query = select(tables.games).where(table.matching_id == matching_id).order_by(table.place)
        query = query.limit(most)
        return [_record_of(row) for row in self._connection.execute(query)]

    def games_in(self, pool_id: str) -> dict[str, GameRecord]:
        """List all games that a pool ever had."""
        query = select(tables.games).where(tables.games.c.pool_id == pool_id)
        return {row.id: _record_of(row) for row in self._connection.execute(query)}

    def games(self, ids: Iterable[str]) -> dict[str, GameRecord]:
        """Find games."""
        wanted, found = list(ids), dict[str, GameRecord]()
        for start in range(0, len(wanted), _CHUNK):
            some = tables.games.c.id.in_(wanted[start : start + _CHUNK])
            rows = self._connection.execute(select(tables.games).where(some))
            found |= {row.id: _record_of(row) for row in rows}
        return found

    # Answers to requests with an idempotency key

    def answer(self, owner: str, key: str) -> StoredAnswer | None:
        """Find what was answered."""
        table = tables.answers.c
        query = select(tables.answers).where(table.owner == owner, table.key == key)
        row = self._connection.execute(query).first()
        if row is None:
            return None
        return StoredAnswer(row.digest, row.status, json.loads(row.headers), row.body)

    def keep_answer(self, owner: str, key: str, answer: StoredAnswer, at: Moment) -> None:
        """Keep what is answered now."""
        row = {"owner": owner, "key": key, "digest": answer.digest, "status": answer.status}
        row |= {"headers": dumps(answer.headers), "body": answer.body, "at": at}
        self._connection.execute(insert(tables.answers), row)

    def drop_answers(self, before: Moment, most: int = 1_000) -> bool:
        """Forget some of the answers older than a moment; returns whether there are more."""
        at = tables.answers.c.at
        next_ones = select(at).where(at < before).order_by(at).offset(most).limit(1)
        until = self._connection.execute(next_ones).scalar()
        old = at < before if until is None else at <= until
        self._connection.execute(delete(tables.answers).where(old))
        return until is not None

    # API keys

    def add_key(self, row: dict[str, Any]) -> None:
        """Enter an API key."""
        self._connection.execute(insert(tables.keys), row)

    def api_keys(self) -> list[Row[Any]]:
        """List API keys, the oldest first."""
        order = (tables.keys.c.created_at, tables.keys.c.id)
        return list(self._connection.execute(select(tables.keys).order_by(*order)))

    def api_key(self, digest: str) -> Row[Any] | None:
        """Find a key that is not revoked by its digest."""
        table = tables.keys.c
        query = select(tables.keys).where(table.digest == digest, table.revoked_at.is_(None))
        return self._connection.execute(query).first()

    def revoke_key(self, id: str, at: Moment) -> bool:
        """Revoke a key; False when there is none to revoke."""
        table = tables.keys.c
        mine = update(tables.keys).where(table.id == id, table.revoked_at.is_(None))
        return self._connection.execute(mine.values(revoked_at=at)).rowcount > 0


def _pool_row(row: Row[Any]) -> PoolRow:
    return PoolRow(row.id, row.name, row.created_at, row.seq, row.deleted_at)


def _record_of(row: Row[Any]) -> GameRecord:
    one, other = json.loads(row.players)
    return GameRecord(
        id=row.id,
        pool_id=row.pool_id,
        matching_id=row.matching_id,
        players=(one, other),
        chance=row.chance,
        expires_at=row.expires_at,
        state=row.state,
        played=row.played,
        cause=row.cause,
        answers=json.loads(row.answers) if row.answers else None,
        learnt=row.learnt,
        late=row.late,
        closed_at=row.closed_at,
    )
