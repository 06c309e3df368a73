"""Recent games: who played whom lately, for constraints that keep players apart for a while."""

from __future__ import annotations

from typing import Any, NamedTuple

from pairup.service.domain.events import SECOND, Moment


class Window(NamedTuple):
    """How far back games are remembered."""

    games: float = 0.0  # of either player
    seconds: float = 0.0


class RecentGames:
    """For each player the partners of its recent games, with moment and number of the game.

    Examples
    --------
    >>> recent, window = RecentGames(), Window(games=2)
    >>> for other in (2, 3, 4):
    ...     recent.note((1, other), at=0, window=window)
    >>> recent.among([1, 3, 4], at=0, by_games=True)
    ([(0, 1), (0, 2), (1, 0), (2, 0)], [1, 0, 0, 0])
    """

    def __init__(self) -> None:
        self._games: dict[int, int] = {}  # number of each player, while games were noted
        self._met: dict[int, dict[int, tuple[Moment, int]]] = {}  # the latest last

    def note(self, couple: tuple[int, int], at: Moment, window: Window) -> None:
        """Note a game, and forget those that are outside of the window."""
        for player, partner in (couple, couple[::-1]):
            number = self._games[player] = self._games.get(player, 0) + 1
            met = self._met.setdefault(player, {})
            met.pop(partner, None)
            met[partner] = at, number
            self._forget_old(met, at, number, window)

    def _forget_old(
        self, met: dict[int, tuple[Moment, int]], at: Moment, number: int, window: Window
    ) -> None:
        for partner, (when, nth) in list(met.items()):
            if number - nth < window.games or at - when < window.seconds * SECOND:
                return
            del met[partner]

    def forget(self, player: int) -> None:
        """Forget a player's games."""
        self._games.pop(player, None)
        for partner in self._met.pop(player, ()):
            self._met.get(partner, {}).pop(player, None)

    def among(
        self, players: list[int], at: Moment, *, by_games: bool
    ) -> tuple[list[tuple[int, int]], list[float]]:
        """Return couples of players who met, by their places, and how long ago that was.

        In games of the first of them since then, or in seconds.
        """
        place = {player: x for x, player in enumerate(players)}
        couples, ago = list[tuple[int, int]](), list[float]()
        for player, x in place.items():
            games = self._games.get(player, 0)
            for partner, (when, number) in self._met.get(player, {}).items():
                if partner in place:
                    couples.append((x, place[partner]))
                    ago.append(games - number if by_games else (at - when) / SECOND)
        return couples, ago

    def as_json(self) -> list[Any]:
        """Return all of them."""
        met = [[player, list(partners.items())] for player, partners in self._met.items()]
        return [list(self._games.items()), met]

    @classmethod
    def from_json(cls, stored: list[Any]) -> RecentGames:
        """Read recent games back."""
        recent, (games, met) = cls(), stored
        recent._games = dict(games)
        for player, partners in met:
            recent._met[player] = {other: (when, number) for other, (when, number) in partners}
        return recent
