"""A pool whose log is written as the service writes it, without requests, and so much faster."""

from __future__ import annotations

import random
from typing import Any

from pairup.service.domain import events
from pairup.service.domain.events import SECOND, START, Event, Recorded
from pairup.service.domain.games import new_secret
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import write_snapshot
from pairup.service.domain.version import current_version

_START = 1_767_225_600 * SECOND
_AT_ONCE = 2_000  # events in a transaction


class WrittenPool:
    """Players who are all waiting, some of whom are coupled at random in each round."""

    def __init__(self, store: Any, players: int, games: int) -> None:
        self._store, self._games, self._rng = store, games, random.Random(1)
        self._at, self._head = _START, START
        self._players = list(range(1, players + 1))
        self._log: list[Recorded] = []
        secret = new_secret()
        with store.writing() as transaction:
            number = transaction.add_pool("chess", secret, _START + 1)
            transaction.add_names(number, ((each, f"player-{each}") for each in self._players))
        self.pool = Pool(number, secret)
        rules = Rules(lifetime_s=86_400.0)
        version = current_version(rules.make_policy())
        self._add(events.Created("chess", rules.as_json(), version))
        self._add(events.Joined(self._players, "waiting"))

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.pool.seq

    def _add(self, event: Event) -> None:
        self._at += 1
        recorded = Recorded.of(self.seq + 1, self._at, event)
        self.pool.apply(recorded)
        self._log.append(recorded)

    def play(self) -> None:
        """Propose games, and let each be played or cancelled."""
        chosen = self._rng.sample(self._players, 2 * self._games)
        games: list[events.ProposedGame] = [
            {"players": [one, other], "chance": 0.25, "explores": False}
            for one, other in zip(chosen[::2], chosen[1::2], strict=True)
        ]
        expires_at = self._at + 86_400 * SECOND
        proposal = events.Proposed(self._at, games, [], chosen, [], expires_at, 0.2, 0.1, 0.3)
        self._add(proposal)
        self._add(self._outcomes([[proposal.matching, place] for place in range(len(games))]))
        if len(self._log) >= _AT_ONCE:
            self.flush()

    def _outcomes(self, games: list[events.Game]) -> Event:
        played = [self._rng.random() < 0.4 for _ in games]
        causes: list[Any] = [None if each else "unstated" for each in played]
        return events.Decided(games, played, causes if any(causes) else None, None, None)

    def flush(self) -> None:
        """Write what has happened."""
        number = self.pool.number
        with self._store.writing() as transaction:
            due_at = self.pool.games.due_at
            self._head = transaction.append(number, self._log, self._head, due_at)
            for recorded in self._log:
                transaction.update_records(number, recorded)
        self._log = []

    def save(self) -> None:
        """Write a snapshot of the pool as it is now."""
        self.flush()
        with self._store.writing() as transaction:
            body = write_snapshot(self.pool)
            transaction.add_snapshot(self.pool.number, self._head, self.pool.at, body)
