"""A log that is written as the service writes it, but without a policy, and so much faster.

Each round is a proposal and the outcomes of all its games, in two transactions.
"""

import os
import random
import sqlite3

from pairup.service.domain import events
from pairup.service.domain.clock import SECOND
from pairup.service.domain.events import Recorded
from pairup.service.domain.game_record import MatchingRecord, opened_games, project
from pairup.service.domain.pool_rules import Rules
from pairup.service.store import Store
from pairup.service.use_cases.ids import draw_ids

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
        self._players = [f"player-{n}" for n in range(2 * games)]
        self._pool, self._seq, self._at = draw_ids(1)[0], 1, _START
        created = Recorded(1, _START, events.Created("chess", Rules().as_json()))
        with self.store.writing() as transaction:
            transaction.add_pool(self._pool, "chess", _START)
            transaction.append(self._pool, [created])

    def play_round(self):
        """Write a proposal, and then an outcome of each game."""
        self._rng.shuffle(self._players)
        proposed = self._next(self._proposal())
        records = {each.id: each for each in opened_games(self._pool, proposed.event)}
        matching = MatchingRecord.of(self._pool, proposed)
        with self.store.writing() as transaction:
            transaction.append(self._pool, [proposed])
            transaction.add_matching(matching, list(records.values()))
        decided = self._next(self._outcomes(list(records)))
        project(records, self._pool, decided)
        with self.store.writing() as transaction:
            transaction.append(self._pool, [decided])
            transaction.update_games(records.values())
        self.games += self.size

    def _next(self, event):
        self._seq, self._at = self._seq + 1, self._at + 1_000
        return Recorded(self._seq, self._at, event)

    def _proposal(self):
        couples = zip(self._players[::2], self._players[1::2], strict=True)
        *ids, matching = draw_ids(self.size + 1)
        games = [
            {
                "id": id,
                "players": list(couple),
                "chance": round(self._rng.random(), 6),
                "explores": self._rng.random() < 0.1,
            }
            for id, couple in zip(ids, couples, strict=True)
        ]
        share = self._rng.random
        expires = self._at + 60 * SECOND
        return events.Proposed(matching, games, [], None, [], expires, share(), share(), share())

    def _outcomes(self, games):
        played = [self._rng.random() < 0.4 for _ in games]
        causes = [None if each else "unstated" for each in played]
        if len(games) == 1:
            return events.Decided(*games, *played, *causes, {}, {})
        return events.GamesDecided(games, played, causes, None, None)
