"""The players of a pool: who waits, who is away, and who is in an open game.

Players are numbers here; `PlayerNames` says what they are called.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from pairup.service.domain.events import SECOND, Moment
from pairup.service.domain.games import GameKey, OpenGame
from pairup.service.domain.matchmaking.attributes import Attributes
from pairup.service.domain.names import ERASED

WAITING, AWAY, PLAYING, PROPOSED = "waiting", "away", "playing", "proposed"


class Players:
    """Players by number, with their open games; who waits is kept, not searched for.

    Examples
    --------
    >>> from pairup.service.domain.counters import Forecast
    >>> from pairup.service.domain.games import OpenMatching
    >>> players = Players()
    >>> players.join(1, "waiting", at=7)
    >>> players.join(2, "away", at=8)
    >>> matching = OpenMatching(0, 0, 60, Forecast())
    >>> players.begin_games([OpenGame(GameKey(0, 0), matching, (1, 2), None, False)])
    >>> players.status(1), list(players.waiting)
    ('proposed', [])
    >>> players.end_games([1, 2])
    >>> players.counts(), players.since[1]
    ({'waiting': 1, 'proposed': 0, 'playing': 0, 'away': 1}, 7)
    """

    def __init__(self) -> None:
        self.last = 0  # number given to the latest player who was new
        self.wishes: dict[int, str] = {}  # waiting, away or playing, if no game is proposed
        self.games: dict[int, GameKey] = {}  # the open game of each player who has one
        self.met: dict[int, int] = {}  # number of learnt outcomes
        self.kept: dict[int, int] = {}  # the same of players who left and may return
        self.waiting: dict[int, None] = {}  # those who can be proposed a game
        # When those who wish to wait began to: a game that is not played does not end a wait.
        self.since: dict[int, Moment] = {}
        self.attributes = Attributes()
        self._free = {WAITING: 0, PLAYING: 0, AWAY: 0}  # number without an open game

    def status(self, player: int) -> str:
        """Return a player's status: waiting, proposed, playing or away."""
        return PROPOSED if player in self.games else self.wishes[player]

    def counts(self) -> dict[str, int]:
        """Count the players by status."""
        free = self._free
        return {
            WAITING: free[WAITING],
            PROPOSED: len(self.games),
            PLAYING: free[PLAYING],
            AWAY: free[AWAY],
        }

    def join(self, player: int, status: str, at: Moment) -> None:
        """Add a player, who may have been here before."""
        self.last = max(self.last, player)
        self.wishes[player], self.met[player] = status, self.kept.pop(player, 0)
        self._begin_wait(player, status, at)
        self._add_free([player])

    def move(self, players: Collection[int], status: str, at: Moment) -> None:
        """Change what players wish; their wait begins now, or ends."""
        free = {player: None for player in players if player not in self.games}
        self._take_free(free)
        for player in players:
            self.wishes[player] = status
            self._begin_wait(player, status, at)
        self._add_free(free)

    def leave(self, player: int, forget: bool) -> list[int]:
        """Remove a player without an open game; returns whose names may not be needed."""
        self._take_free([player])
        del self.wishes[player]
        self.since.pop(player, None)
        self.kept[player] = self.met.pop(player)
        return self.forget(player) if forget else []

    def forget(self, player: int) -> list[int]:
        """Forget a player who left and was kept; returns whose names may not be needed."""
        del self.kept[player]
        return [player, *self.attributes.drop(player)]

    def begin_games(self, games: Iterable[OpenGame]) -> None:
        """Note the open games of players who have none."""
        opened = {player: game.key for game in games for player in game.players}
        self._take_free(opened)
        self.games |= opened

    def end_games(self, players: Iterable[int]) -> None:
        """Note that the open games of players have ended."""
        ended = list(players)
        for player in ended:
            del self.games[player]
        self._add_free(ended)

    def knows(self, player: int) -> bool:
        """Whether a player is present, or left and may return."""
        return player in self.wishes or player in self.kept

    def __contains__(self, player: int) -> bool:
        return player in self.wishes

    def __len__(self) -> int:
        return len(self.wishes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.wishes)

    def waits_s(self, now: Moment) -> dict[str, float]:
        """Return how long those who wait have waited, in seconds: median, 95% and longest.

        Not a number if nobody waits.
        """
        waits = [max(0, now - self.since[player]) / SECOND for player in self.waiting]
        shares = {"median": 0.5, "p95": 0.95, "longest": 1.0}
        if not waits:
            return dict.fromkeys(shares, math.nan)
        found = np.quantile(waits, list(shares.values()), method="higher").tolist()
        return dict(zip(shares, found, strict=True))

    def is_named(self, player: int) -> bool:
        """Whether a player's name is needed: that of one who is known, or in a list of another."""
        return self.knows(player) or player in self.attributes.listed

    def as_json(self) -> list[Any]:
        """Return what is known of the players, in the order in which they came."""
        since = [self.since.get(player) for player in self.wishes]
        present = [list(self.wishes), list(self.wishes.values()), list(self.met.values()), since]
        return [self.last, present, list(self.kept.items()), self.attributes.as_json()]

    @classmethod
    def from_json(cls, stored: list[Any], games: Mapping[GameKey, OpenGame]) -> Players:
        """Read players back, with the open games that there are."""
        players, (last, present, kept, attributes) = cls(), stored
        for player, status, met, since in zip(*present, strict=True):
            players.join(player, status, since)
            players.met[player] = met
        players.last, players.kept = last, dict(kept)
        players.attributes = Attributes.from_json(attributes)
        players.begin_games(games.values())
        return players

    def _begin_wait(self, player: int, status: str, at: Moment) -> None:
        self.since.pop(player, None)
        if status == WAITING:
            self.since[player] = at

    def _add_free(self, players: Iterable[int]) -> None:
        wishes, free, waiting = self.wishes, self._free, self.waiting
        for player in players:
            status = wishes[player]
            free[status] += 1
            if status == WAITING:
                waiting[player] = None

    def _take_free(self, players: Iterable[int]) -> None:
        wishes, free, waiting = self.wishes, self._free, self.waiting
        for player in players:
            status = wishes[player]
            free[status] -= 1
            if status == WAITING:
                del waiting[player]


class PlayerNames:
    """What the players of a pool are called, those present and those whose records are kept.

    Not part of what follows from the log: names stand in a table of their own. A player who was
    forgotten and returns is another player, with another number.

    Examples
    --------
    >>> names = PlayerNames({1: "ann", 2: "bob"})
    >>> names.number("bob"), names[1], names[3]
    (2, 'ann', 'erased:3')
    """

    def __init__(self, named: Mapping[int, str] | None = None) -> None:
        self.last = 0  # number of the latest player whose name was read
        self._names: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self.update(named or {})

    def number(self, name: str) -> int | None:
        """Return the number of the player who is called so, None if nobody is."""
        return self._numbers.get(name)

    def __getitem__(self, player: int) -> str:
        return self._names.get(player) or f"{ERASED}{player}"

    def __contains__(self, player: int) -> bool:
        return player in self._names

    def update(self, named: Mapping[int, str]) -> None:
        """Note what new players are called."""
        self._names |= named
        self._numbers |= {name: player for player, name in named.items()}
        self.last = max(self.last, max(named, default=0))

    def drop(self, player: int) -> None:
        """Forget what a player is called who is forgotten."""
        name = self._names.pop(player, None)
        if name is not None:
            del self._numbers[name]
