"""Unit of work: what one request changes, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any

from pairup.errors import PairupError
from pairup.service.domain.events import (
    Continued,
    Erased,
    Event,
    Expired,
    Head,
    Moment,
    Proposed,
    Recorded,
)
from pairup.service.domain.games import (
    GameKey,
    GameRecord,
    MatchingRecord,
    OpenGame,
    opened_games,
    project,
)
from pairup.service.domain.matchmaking.matchmaker import GivenCouples
from pairup.service.domain.pool import Pool
from pairup.service.domain.version import current_version
from pairup.service.pools.cache import CachedPool
from pairup.service.pools.idempotency import KeyedRequest
from pairup.service.problems import RefusalError
from pairup.service.store import Transaction
from pairup.service.store.event_log import encode_events


class UnitOfWork:
    """The events of one request, applied to the pool at once and written by `flush`.

    Time never runs backwards in a log, whatever the clocks of several machines say: events are
    dated no earlier than those before them. When games expire is decided by the clock alone:
    otherwise one clock that was ahead would keep games open until the others have caught up. Games
    that are due expire first. The pool is changed in place, ahead of its log: if the events cannot
    be committed, it must be thrown away. What is not in memory is read by the transaction that
    `read` returns, which may be opened for it.

    Parameters
    ----------
    pool : Pool
        The pool, as its log was.
    read : callable
        Returns a transaction that reads.
    now : Moment
        Moment of the request.
    max_players : int
        Maximum number of players in the pool.
    owner : str
        The process that serves the pool, as its log must name it.
    """

    def __init__(
        self,
        pool: Pool,
        read: Callable[[], Transaction],
        now: Moment,
        max_players: int,
        owner: str = "",
    ) -> None:
        self.pool, self.now, self._max_players, self._owner = pool, now, max_players, owner
        self.log: list[Recorded] = []
        self.at, self._head = max(now, pool.at), pool.head
        self._read = read
        self._stored: dict[GameKey, GameRecord] = {}
        self._names: dict[int, str] = {}  # of players who have left
        self._new_names: dict[int, str] = {}
        self._erased: list[int] = []
        self._bodies: list[bytes] | None = None
        self._snapshot: bytes | None = None
        self.reply_bytes = 0  # of the reply that is kept
        if due := pool.games.due(now):
            self.add(Expired([list(key) for key in due], pool.rules.unreported))

    def add(self, event: Event, new_players: Mapping[str, int] | None = None) -> None:
        """Apply an event, in which new players may have got their numbers."""
        version = current_version(self.pool.learner.policy)
        if self.pool.seq and self.pool.version != version:
            self._record(Continued(version))  # before the first event of this version of pairup
        self._record(event)
        if new_players:
            named = {number: name for name, number in new_players.items()}
            self.pool.names.update(named)
            self._new_names |= named

    def _record(self, event: Event) -> None:
        recorded = Recorded.of(self.pool.seq + 1, self.at, event)
        self.pool.apply(recorded)
        self.log.append(recorded)

    # Matchings and games

    def propose(
        self,
        available: list[int] | None,
        apart: list[list[int]],
        given: GivenCouples | None = None,
    ) -> Proposed:
        """Propose a matching; returns the event."""
        expires_at = self.pool.rules.expiry(self.now)
        event: Proposed = self.pool.propose(self.at, expires_at, available, apart, given)
        self.add(event)
        return event

    def load_games(self, keys: Iterable[GameKey]) -> None:
        """Read the records of games that are not in memory, all at once, and whose they were."""
        if wanted := [key for key in keys if key not in self.pool.games]:
            self._stored |= self._up_to_now(self._read().games(self.pool.number, wanted))
            self.load_names(player for game in self._stored.values() for player in game.players)

    def _up_to_now(self, records: dict[GameKey, GameRecord]) -> dict[GameKey, GameRecord]:
        """Return records as the events of this request leave them."""
        for recorded in self.log:
            project(records, recorded)
        return records

    def game(self, key: GameKey) -> OpenGame | GameRecord | None:
        """Return a game that is open, or whose record was read before; None if there is none."""
        return self.pool.games.get(key) or self._stored.get(key)

    @cached_property
    def archived_before(self) -> Moment | None:
        """The moment before which games of the pool were archived, None if none were."""
        return self._read().archived_before(self.pool.number)

    def matching(self, key: Moment) -> tuple[MatchingRecord, list[GameRecord]] | None:
        """Return a matching with its games as they are now, None if the pool has no such one."""
        for recorded in self.log:
            if isinstance(recorded.event, Proposed) and recorded.event.matching == key:
                return MatchingRecord.of(recorded.event), opened_games(recorded.event)
        record = self._read().matching(self.pool.number, key)
        if record is None:
            return None
        stored = self._read().games_of(self.pool.number, key)
        games = self._up_to_now({game.key: game for game in stored}).values()
        self.load_names([*record.waiting, *(each for game in games for each in game.players)])
        return record, list(games)

    # Players

    def number_of(self, name: str) -> int | None:
        """Return the number of a player who is in the pool, or whose record is kept."""
        return self.pool.names.number(name)

    def numbers_of(self, names: Sequence[str]) -> tuple[list[int], dict[str, int]]:
        """Return the numbers of players, and those that are new, which `add` gives them."""
        known = {name: self.number_of(name) for name in names}
        unknown = [name for name, number in known.items() if number is None]
        new = dict(zip(unknown, count(self.pool.players.last + 1), strict=False))
        return [known[name] or new[name] for name in names], new

    def check_room(self, new: int) -> None:
        """Refuse new players who would be more than the pool takes."""
        pool, players = self.pool, self.pool.players
        total = len(players) + len(players.kept) + new
        if total > self._max_players:
            raise RefusalError(
                "pool-full",
                f"pool {pool.name!r} would know {total} players, at most {self._max_players} are "
                "allowed by the setting max_players: let someone leave and be forgotten, raise it, "
                "or create another pool",
            )
        try:
            pool.learner.policy.check_players(len(players) + new)
        except PairupError as error:
            raise RefusalError("pool-full", str(error)) from None

    def load_names(self, players: Iterable[int]) -> None:
        """Read what players are called who have left."""
        names, known = self.pool.names, self._names
        if wanted := {each for each in players if each not in names and each not in known}:
            self._names |= self._read().names(self.pool.number, wanted)

    def name(self, player: int) -> str:
        """Return what a player is called whose name is in memory or was read."""
        return self._names.get(player) or self.pool.names[player]

    def erase(self, name: str) -> bool:
        """Erase a name, of all players who were called so and have left; whether there were any."""
        if numbers := self._read().numbers_of(self.pool.number, name):
            self.add(Erased(numbers))
            self._erased += numbers
        return bool(numbers)

    # The end

    def prepare(self, cached: CachedPool, snapshot_every: int) -> None:
        """Encode what will be written, before other writers have to wait for it."""
        self._bodies = encode_events(self.log)
        self._snapshot = cached.make_snapshot(self.pool, snapshot_every) if self.log else None

    def flush(
        self, transaction: Transaction, request: KeyedRequest | None = None, reply: Any = None
    ) -> Head:
        """Write the events, what follows from them, the reply to a request, and the snapshot.

        Returns the head of the log after them.
        """
        number, due_at = self.pool.number, self.pool.games.due_at
        head = transaction.append(number, self.log, self._head, due_at, self._bodies, self._owner)
        if request:
            self.reply_bytes = request.keep(transaction, number, reply, self.now)
        if self._snapshot is not None:
            transaction.add_snapshot(number, head, self.pool.at, self._snapshot)
        self._flush_players(transaction)
        for recorded in self.log:
            transaction.update_records(number, recorded)
        return head

    def _flush_players(self, transaction: Transaction) -> None:
        number = self.pool.number
        transaction.add_names(number, self._new_names.items())
        transaction.erase_names(number, self._erased)
