"""A pool whose log is written as the service writes it, without requests, and so much faster."""

from __future__ import annotations

import random
from typing import Any

from pairup.service.domain import events
from pairup.service.domain.clock import SECOND
from pairup.service.domain.events import Event, Recorded
from pairup.service.domain.game_record import MatchingRecord, opened_games, project
from pairup.service.domain.pool import Pool
from pairup.service.domain.pool_rules import Rules
from pairup.service.domain.snapshot import write_snapshot
from pairup.service.domain.version import current_version
from pairup.service.use_cases.ids import draw_ids

_START = 1_767_225_600 * SECOND
_AT_ONCE = 2_000  # events in a transaction


class WrittenPool:
    """Players who are all waiting, some of whom are coupled at random in each round."""

    def __init__(self, store: Any, players: int, games: int) -> None:
        self._store, self._games, self._rng = store, games, random.Random(1)
        self.pool, self.seq, self._at = Pool(draw_ids(1)[0]), 0, _START
        self._players = [f"player-{number}" for number in range(players)]
        self._log: list[Recorded] = []
        self._matchings: list[tuple[MatchingRecord, list[Any]]] = []
        with store.writing() as transaction:
            transaction.add_pool(self.pool.id, "chess", _START + 1)
        rules = Rules(lifetime_s=86_400.0)
        version = current_version(rules.make_policy())
        self._add(events.Created("chess", rules.as_json(), version))
        self._add(events.PlayersJoined(self._players, "waiting"))

    def _add(self, event: Event) -> Recorded:
        self.seq, self._at = self.seq + 1, self._at + 1
        recorded = Recorded(self.seq, self._at, event)
        self.pool.apply(recorded)
        self._log.append(recorded)
        return recorded

    def play(self) -> None:
        """Propose games, and let each be played or cancelled."""
        chosen = self._rng.sample(self._players, 2 * self._games)
        *ids, matching = draw_ids(self._games + 1)
        games: list[events.ProposedGame] = [
            {"id": id, "players": [one, other], "chance": 0.25, "explores": False}
            for id, one, other in zip(ids, chosen[::2], chosen[1::2], strict=True)
        ]
        expires_at = self._at + 86_400 * SECOND
        proposal = events.Proposed(matching, games, [], chosen, [], expires_at, 0.2, 0.1, 0.3)
        proposed = self._add(proposal)
        records = {game.id: game for game in opened_games(self.pool.id, proposal)}
        decided = self._add(self._outcomes(ids))
        project(records, self.pool.id, decided)
        record = MatchingRecord.of(self.pool.id, proposed)
        self._matchings.append((record, list(records.values())))
        if len(self._log) >= _AT_ONCE:
            self.flush()

    def _outcomes(self, games: list[str]) -> Event:
        played = [self._rng.random() < 0.4 for _ in games]
        causes: list[Any] = [None if each else "unstated" for each in played]
        if len(games) == 1:
            return events.Decided(games[0], played[0], causes[0], {}, {})
        return events.GamesDecided(games, played, causes, None, None)

    def flush(self) -> None:
        """Write what has happened."""
        with self._store.writing() as transaction:
            transaction.append(self.pool.id, self._log)
            for matching, games in self._matchings:
                transaction.add_matching(matching, games)
        self._log, self._matchings = [], []

    def save(self) -> None:
        """Write a snapshot of the pool as it is now."""
        self.flush()
        with self._store.writing() as transaction:
            body = write_snapshot(self.pool)
            transaction.add_snapshot(self.pool.id, self.pool.seq, self.pool.at, body)
