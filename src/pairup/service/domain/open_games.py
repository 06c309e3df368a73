"""Open games: those that were proposed and have not ended, and when they expire."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Proposed
from pairup.service.domain.forecast import Forecast
from pairup.service.domain.game_record import GameRecord
from pairup.service.domain.states import Answer


@dataclass(slots=True)
class OpenMatching:
    """A matching with open games, and what was expected of it."""

    id: str
    opened_at: Moment  # by the clock that proposed it; an event may be dated later
    expires_at: Moment
    forecast: Forecast
    games: dict[str, OpenGame] = field(default_factory=dict)

    @property
    def earliest(self) -> Moment:
        """The moment before which its games are due as well.

        Clocks may differ by the lifetime of a game. A game that is proposed still further ahead
        would keep its players until the clock gets there, so that it expires at once.
        """
        return self.opened_at - (self.expires_at - self.opened_at)

    def is_due(self, now: Moment) -> bool:
        """Whether its games have expired, or were proposed by a clock that was ahead."""
        return not self.earliest <= now < self.expires_at


@dataclass(slots=True)
class OpenGame:
    """A game that was proposed and has not ended."""

    id: str
    matching: OpenMatching
    players: tuple[str, str]
    chance: float | None
    explores: bool
    answers: dict[str, Answer] = field(default_factory=dict)

    def record(self, pool_id: str) -> GameRecord:
        """Return the game as the store has it."""
        matching = self.matching
        expires_at, answers = matching.expires_at, self.answers
        return GameRecord(
            self.id, pool_id, matching.id, self.players, self.chance, expires_at, answers=answers
        )


class OpenGames(dict[str, OpenGame]):
    """Open games by id. What is due is known without a look at all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.matchings: dict[str, OpenMatching] = {}
        self._expiries: list[tuple[Moment, str]] = []  # heaps, from which matchings that have
        self._earliest: list[tuple[Moment, str]] = []  # ended are taken when they come up

    def open(self, matching: OpenMatching) -> None:
        """Add the games of a matching."""
        if not matching.games:
            return
        self.update(matching.games)
        self.matchings[matching.id] = matching
        heapq.heappush(self._expiries, (matching.expires_at, matching.id))
        heapq.heappush(self._earliest, (-matching.earliest, matching.id))

    def close(self, id: str) -> OpenGame:
        """Take out a game that ended."""
        game = self.pop(id)
        del game.matching.games[id]
        if not game.matching.games:
            del self.matchings[game.matching.id]
        return game

    def due(self, now: Moment) -> list[str]:
        """List the games that have expired by now."""
        for heap in (self._expiries, self._earliest):
            while heap and heap[0][1] not in self.matchings:
                heapq.heappop(heap)
        if not self.matchings or (now < self._expiries[0][0] and -self._earliest[0][0] <= now):
            return []
        found = (each for each in self.matchings.values() if each.is_due(now))
        return [id for matching in found for id in matching.games]

    def as_json(self) -> list[Any]:
        """Return all of them, matching by matching, in the order in which they were proposed."""
        return [
            [
                [each.id, each.opened_at, each.expires_at, list(each.forecast)],
                [[g.id, g.players, g.chance, g.explores, g.answers] for g in each.games.values()],
            ]
            for each in self.matchings.values()
        ]

    @classmethod
    def from_json(cls, stored: list[Any]) -> OpenGames:
        """Read open games back."""
        games = cls()
        for (id, opened_at, expires_at, forecast), rows in stored:
            matching = OpenMatching(id, opened_at, expires_at, Forecast(*forecast))
            for game, (one, other), chance, explores, answers in rows:
                open_game = OpenGame(game, matching, (one, other), chance, explores, answers)
                matching.games[game] = open_game
            games.open(matching)
        return games


def open_matching(event: Proposed, opened_at: Moment) -> OpenMatching:
    """Make a matching with its games from the event that proposed it."""
    forecast = Forecast(event.random, event.random_deviation, event.best)
    matching = OpenMatching(event.matching, opened_at, event.expires_at, forecast)
    for id, players, chance, explores in _games(event):
        matching.games[id] = OpenGame(id, matching, players, chance, explores)
    return matching


def _games(event: Proposed) -> Iterator[tuple[str, tuple[str, str], float | None, bool]]:
    for game in event.games:
        one, other = game["players"]
        yield game["id"], (one, other), game["chance"], game["explores"]
