"""Attributes of players, such as ratings and regions: what constraints and worth look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pairup.service.domain.events import PlayerList

# Bounds on what a player can have; constraints use a few of them.
MAX_ATTRIBUTES = 32
MAX_TEXT = 128  # characters
MAX_ITEMS = 256  # of a list, or of numbers by region
ATTRIBUTE_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"

AttributeType = Literal["number", "text", "list", "numbers", "players"]
TYPES: dict[AttributeType, str] = {  # in words, with examples
    "number": "a number, for example 1500",
    "text": 'text, for example "eu"',
    "list": 'a list of texts, for example ["en", "fr"]',
    "numbers": 'numbers by region, for example {"eu": 30, "us": 120}',
    "players": 'a list of players, for example ["ann", "bob"]',
}


class Attributes:
    """The attributes of the players of a pool, by number.

    Attributes that list players, for example block lists, are kept as numbers, so that a name can
    be erased everywhere at once. A player who is listed need not be in the pool.

    Examples
    --------
    >>> attributes = Attributes()
    >>> attributes.change(1, {"rating": 1500.0, "region": "eu"})
    >>> attributes.change(1, {"rating": None})
    >>> attributes.set_list(1, "blocked", [7])
    >>> attributes.values[1], attributes.lists[1], 7 in attributes.listed
    ({'region': 'eu'}, {'blocked': [7]}, True)
    """

    def __init__(self) -> None:
        self.values: dict[int, dict[str, Any]] = {}
        self.lists: dict[int, dict[str, list[int]]] = {}
        self.listed: Counter[int] = Counter()  # in how many lists each player is

    def change(self, player: int, changes: Mapping[str, Any]) -> None:
        """Set attributes of a player; None removes one."""
        lists, known = self.lists.get(player, {}), {**self.values.get(player, {}), **changes}
        for name in lists.keys() & changes.keys():
            self._unlist(lists.pop(name))
        self.values[player] = {name: value for name, value in known.items() if value is not None}

    def set_list(self, player: int, name: str, players: list[int]) -> None:
        """Set an attribute of a player that lists players."""
        self.change(player, {name: None})
        self.lists.setdefault(player, {})[name] = players
        self.listed.update(players)

    def drop(self, player: int) -> list[int]:
        """Forget the attributes of a player; returns the players who were in lists of it."""
        listed = self.listed_by([player])
        self.values.pop(player, None)
        self.lists.pop(player, None)
        self._unlist(listed)
        return listed

    def erase(self, player: int) -> None:
        """Take a player out of all lists."""
        if self.listed.pop(player, 0):
            for lists in self.lists.values():
                for name, players in lists.items():
                    lists[name] = [each for each in players if each != player]

    def listed_by(self, players: Iterable[int]) -> list[int]:
        """Return all players who are in the lists of some players."""
        lists = (each for player in players for each in self.lists.get(player, {}).values())
        return [player for each in lists for player in each]

    def as_json(self) -> list[Any]:
        """Return all of them, in the order in which they came."""
        return [list(self.values.items()), list(self.lists.items())]

    @classmethod
    def from_json(cls, stored: list[Any]) -> Attributes:
        """Read attributes back."""
        attributes, (values, lists) = cls(), stored
        attributes.values, attributes.lists = dict(values), dict(lists)
        for named in attributes.lists.values():
            for players in named.values():
                attributes.listed.update(players)
        return attributes

    def _unlist(self, players: Iterable[int]) -> None:
        for player in players:
            self.listed[player] -= 1
            if not self.listed[player]:
                del self.listed[player]


def type_of(value: Any) -> AttributeType | None:
    """Return the type of an attribute's value, None for None."""
    if value is None:
        return None
    kinds: dict[type, AttributeType] = {str: "text", list: "list", dict: "numbers"}
    return kinds.get(type(value), "number")


def flatten_lists(lists: Iterable[PlayerList]) -> list[int]:
    """Return all players that are in some lists."""
    return [player for each in lists for player in each["players"]]
