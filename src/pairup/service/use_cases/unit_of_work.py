"""Unit of work: what one request changes, event by event."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Continued, Event, Expired, Recorded
from pairup.service.domain.game_record import GameRecord, MatchingRecord, changed_games, project
from pairup.service.domain.pool import Pool
from pairup.service.domain.version import current_version
from pairup.service.store import Transaction
from pairup.service.store.event_log import encode_events

DrawIds = Callable[[int], list[str]]


class UnitOfWork:
    """The events of one request, applied to the pool at once and written by `flush`.

    Time never runs backwards in a log, whatever the clocks of several machines say: events are
    dated no earlier than those before them. When games expire is decided by the clock alone:
    otherwise one clock that was ahead would keep games open until the others have caught up. Games
    that are due expire first. The pool is changed in place, ahead of its log: if the events cannot
    be committed, it must be thrown away. What is not in memory is read by the transaction that
    `read` returns, which may be opened for it.
    """

    def __init__(
        self, pool: Pool, read: Callable[[], Transaction], now: Moment, new_ids: DrawIds
    ) -> None:
        self.pool, self.now = pool, now
        self.log: list[Recorded] = []
        self._at = max(now, pool.at)
        self._read, self._new_ids = read, new_ids
        self._stored: dict[str, GameRecord] = {}
        self._changed: dict[str, GameRecord] = {}
        self._proposed: dict[str, MatchingRecord] = {}
        if due := pool.games.due(now):
            self.add(Expired(due, pool.rules.unreported))

    def add(self, event: Event) -> None:
        """Let an event happen."""
        self._note_version()
        recorded = Recorded(self.pool.seq + 1, self._at, event)
        self._record(recorded)  # first, because the pool forgets games that end
        self.pool.apply(recorded)

    def propose(self, available: list[str] | None, apart: list[list[str]]) -> str:
        """Let the pool propose; returns the id of the matching."""
        self._note_version()
        expires_at = self.pool.rules.expiry(self.now)
        recorded = self.pool.propose(self._at, expires_at, available, apart, self._new_ids)
        self._record(recorded)
        matching = MatchingRecord.of(self.pool.id, recorded)
        self._proposed[matching.id] = matching
        return matching.id

    def _note_version(self) -> None:
        """Before the first event of this version of pairup, note which one it is."""
        version = current_version(self.pool.learner.policy)
        if self.pool.seq and self.pool.version != version:
            continued = Recorded(self.pool.seq + 1, self._at, Continued(version))
            self.log.append(continued)
            self.pool.apply(continued)

    def _record(self, recorded: Recorded) -> None:
        self.log.append(recorded)
        for id in changed_games(recorded.event):
            if record := self.game(id):
                self._changed[id] = record
        project(self._changed, self.pool.id, recorded)

    def load_games(self, ids: Iterable[str]) -> None:
        """Read the records of games that are not in memory, all at once."""
        if wanted := [id for id in ids if id not in self.pool.games]:
            self._stored |= self._read().games(wanted)

    def game(self, id: str) -> GameRecord | None:
        """Return the record of a game as it is now, None if there is none."""
        if id in self._changed:
            return self._changed[id]
        if id in self.pool.games:
            return self.pool.games[id].record(self.pool.id)
        return self._stored.get(id)

    @cached_property
    def archived_before(self) -> Moment | None:
        """The moment before which games of the pool were archived, None if none were."""
        return self._read().archived_before(self.pool.id)

    def matching(self, id: str) -> tuple[MatchingRecord, list[GameRecord]] | None:
        """Return a matching with its games as they are now, None if the pool has no such one."""
        if id in self._proposed:
            return self._proposed[id], self._games_of(id)
        record = self._read().matching(id)
        if record is None or record.pool_id != self.pool.id:
            return None
        stored = self._read().games_of(id)
        return record, [self._changed.get(game.id, game) for game in stored]

    def flush(self, transaction: Transaction) -> None:
        """Write the events, and the records that follow from them."""
        transaction.append(self.pool.id, self.log, self.bodies)
        for matching in self._proposed.values():
            transaction.add_matching(matching, self._games_of(matching.id))
        games = self._changed.values()
        transaction.update_games(g for g in games if g.matching_id not in self._proposed)

    @cached_property
    def bodies(self) -> list[bytes]:
        """The bodies of the events as they are stored, made when all have happened."""
        return encode_events(self.log)

    def _games_of(self, matching: str) -> list[GameRecord]:
        return [game for game in self._changed.values() if game.matching_id == matching]
