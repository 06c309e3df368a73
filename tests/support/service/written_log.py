"""A log that is written as the service writes it, but without a policy, and so much faster.

Each round is a proposal and the outcomes of all its games, in two transactions.
"""

import os
import random
import sqlite3

from pairup.service.domain import events
from pairup.service.domain.events import SECOND, START, Recorded
from pairup.service.domain.games import new_secret
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.version import current_version
from pairup.service.store import Store

_START = 1_767_225_600 * SECOND


def table_sizes(file):
    """Measure each table and index, the largest first."""
    with sqlite3.connect(file) as connection:
        query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"
        return dict(connection.execute(query).fetchall())


def bytes_written():
    """Return the bytes that this process has passed to the system to be written."""
    with open(f"/proc/{os.getpid()}/io") as lines:
        return int(dict(line.split(": ") for line in lines)["wchar"])


class WrittenLog:
    """A database with one pool, whose games are all played or cancelled."""

    def __init__(self, folder, games):
        self.file, self.size, self.games = folder / "pools.db", games, 0
        self.store, self._rng = Store(str(self.file)), random.Random(1)
        self._players = list(range(1, 2 * games + 1))
        self._head, self._at = START, _START
        names = ((number, f"player-{number}") for number in self._players)
        version = current_version(Rules().make_policy())
        with self.store.writing() as transaction:
            self._pool = transaction.add_pool("chess", new_secret(), _START)
            self._append(transaction, events.Created("chess", Rules().as_json(), version))
            self._append(transaction, events.Joined(self._players, "waiting"))
            transaction.add_names(self._pool, names)

    def play_round(self):
        """Write a proposal, and then an outcome of each game."""
        self._rng.shuffle(self._players)
        proposal = self._proposal()
        with self.store.writing() as transaction:
            self._append(transaction, proposal, proposal.expires_at)
        with self.store.writing() as transaction:
            games = [(proposal.matching, place) for place in range(self.size)]
            self._append(transaction, self._outcomes(games))
        self.games += self.size

    def _append(self, transaction, event, due_at=None):
        self._at += 1_000
        recorded = Recorded.of(self._head.seq + 1, self._at, event)
        self._head = transaction.append(self._pool, [recorded], self._head, due_at)
        transaction.update_records(self._pool, recorded)

    def _proposal(self):
        couples = zip(self._players[::2], self._players[1::2], strict=True)
        games = [
            {
                "players": list(couple),
                "chance": round(self._rng.random(), 6),
                "explores": self._rng.random() < 0.1,
            }
            for couple in couples
        ]
        share = self._rng.random
        expires = self._at + 60 * SECOND
        return events.Proposed(self._at, games, [], None, [], expires, share(), share(), share())

    def _outcomes(self, games):
        played = [self._rng.random() < 0.4 for _ in games]
        causes = [None if each else "unstated" for each in played]
        named = [list(game) for game in games]
        return events.Decided(named, played, causes if any(causes) else None, None, None)
