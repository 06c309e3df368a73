"""The players of a pool: who waits, who is away, and who is in an open game."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairup.service.domain.open_games import OpenGame

WAITING, AWAY, PLAYING, PROPOSED = "waiting", "away", "playing", "proposed"


class Players:
    """Players by name, with their open games; who waits is kept, not searched for.

    Examples
    --------
    >>> players = Players()
    >>> players.join("ann", "waiting")
    >>> players.begin_game("ann", "g1")
    >>> players.status("ann"), list(players.waiting)
    ('proposed', [])
    >>> players.end_game("ann")
    >>> players.counts()
    {'waiting': 1, 'proposed': 0, 'playing': 0, 'away': 0}
    """

    def __init__(self) -> None:
        self.wishes: dict[str, str] = {}  # waiting, away or playing, if no game is proposed
        self.games: dict[str, str] = {}  # the open game of each player who has one
        self.met: dict[str, int] = {}  # number of learnt outcomes
        self.kept: dict[str, int] = {}  # the same of players who left and may return
        self.waiting: dict[str, None] = {}  # those who can be proposed a game
        self._free = {WAITING: 0, PLAYING: 0, AWAY: 0}  # number without an open game

    def status(self, player: str) -> str:
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

    def join(self, player: str, status: str) -> None:
        """Let a player in, or in again."""
        self.wishes[player], self.met[player] = status, self.kept.pop(player, 0)
        self._add_free(player, status)

    def move(self, player: str, status: str) -> None:
        """Change what a player wishes."""
        before, self.wishes[player] = self.wishes[player], status
        if player not in self.games:
            self._take_free(player, before)
            self._add_free(player, status)

    def leave(self, player: str, forget: bool) -> None:
        """Let a player go who is not in an open game."""
        self._take_free(player, self.wishes.pop(player))
        met = self.met.pop(player)
        if not forget:
            self.kept[player] = met

    def begin_game(self, player: str, game: str) -> None:
        """Note the open game of a player who has none."""
        self._take_free(player, self.wishes[player])
        self.games[player] = game

    def end_game(self, player: str) -> None:
        """Note that the open game of a player has ended."""
        del self.games[player]
        self._add_free(player, self.wishes[player])

    def __contains__(self, player: str) -> bool:
        return player in self.wishes

    def __len__(self) -> int:
        return len(self.wishes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.wishes)

    def as_json(self) -> list[Any]:
        """Return names, wishes and numbers of outcomes, in the order in which they came."""
        present = [list(self.wishes), list(self.wishes.values()), list(self.met.values())]
        return [present, list(self.kept.items())]

    @classmethod
    def from_json(cls, stored: list[Any], games: Mapping[str, OpenGame]) -> Players:
        """Read players back, with the open games that there are."""
        players, (present, kept) = cls(), stored
        for player, status, met in zip(*present, strict=True):
            players.join(player, status)
            players.met[player] = met
        players.kept = dict(kept)
        for game in games.values():
            for player in game.players:
                players.begin_game(player, game.id)
        return players

    def _add_free(self, player: str, status: str) -> None:
        self._free[status] += 1
        if status == WAITING:
            self.waiting[player] = None

    def _take_free(self, player: str, status: str) -> None:
        self._free[status] -= 1
        if status == WAITING:
            del self.waiting[player]
