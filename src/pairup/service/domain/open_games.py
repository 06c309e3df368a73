"""Open games: those that were proposed and have not ended, and when they expire."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Proposed
from pairup.service.domain.forecast import Forecast
from pairup.service.domain.game_record import GameRecord
from pairup.service.domain.game_report import AnswerPair
from pairup.service.domain.ids import GameKey


@dataclass(slots=True)
class OpenMatching:
    """A matching with open games, and what was expected of it."""

    key: Moment
    opened_at: Moment  # by the clock that proposed it; an event may be dated later
    expires_at: Moment
    forecast: Forecast
    games: dict[GameKey, OpenGame] = field(default_factory=dict)

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

    key: GameKey
    matching: OpenMatching
    players: tuple[int, int]
    chance: float | None
    explores: bool
    answers: AnswerPair = (None, None)

    @property
    def record(self) -> GameRecord:
        """The game as the store has it."""
        expires_at, answers = self.matching.expires_at, self.answers
        return GameRecord(self.key, self.players, self.chance, expires_at, answers=answers)


class OpenGames(dict[GameKey, OpenGame]):
    """Open games by key. What is due is known without a look at all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.matchings: dict[Moment, OpenMatching] = {}
        self._expiries: list[tuple[Moment, Moment]] = []  # heaps, from which matchings that have
        self._earliest: list[tuple[Moment, Moment]] = []  # ended are taken when they come up

    def open(self, matching: OpenMatching) -> None:
        """Add the games of a matching."""
        if not matching.games:
            return
        self.update(matching.games)
        self.matchings[matching.key] = matching
        heapq.heappush(self._expiries, (matching.expires_at, matching.key))
        heapq.heappush(self._earliest, (-matching.earliest, matching.key))

    def close(self, key: GameKey) -> OpenGame:
        """Take out a game that ended."""
        game = self.pop(key)
        del game.matching.games[key]
        if not game.matching.games:
            del self.matchings[key.matching]
        return game

    def due(self, now: Moment) -> list[GameKey]:
        """List the games that have expired by now."""
        due_at = self.due_at
        if due_at is None or (now < due_at and -self._earliest[0][0] <= now):
            return []
        found = (each for each in self.matchings.values() if each.is_due(now))
        return [key for matching in found for key in matching.games]

    @property
    def due_at(self) -> Moment | None:
        """The moment at which the next game expires, None without open games."""
        for heap in (self._expiries, self._earliest):
            while heap and heap[0][1] not in self.matchings:
                heapq.heappop(heap)
        return self._expiries[0][0] if self.matchings else None

    def as_json(self) -> list[Any]:
        """Return all of them, matching by matching, in the order in which they were proposed."""
        return [
            [
                [each.key, each.opened_at, each.expires_at, list(each.forecast)],
                [
                    [game.key.place, game.players, game.chance, game.explores, game.answers]
                    for game in each.games.values()
                ],
            ]
            for each in self.matchings.values()
        ]

    @classmethod
    def from_json(cls, stored: list[Any]) -> OpenGames:
        """Read open games back."""
        games = cls()
        for (key, opened_at, expires_at, forecast), rows in stored:
            matching = OpenMatching(key, opened_at, expires_at, Forecast(*forecast))
            for place, (one, other), chance, explores, (said, replied) in rows:
                game = OpenGame(GameKey(key, place), matching, (one, other), chance, explores)
                game.answers = said, replied
                matching.games[game.key] = game
            games.open(matching)
        return games


def open_matching(event: Proposed, opened_at: Moment) -> OpenMatching:
    """Make a matching with its games from the event that proposed it."""
    forecast = Forecast(event.random, event.random_deviation, event.best)
    matching = OpenMatching(event.matching, opened_at, event.expires_at, forecast)
    for place, game in enumerate(event.games):
        key, (one, other) = GameKey(event.matching, place), game["players"]
        made = OpenGame(key, matching, (one, other), game["chance"], game["explores"])
        matching.games[key] = made
    return matching
