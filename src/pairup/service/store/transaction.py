"""Transactions: everything that is read from the store or written to it.

It stores events and records as they are given, and knows no rule of what follows from what. In one
file because it is the list of all statements on the tables beside the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    BigInteger,
    Row,
    Select,
    String,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    text,
    tuple_,
    update,
)

from pairup.service.domain.event_views import players_in, show_event
from pairup.service.domain.events import SECOND, START, Head, Moment, Proposed, Recorded, dumps
from pairup.service.domain.games import (
    CHANGING,
    OPEN,
    GameKey,
    GameRecord,
    Ids,
    MatchingRecord,
    record_changes,
)
from pairup.service.domain.players import PlayerNames
from pairup.service.store import tables
from pairup.service.store.engine import session_name
from pairup.service.store.event_log import EventLog, decode_body, encode_body, is_intact
from pairup.service.store.failures import StoreDamagedError

T = TypeVar("T")
_SERVER_NOW = f"CAST(extract(epoch FROM clock_timestamp()) * {SECOND} AS bigint)"
_CHUNK = 500  # keys in a statement
_PAGE = 1_000  # rows read at once
_SPARSE = 20  # rows per wanted one, from which rows are looked up one by one
_ALIVE: Select[Any] = select(tables.pools).where(tables.pools.c.deleted_at.is_(None))
_POOL_NAMED = _ALIVE.where(tables.pools.c.name == bindparam("wanted", type_=String))
_POOL = _ALIVE.where(tables.pools.c.number == bindparam("wanted", type_=BigInteger))
# SQLite has no rows to lock, and ignores this: its writers are alone anyway.
_LOCKED_POOL = _POOL.with_for_update()
_GAME_KEY = ("pool", "matching", "place")
_ADD_NAMES = insert(tables.players)
_ADD_MATCHING = insert(tables.matchings)
_ADD_GAMES = insert(tables.games)
_ADD_REPLY = insert(tables.replies)
_UNREPORTED = (OPEN, None, None, None, False, False, None)  # what events change in a game
_GAMES: Select[Any] = select(*tables.games.c, tables.matchings.c.expires_at).select_from(
    tables.games.join(tables.matchings)
)
_MATCHINGS: Select[Any] = select(
    tables.matchings.c.key, tables.matchings.c.expires_at, tables.matchings.c.waiting
)


class PoolRow(NamedTuple):
    """A pool as the store lists it: the columns of its table."""

    number: int
    secret: str
    name: str
    created_at: Moment
    deleted_at: Moment | None
    seq: int
    chain: bytes
    due_at: Moment | None
    owner: str = ""  # id of the process that serves it, where several do

    @property
    def head(self) -> Head:
        """The head of its log."""
        return Head(self.seq, self.chain)

    @property
    def ids(self) -> Ids:
        """The ids of its matchings and games."""
        return Ids(self.number, self.secret)


class Peer(NamedTuple):
    """A process that shares a server with others, as these reach it."""

    address: str
    secret: str  # what it expects of a process that forwards a request to it


class Transaction(EventLog):
    """A transaction, open until the block ends that began it."""

    # Pools

    def pool_named(self, name: str) -> PoolRow | None:
        """Return the pool of this name that is not deleted, if there is one."""
        return self._pool(_POOL_NAMED, name)

    def pool(self, number: int, lock: bool = False) -> PoolRow | None:
        """Return a pool unless it is deleted; `lock` keeps other writers out until the end."""
        return self._pool(_LOCKED_POOL if lock else _POOL, number)

    def _pool(self, query: Select[Any], wanted: str | int) -> PoolRow | None:
        row = self._run(query, (wanted,)).fetchone()
        return None if row is None else PoolRow._make(row)

    def deleted_pools(self, name: str) -> list[int]:
        """List the numbers of the pools of this name that were deleted."""
        table = tables.pools.c
        query = select(table.number).where(table.name == name, table.deleted_at.is_not(None))
        return list(self._execute(query.order_by(table.number)).scalars())

    def some_pools(self, numbers: Iterable[int]) -> list[PoolRow]:
        """List pools by number, deleted ones too."""
        query, number = select(tables.pools), tables.pools.c.number
        rows = (row for some in _chunks(numbers) for row in self._where(query, number, some))
        return [PoolRow._make(row) for row in rows]

    def pools(self, after: str, limit: int) -> list[PoolRow]:
        """List pools by name."""
        table = tables.pools.c
        query = select(tables.pools).where(table.deleted_at.is_(None), table.name > after)
        rows = self._execute(query.order_by(table.name).limit(limit))
        return [PoolRow(*row) for row in rows]

    def due_pools(self, now: Moment) -> list[str]:
        """List the names of pools whose next open game has expired, the earliest first."""
        table = tables.pools.c
        query = select(table.name).where(table.due_at <= now, table.deleted_at.is_(None))
        return list(self._execute(query.order_by(table.due_at)).scalars())

    # Processes that share a server; only PostgreSQL has these statements

    def renew_lease(self, process: str, peer: Peer, seconds: float) -> None:
        """Prolong the lease of a process, by the clock of the server."""
        until = f"{_SERVER_NOW} + {round(seconds * SECOND)}"
        self._execute(
            text(
                "INSERT INTO processes (id, address, secret, until) "
                f"VALUES (:id, :address, :secret, {until}) "
                "ON CONFLICT (id) DO UPDATE SET until = excluded.until"
            ),
            {"id": process, **peer._asdict()},
        )

    def processes(self) -> tuple[dict[str, Peer], dict[str, float]]:
        """Return the processes, by id, that have a lease; and of all, how long it lasts still.

        In seconds, 0 at most for those whose lease has ended.
        """
        query = text(f"SELECT id, address, secret, until - {_SERVER_NOW} AS rest FROM processes")
        rows = self._execute(query).all()
        live = {row.id: Peer(row.address, row.secret) for row in rows if row.rest > 0}
        return live, {row.id: row.rest / SECOND for row in rows}

    def end_lease(self, process: str, ended: bool = False) -> bool:
        """End the lease of a process; with `ended`, if its time is over, and its sessions too.

        A process that was stopped in the middle of a transaction would hold rows without end.
        """
        over = f" AND until <= {_SERVER_NOW}" if ended else ""
        found = self._execute(text(f"DELETE FROM processes WHERE id = :id{over}"), {"id": process})
        if found.rowcount and ended:
            self._execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = :name AND usename = current_user"
                ),
                {"name": session_name(process)},
            )
        return bool(found.rowcount)

    def take_pool(self, pool: int, owner: str, process: str) -> bool:
        """Make a process the owner of a pool whose owner has no lease; returns whether it is."""
        lease = f"EXISTS (SELECT 1 FROM processes WHERE id = :owner AND until > {_SERVER_NOW})"
        found = self._execute(
            text(
                "UPDATE pools SET owner = :process WHERE number = :pool AND owner = :owner "
                f"AND deleted_at IS NULL AND NOT {lease}"
            ),
            {"pool": pool, "owner": owner, "process": process},
        )
        return bool(found.rowcount)

    def give_pool(self, pool: int, owner: str, to: str) -> None:
        """Make another process the owner of a pool that a process owns."""
        table = tables.pools.c
        mine = update(tables.pools).where(table.number == pool, table.owner == owner)
        self._execute(mine.values(owner=to))

    def pools_of(self, owner: str) -> list[PoolRow]:
        """List the pools that a process owns."""
        query = _ALIVE.where(tables.pools.c.owner == owner).order_by(tables.pools.c.number)
        return [PoolRow(*row) for row in self._execute(query)]

    def count_pools(self) -> int:
        """Count the pools that are not deleted."""
        query = select(func.count()).where(tables.pools.c.deleted_at.is_(None))
        return int(self._execute(query).scalar_one())

    def pool_numbers(self) -> list[int]:
        """List the numbers of all pools by name, those of deleted ones too."""
        table = tables.pools.c
        query = select(table.number).order_by(table.name, table.created_at, table.number)
        return list(self._execute(query).scalars())

    def any_pool(self, number: int, lock: bool = False) -> PoolRow:
        """Return a pool, deleted or not; `lock` keeps other writers out until the end."""
        query = select(tables.pools).where(tables.pools.c.number == number)
        return PoolRow(*self._execute(query.with_for_update() if lock else query).one())

    def add_pool(self, name: str, secret: str, at: Moment) -> int:
        """Enter a pool without events, whose name must be free, and return its number."""
        row = {"name": name, "secret": secret, "created_at": at, **START._asdict()}
        added = insert(tables.pools).returning(tables.pools.c.number)
        return int(self._execute(added, row).scalar_one())

    # What a webhook was told

    def begin_telling(self) -> None:
        """Begin to tell of the pools that were not told of: of what happens from now on."""
        every = "SELECT number, seq FROM pools WHERE true"  # SQLite cannot parse it without `where`
        self._execute(text(f"INSERT INTO told (pool, seq) {every} ON CONFLICT DO NOTHING"))

    def tell_of(self, pool: int) -> None:
        """Begin to tell of a new pool, from its first event on."""
        self._execute(insert(tables.told), {"pool": pool, "seq": 0})

    def untold_pools(self) -> list[tuple[PoolRow, int]]:
        """List pools, deleted ones too, with events after the last that was told, and that one."""
        query = select(tables.pools, tables.told.c.seq).join(tables.told)
        rows = self._execute(query.where(tables.told.c.seq < tables.pools.c.seq))
        return [(PoolRow._make(row[:-1]), row[-1]) for row in rows]

    def next_event(
        self, pool: PoolRow, after: int, kinds: Collection[str]
    ) -> dict[str, Any] | None:
        """Return the next event of some kinds as callers see it, None if there is none."""
        table = tables.events.c
        mine = table.pool == pool.number, table.seq > after, table.kind.in_(kinds)
        seq = self._execute(select(func.min(table.seq)).where(*mine)).scalar()
        return None if seq is None else self.shown_events(pool, seq - 1, 1)[0]

    def note_told(self, pool: int, told: int, seq: int) -> bool:
        """Note the last event that was told; returns whether nobody else has done so meanwhile."""
        table = tables.told.c
        mine = update(tables.told).where(table.pool == pool, table.seq == told)
        return self._execute(mine.values(seq=seq)).rowcount > 0

    def told_until(self, pool: int) -> int | None:
        """Return the last event of a pool that was told, None if nobody is told of it."""
        table = tables.told.c
        found: int | None = self._execute(select(table.seq).where(table.pool == pool)).scalar()
        return found

    # Names of players

    def add_names(self, pool: int, named: Iterable[tuple[int, str | None]]) -> None:
        """Enter what new players are called."""
        if rows := [(pool, number, name) for number, name in named]:
            self._run(_ADD_NAMES, *rows)

    def names(self, pool: int, players: Collection[int]) -> dict[int, str]:
        """Return what some players of a pool are called, those whose names were erased left out."""
        if not players:
            return {}
        table, wanted = tables.players.c, set(players)
        query = select(table.number, table.name).where(table.pool == pool, table.name.is_not(None))
        low, high = min(wanted), max(wanted)
        if high - low > _SPARSE * len(wanted):
            rows = [
                row for some in _chunks(wanted) for row in self._where(query, table.number, some)
            ]
        else:
            rows = list(self._execute(query.where(table.number.between(low, high))))
        return {row.number: row.name for row in rows if row.number in wanted}

    def _where(self, query: Select[Any], column: Any, some: list[Any]) -> list[Row[Any]]:
        return list(self._execute(query.where(column.in_(some))))

    def shown_events(self, pool: PoolRow, after: int, limit: int) -> list[dict[str, Any]]:
        """Read events of a log as callers see them, whether or not they can be applied."""
        rows = self.raw_events(pool.number, after, limit, lenient=True)
        names = PlayerNames(self.names(pool.number, players_in(rows, pool.ids)))
        return [show_event(row, pool.ids, names.__getitem__) for row in rows]

    def numbers_of(self, pool: int, name: str) -> list[int]:
        """List the numbers of all players of a pool who are or were called so."""
        table = tables.players.c
        query = select(table.number).where(table.pool == pool, table.name == name)
        return list(self._execute(query.order_by(table.number)).scalars())

    def count_names(self, pool: int) -> tuple[int, int]:
        """Return how many players of a pool have a row, and the last number among them."""
        table = tables.players.c
        query = select(func.count(), func.max(table.number)).where(table.pool == pool)
        count, last = self._execute(query).one()
        return count, last or 0

    def erase_names(self, pool: int, players: Collection[int]) -> None:
        """Erase what some players are called."""
        table = tables.players.c
        for some in _chunks(players):
            mine = table.pool == pool, table.number.in_(some)
            self._execute(update(tables.players).where(*mine).values(name=None))

    # Matchings and games

    def update_records(self, pool: int, recorded: Recorded) -> None:
        """Write what an event says about matchings and games, in columns as it says it."""
        event = recorded.event
        if isinstance(event, Proposed):
            self._add_matching(pool, event)
        elif isinstance(event, CHANGING):
            self.update_games(pool, event.games, record_changes(recorded))

    def _add_matching(self, pool: int, event: Proposed) -> None:
        key = event.matching
        self._run(_ADD_MATCHING, (pool, key, event.expires_at, dumps(event.waiting)))
        rows = (
            (pool, key, place, *game["players"], game["chance"], *_UNREPORTED)
            for place, game in enumerate(event.games)
        )
        if event.games:
            self._run(_ADD_GAMES, *rows)

    def update_games(
        self, pool: int, games: Sequence[Sequence[int]], changes: Mapping[str, Sequence[Any]]
    ) -> None:
        """Update fields of the records of games, all at once: by field, a value for each game."""
        values = {**changes}
        if "answers" in changes:
            values["answers"] = [dumps(each) if any(each) else None for each in changes["answers"]]
        if games:
            keys = [pool] * len(games), *zip(*games, strict=True)
            self._run(_update_games(*values), *zip(*values.values(), *keys, strict=True))

    def matching(self, pool: int, key: Moment) -> MatchingRecord | None:
        """Return the record of a matching, None if there is none."""
        table = tables.matchings.c
        row = self._execute(_MATCHINGS.where(table.pool == pool, table.key == key)).first()
        return None if row is None else _matching_record(row)

    def games_of(self, pool: int, matching: Moment, limit: int | None = None) -> list[GameRecord]:
        """List the games of a matching in their order, at most `limit` if that is given."""
        table = tables.games.c
        mine = _GAMES.where(table.pool == pool, table.matching == matching)
        rows = self._execute(mine.order_by(table.place).limit(limit))
        return [_game_record(row) for row in rows]

    def stored_games(self, pool: int) -> Iterator[GameRecord | None]:
        """Read all games of a pool in the order of their keys; one that cannot be read is None."""
        table = tables.games.c
        mine = _GAMES.where(table.pool == pool).order_by(table.matching, table.place)
        return self._stored(mine, _game_record)

    def stored_matchings(self, pool: int) -> Iterator[MatchingRecord | None]:
        """Read all matchings of a pool, the earliest first; one that cannot be read is None."""
        table = tables.matchings.c
        return self._stored(
            _MATCHINGS.where(table.pool == pool).order_by(table.key), _matching_record
        )

    def _stored(self, query: Select[Any], read: Callable[[Row[Any]], T]) -> Iterator[T | None]:
        with self._execute(query.execution_options(yield_per=_PAGE)) as rows:
            for row in rows:
                record: T | None = None
                with suppress(TypeError, ValueError):
                    record = read(row)
                yield record

    def games(self, pool: int, keys: Iterable[GameKey]) -> dict[GameKey, GameRecord]:
        """Return the records of games of a pool, by key."""
        table, found = tables.games.c, dict[GameKey, GameRecord]()
        mine = _GAMES.where(table.pool == pool)
        for some in _chunks(keys):
            for row in self._where(mine, tuple_(table.matching, table.place), some):
                record = _game_record(row)
                found[record.key] = record
        return found

    def drop_closed_games(self, pool: int, before: Moment, limit: int) -> tuple[int, int]:
        """Delete matchings whose games were all closed before a moment, with these games.

        At most `limit` matchings at once, and never the latest one of the pool. Returns how many
        matchings and games were deleted.
        """
        matchings, games = tables.matchings.c, tables.games.c
        mine = matchings.pool == pool
        latest = select(func.max(matchings.key)).where(mine).scalar_subquery()
        open_still = or_(games.closed_at.is_(None), games.closed_at >= before)
        own = games.pool == pool, games.matching == matchings.key
        old = select(matchings.key).where(
            mine, matchings.key < before, ~exists().where(*own, open_still)
        )
        query = old.where(matchings.key < latest).order_by(matchings.key).limit(limit)
        keys = list(self._execute(query).scalars())
        ended = games.pool == pool, games.matching.in_(keys)
        dropped = self._execute(delete(tables.games).where(*ended)).rowcount
        self._execute(delete(tables.matchings).where(mine, matchings.key.in_(keys)))
        return len(keys), dropped

    # Replies to requests with an idempotency key

    def reply(self, owner: str, key: str) -> tuple[str, str] | None:
        """Return the digest of a request and the body of its reply, None if none is kept."""
        table = tables.replies.c
        query = select(table.digest, table.body).where(table.owner == owner, table.key == key)
        row = self._execute(query).first()
        if row is None:
            return None
        try:
            return row.digest, decode_body(row.body)
        except ValueError as error:
            raise StoreDamagedError(
                f"the reply that is stored for the idempotency key {key!r} cannot be read, "
                f"{error}: restore a copy of the database, or send the request with another key"
            ) from error

    def damaged_replies(self) -> list[tuple[str, str]]:
        """List owner and key of the replies that are not what was stored."""
        query = select(tables.replies).execution_options(yield_per=_PAGE)
        return [(row.owner, row.key) for row in self._execute(query) if not is_intact(row.body)]

    def keep_reply(
        self, owner: str, key: str, pool: int, digest: str, body: str, at: Moment
    ) -> int:
        """Store the reply to a request about a pool; returns the bytes that it takes."""
        stored = encode_body(body)
        self._run(_ADD_REPLY, (owner, key, pool, digest, stored, at))
        return len(stored)

    def replies_about(
        self, pool: int, after: tuple[str, str], limit: int = 100
    ) -> dict[tuple[str, str], str]:
        """Return a page of the replies to requests about a pool, by owner and key.

        Those that are damaged are left out: nothing can be read in them.
        """
        table = tables.replies.c
        place = tuple_(table.owner, table.key)
        query = select(table.owner, table.key, table.body).where(table.pool == pool, place > after)
        rows = self._execute(query.order_by(table.owner, table.key).limit(limit)).all()
        return {
            (row.owner, row.key): decode_body(row.body) if is_intact(row.body) else ""
            for row in rows
        }

    def empty_replies(self, places: Iterable[tuple[str, str]]) -> None:
        """Erase what some replies say, by owner and key; that they were given stays known."""
        table, empty = tables.replies.c, encode_body("")
        for owner, key in places:
            mine = table.owner == owner, table.key == key
            self._execute(update(tables.replies).where(*mine).values(body=empty))

    def write_nothing(self) -> None:
        """Write and delete a row, to see whether the database can be written."""
        self._run(_ADD_REPLY, ("", "", None, "", b"", 0))  # no API key has such an owner
        self._execute(delete(tables.replies).where(tables.replies.c.owner == ""))

    def count_replies(self) -> dict[str, tuple[int, int]]:
        """Count the replies that are kept and their bytes, by owner."""
        table = tables.replies.c
        query = select(table.owner, func.count(), func.sum(func.length(table.body)))
        found = self._execute(query.group_by(table.owner))
        return {owner: (count, int(size)) for owner, count, size in found}

    def drop_replies(self, before: Moment, after: Moment, limit: int = 1_000) -> bool:
        """Forget some of the replies older than `before`; returns whether there are more.

        Those kept later than `after` go too: a clock that was ahead has dated them.
        """
        at = tables.replies.c.at
        self._execute(delete(tables.replies).where(at > after))
        next_ones = select(at).where(at < before).order_by(at).offset(limit).limit(1)
        until = self._execute(next_ones).scalar()
        old = at < before if until is None else at <= until
        self._execute(delete(tables.replies).where(old))
        return until is not None

    # API keys

    def add_api_key(self, row: dict[str, Any]) -> None:
        """Enter an API key."""
        self._execute(insert(tables.api_keys), row)

    def api_keys(self) -> list[Row[Any]]:
        """List API keys, the oldest first."""
        order = (tables.api_keys.c.created_at, tables.api_keys.c.id)
        return list(self._execute(select(tables.api_keys).order_by(*order)))

    def valid_api_keys(self, now: Moment) -> list[Row[Any]]:
        """List the API keys that are neither revoked nor expired."""
        return list(self._execute(select(tables.api_keys).where(*_is_valid(now))))

    def api_key(self, digest: str, now: Moment) -> Row[Any] | None:
        """Return the valid key of a digest, also one that was replaced lately, or None."""
        table = tables.api_keys.c
        former = and_(table.former_digest == digest, table.former_until > now)
        mine = or_(table.digest == digest, former)
        return self._execute(select(tables.api_keys).where(mine, *_is_valid(now))).first()

    def rotate_api_key(self, id: str, digest: str, now: Moment, former_until: Moment) -> bool:
        """Replace a valid key, which stays valid until a moment; returns whether there was one."""
        table = tables.api_keys
        mine = update(table).where(table.c.id == id, *_is_valid(now))
        new = {"former_digest": table.c.digest, "former_until": former_until, "digest": digest}
        return self._execute(mine.values(new)).rowcount > 0

    def revoke_api_key(self, id: str, at: Moment) -> bool:
        """Revoke a key; returns whether there was one to revoke."""
        table = tables.api_keys.c
        mine = update(tables.api_keys).where(table.id == id, table.revoked_at.is_(None))
        return self._execute(mine.values(revoked_at=at)).rowcount > 0


@cache
def _update_games(*fields: str) -> Update:
    """Make the statement that updates some fields of a game, and then takes its key."""
    mine = (tables.games.c[name] == bindparam(f"of_{name}") for name in _GAME_KEY)
    values: list[Any] = [(name, bindparam(name)) for name in fields]
    return update(tables.games).where(*mine).ordered_values(*values)


def _is_valid(now: Moment) -> tuple[Any, ...]:
    table = tables.api_keys.c
    return table.revoked_at.is_(None), or_(table.expires_at.is_(None), table.expires_at > now)


def _chunks(keys: Iterable[T]) -> Iterator[list[T]]:
    wanted = list(keys)
    for start in range(0, len(wanted), _CHUNK):
        yield wanted[start : start + _CHUNK]


def _matching_record(row: Row[Any]) -> MatchingRecord:
    return MatchingRecord(row.key, row.expires_at, json.loads(row.waiting))


def _game_record(row: Row[Any]) -> GameRecord:
    one, other = json.loads(row.answers) if row.answers else (None, None)
    return GameRecord(
        GameKey(row.matching, row.place),
        (row.one, row.other),
        row.chance,
        row.expires_at,
        row.state,
        row.played,
        row.cause,
        (one, other),
        row.learnt,
        row.late,
        row.closed_at,
    )
