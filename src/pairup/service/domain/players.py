"""The players of a pool: who waits, who is away, and who is in an open game.

Players are numbers here; `PlayerNames` says what they are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairup.service.domain.games import GameKey, OpenGame
from pairup.service.domain.names import ERASED

WAITING, AWAY, PLAYING, PROPOSED = "waiting", "away", "playing", "proposed"


class Players:
    """Players by number, with their open games; who waits is kept, not searched for.

    Examples
    --------
    >>> players = Players()
    >>> players.join(1, "waiting")
    >>> players.begin_game(1, GameKey(0, 0))
    >>> players.status(1), list(players.waiting)
    ('proposed', [])
    >>> players.end_game(1)
    >>> players.counts()
    {'waiting': 1, 'proposed': 0, 'playing': 0, 'away': 0}
    """

    def __init__(self) -> None:
        self.last = 0  # number given to the latest player who was new
        self.wishes: dict[int, str] = {}  # waiting, away or playing, if no game is proposed
        self.games: dict[int, GameKey] = {}  # the open game of each player who has one
        self.met: dict[int, int] = {}  # number of learnt outcomes
        self.kept: dict[int, int] = {}  # the same of players who left and may return
        self.waiting: dict[int, None] = {}  # those who can be proposed a game
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

    def join(self, player: int, status: str) -> None:
        """Let a player in, or in again."""
        self.last = max(self.last, player)
        self.wishes[player], self.met[player] = status, self.kept.pop(player, 0)
        self._add_free(player, status)

    def move(self, player: int, status: str) -> None:
        """Change what a player wishes."""
        before, self.wishes[player] = self.wishes[player], status
        if player not in self.games:
            self._take_free(player, before)
            self._add_free(player, status)

    def leave(self, player: int, forget: bool) -> None:
        """Let a player go who is not in an open game."""
        self._take_free(player, self.wishes.pop(player))
        met = self.met.pop(player)
        if not forget:
            self.kept[player] = met

    def begin_game(self, player: int, game: GameKey) -> None:
        """Note the open game of a player who has none."""
        self._take_free(player, self.wishes[player])
        self.games[player] = game

    def end_game(self, player: int) -> None:
        """Note that the open game of a player has ended."""
        del self.games[player]
        self._add_free(player, self.wishes[player])

    def knows(self, player: int) -> bool:
        """Whether a player is present, or left and may return."""
        return player in self.wishes or player in self.kept

    def __contains__(self, player: int) -> bool:
        return player in self.wishes

    def __len__(self) -> int:
        return len(self.wishes)

    def __iter__(self) -> Iterator[int]:
        return iter(self.wishes)

    def as_json(self) -> list[Any]:
        """Return numbers, wishes and numbers of outcomes, in the order in which they came."""
        present = [list(self.wishes), list(self.wishes.values()), list(self.met.values())]
        return [self.last, present, list(self.kept.items())]

    @classmethod
    def from_json(cls, stored: list[Any], games: Mapping[GameKey, OpenGame]) -> Players:
        """Read players back, with the open games that there are."""
        players, (last, present, kept) = cls(), stored
        for player, status, met in zip(*present, strict=True):
            players.join(player, status)
            players.met[player] = met
        players.last, players.kept = last, dict(kept)
        for game in games.values():
            for player in game.players:
                players.begin_game(player, game.key)
        return players

    def _add_free(self, player: int, status: str) -> None:
        self._free[status] += 1
        if status == WAITING:
            self.waiting[player] = None

    def _take_free(self, player: int, status: str) -> None:
        self._free[status] -= 1
        if status == WAITING:
            del self.waiting[player]


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
