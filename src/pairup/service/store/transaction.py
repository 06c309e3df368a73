"""Transactions: everything that is read from the store or written to it.

It stores events and records as they are given, and knows no rule of what follows from what.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from json.encoder import encode_basestring_ascii
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Row, Select, String, bindparam, delete, func, insert, select, update

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import dumps
from pairup.service.domain.game_record import GameRecord, MatchingRecord
from pairup.service.store import tables
from pairup.service.store.event_bodies import decode_body, encode_body, is_intact
from pairup.service.store.failures import StoreDamagedError
from pairup.service.store.retention import Retention

T = TypeVar("T")
_CHUNK = 500  # ids in a statement
_PAGE = 1_000  # rows read at once
_CHANGEABLE = ("state", "played", "cause", "answers", "learnt", "late", "closed_at")  # by events
_ALIVE: Select[Any] = select(tables.pools).where(tables.pools.c.deleted_at.is_(None))
_POOL_NAMED = _ALIVE.where(tables.pools.c.name == bindparam("wanted", type_=String))
_POOL = _ALIVE.where(tables.pools.c.id == bindparam("wanted", type_=String))
# SQLite has no rows to lock, and ignores this: its writers are alone anyway.
_LOCKED_POOL = _POOL.with_for_update()
_NEW_MATCHING = ("id", "pool", "at", "expires_at", "waiting")
_ADD_MATCHING = (
    insert(tables.matchings)
    .values({name: bindparam(name) for name in _NEW_MATCHING})
    .returning(tables.matchings.c.number)
)
_ADD_GAMES = insert(tables.games)
_UPDATE_GAMES = (
    update(tables.games)
    .where(tables.games.c.id == bindparam("game"))
    .values({name: bindparam(name) for name in _CHANGEABLE})
)
_OF_MATCHING = ("matching", "place")  # a game's number of its matching, and its place in it
_PLACED = tables.matchings.join(tables.pools)
_MATCHINGS: Select[Any] = select(
    *tables.matchings.c["id", "at", "expires_at", "waiting"], tables.pools.c.id.label("pool_id")
).select_from(_PLACED)
_GAMES: Select[Any] = select(
    *tables.games.c,
    tables.matchings.c.id.label("matching_id"),
    tables.matchings.c.expires_at,
    tables.pools.c.id.label("pool_id"),
).select_from(tables.games.join(_PLACED))


class PoolRow(NamedTuple):
    """A pool as the store lists it: the columns of its table."""

    number: int
    id: str
    name: str
    created_at: Moment
    deleted_at: Moment | None
    seq: int


class Transaction(Retention):
    """A transaction, open until the block ends that began it."""

    # Pools

    def pool_named(self, name: str) -> PoolRow | None:
        """Find the pool of this name that is not deleted."""
        return self._pool(_POOL_NAMED, name)

    def pool(self, id: str, lock: bool = False) -> PoolRow | None:
        """Find a pool that is not deleted; `lock` keeps other writers out until the end."""
        return self._pool(_LOCKED_POOL if lock else _POOL, id)

    def _pool(self, query: Select[Any], wanted: str) -> PoolRow | None:
        row = self._run(query, (wanted,)).first()
        if row is None:
            return None
        self._numbers[row.id] = row.number
        return PoolRow._make(row)

    def lock_pool(self, id: str) -> None:
        """Keep other writers of a pool, deleted or not, out until the end."""
        query = select(tables.pools.c.id).where(tables.pools.c.id == id)
        self._execute(query.with_for_update()).one()

    def pools(self, after: str, limit: int) -> list[PoolRow]:
        """List pools by name."""
        table = tables.pools.c
        query = select(tables.pools).where(table.deleted_at.is_(None), table.name > after)
        rows = self._execute(query.order_by(table.name).limit(limit))
        return [PoolRow(*row) for row in rows]

    def count_pools(self) -> int:
        """Count the pools that are not deleted."""
        query = select(func.count()).where(tables.pools.c.deleted_at.is_(None))
        return int(self._execute(query).scalar_one())

    def pool_ids(self) -> list[str]:
        """List the ids of all pools by name, those of deleted ones too."""
        table = tables.pools.c
        query = select(table.id).order_by(table.name, table.created_at, table.id)
        return list(self._execute(query).scalars())

    def any_pool(self, id: str) -> PoolRow:
        """Find a pool that exists, or has been deleted."""
        query = select(tables.pools).where(tables.pools.c.id == id)
        return PoolRow(*self._execute(query).one())

    def add_pool(self, id: str, name: str, at: Moment) -> None:
        """Enter a pool without events, whose name must be free."""
        self._execute(insert(tables.pools), {"id": id, "name": name, "created_at": at, "seq": 0})

    # Matchings and games

    def add_matching(self, matching: MatchingRecord, games: Sequence[GameRecord]) -> None:
        """Enter a matching with its games, in their order."""
        id, pool_id, at, expires_at, waiting = matching
        row = (id, self._number(pool_id), at, expires_at, dumps(waiting))
        number = self._run(_ADD_MATCHING, row).scalar_one()
        if games:
            rows = [_new_row(game, number, place) for place, game in enumerate(games)]
            self._run(_ADD_GAMES, *rows)

    def update_games(self, games: Iterable[GameRecord]) -> None:
        """Update the records of games, all at once."""
        if rows := [(*_changeable(game), game.id) for game in games]:
            self._run(_UPDATE_GAMES, *rows)

    def matching(self, id: str) -> MatchingRecord | None:
        """Find a matching."""
        row = self._execute(_MATCHINGS.where(tables.matchings.c.id == id)).first()
        return None if row is None else _matching_record(row)

    def games_of(self, matching_id: str, limit: int | None = None) -> list[GameRecord]:
        """List the games of a matching in their order, at most `limit` if that is given."""
        mine = _GAMES.where(tables.matchings.c.id == matching_id)
        query = mine.order_by(tables.games.c.place)
        return [_game_record(row) for row in self._execute(query.limit(limit))]

    def stored_games(self, pool_id: str) -> Iterator[tuple[int, GameRecord | None]]:
        """Read all games that a pool ever had, each with its place in its matching.

        One that cannot be read is None.
        """
        query = _GAMES.where(tables.pools.c.id == pool_id)
        with self._execute(query.execution_options(yield_per=_PAGE)) as rows:
            for row in rows:
                yield row.place, _readable(_game_record, row)

    def stored_matchings(self, pool_id: str) -> Iterator[tuple[None, MatchingRecord | None]]:
        """Read all matchings of a pool, which have no place but in time."""
        query = _MATCHINGS.where(tables.pools.c.id == pool_id)
        with self._execute(query.execution_options(yield_per=_PAGE)) as rows:
            for row in rows:
                yield None, _readable(_matching_record, row)

    def games(self, ids: Iterable[str]) -> dict[str, GameRecord]:
        """Find games."""
        wanted, found = list(ids), dict[str, GameRecord]()
        for start in range(0, len(wanted), _CHUNK):
            some = tables.games.c.id.in_(wanted[start : start + _CHUNK])
            rows = self._execute(_GAMES.where(some))
            found |= {row.id: _game_record(row) for row in rows}
        return found

    # Answers to requests with an idempotency key

    def answer(self, owner: str, key: str) -> tuple[str, str] | None:
        """Find the digest of a request, and the body of its answer."""
        table = tables.answers.c
        query = select(table.digest, table.body).where(table.owner == owner, table.key == key)
        row = self._execute(query).first()
        if row is None:
            return None
        try:
            return row.digest, decode_body(row.body)
        except ValueError as error:
            raise StoreDamagedError(
                f"the answer that is stored for the idempotency key {key!r} cannot be read, "
                f"{error}: restore a copy of the database, or send the request with another key"
            ) from error

    def damaged_answers(self) -> list[tuple[str, str]]:
        """List owner and key of the answers that are not what was stored."""
        query = select(tables.answers).execution_options(yield_per=_PAGE)
        return [(row.owner, row.key) for row in self._execute(query) if not is_intact(row.body)]

    def keep_answer(self, owner: str, key: str, digest: str, body: str, at: Moment) -> int:
        """Keep the answer to a request; returns the bytes that it takes."""
        stored = encode_body(body)
        row = {"owner": owner, "key": key, "digest": digest, "body": stored, "at": at}
        self._execute(insert(tables.answers), row)
        return len(stored)

    def count_answers(self) -> dict[str, tuple[int, int]]:
        """Count the answers that are kept and their bytes, by owner."""
        table = tables.answers.c
        query = select(table.owner, func.count(), func.sum(func.length(table.body)))
        found = self._execute(query.group_by(table.owner))
        return {owner: (count, int(size)) for owner, count, size in found}

    def drop_answers(self, before: Moment, after: Moment, limit: int = 1_000) -> bool:
        """Forget some of the answers older than `before`; returns whether there are more.

        Those kept later than `after` go too: a clock that was ahead has dated them.
        """
        at = tables.answers.c.at
        self._execute(delete(tables.answers).where(at > after))
        next_ones = select(at).where(at < before).order_by(at).offset(limit).limit(1)
        until = self._execute(next_ones).scalar()
        old = at < before if until is None else at <= until
        self._execute(delete(tables.answers).where(old))
        return until is not None

    # API keys

    def add_key(self, row: dict[str, Any]) -> None:
        """Enter an API key."""
        self._execute(insert(tables.keys), row)

    def api_keys(self) -> list[Row[Any]]:
        """List API keys, the oldest first."""
        order = (tables.keys.c.created_at, tables.keys.c.id)
        return list(self._execute(select(tables.keys).order_by(*order)))

    def api_key(self, digest: str) -> Row[Any] | None:
        """Find a key that is not revoked by its digest."""
        table = tables.keys.c
        query = select(tables.keys).where(table.digest == digest, table.revoked_at.is_(None))
        return self._execute(query).first()

    def revoke_key(self, id: str, at: Moment) -> bool:
        """Revoke a key; returns whether there was one to revoke."""
        table = tables.keys.c
        mine = update(tables.keys).where(table.id == id, table.revoked_at.is_(None))
        return self._execute(mine.values(revoked_at=at)).rowcount > 0


def _readable(read: Callable[[Row[Any]], T], row: Row[Any]) -> T | None:
    try:
        return read(row)
    except (TypeError, ValueError):
        return None


def _matching_record(row: Row[Any]) -> MatchingRecord:
    return MatchingRecord(**{**row._mapping, "waiting": json.loads(row.waiting)})


def _game_record(row: Row[Any]) -> GameRecord:
    stored = {name: value for name, value in row._mapping.items() if name not in _OF_MATCHING}
    stored["players"] = tuple(json.loads(row.players))
    return GameRecord(**{**stored, "answers": json.loads(row.answers or "{}")})


def _new_row(game: GameRecord, matching: int, place: int) -> tuple[Any, ...]:
    """Return the columns of a game, in the order of the table."""
    one, other = map(encode_basestring_ascii, game.players)
    head = (game.id, matching, place, f"[{one},{other}]", game.chance)
    return head + _changeable(game)


def _changeable(game: GameRecord) -> tuple[Any, ...]:
    answers = dumps(game.answers) if game.answers else None
    return (
        game.state,
        game.played,
        game.cause,
        answers,
        game.learnt,
        game.late,
        game.closed_at,
    )
