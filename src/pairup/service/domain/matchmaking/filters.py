"""Filters of one proposal: which couples of the players who wait a constraint lets meet.

Couples are arrays of places; `candidates` finds those that all filters let meet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.service.domain.matchmaking.attributes import Attributes
from pairup.service.domain.matchmaking.constraints import Constraint
from pairup.service.domain.matchmaking.recent_games import RecentGames

_MAX_CELLS = 1 << 24  # of a table of items by players

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


def couple_numbers(couples: Places, players: int) -> Places:
    """Return a number for each couple, by which couples are sorted and compared."""
    one, other = couples[:, 0], couples[:, 1]
    return np.minimum(one, other) * players + np.maximum(one, other)


class Filter(ABC):
    """A constraint on the players of one proposal, who are known by their places in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""


class DistanceFilter(Filter):
    """Players whose numbers differ by at most the wider of both windows."""

    def __init__(self, name: str, values: Floats, windows: Floats) -> None:
        super().__init__(name)
        self.values, self.windows = values, windows

    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""
        apart = np.abs(self.values[one] - self.values[other])
        return apart <= np.maximum(self.windows[one], self.windows[other])


class CodeFilter(Filter):
    """Players with equal codes, or with different ones; or one of whom it is lifted for."""

    def __init__(self, name: str, codes: Places, lifted: Flags, *, equal: bool = True) -> None:
        super().__init__(name)
        self.codes, self.lifted, self.equal = codes, lifted, equal

    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""
        same = self.codes[one] == self.codes[other]
        fine = same if self.equal else ~same
        if self.lifted.any():
            fine |= self.lifted[one] | self.lifted[other]
        return fine


class OverlapFilter(Filter):
    """Players whose lists have an element in common."""

    def __init__(self, name: str, lists: Sequence[Sequence[str]], lifted: Flags) -> None:
        super().__init__(name)
        self._lifted = lifted
        self._items = _Items([dict.fromkeys(each, 0.0) for each in lists])
        self._words = self._items.as_bits() if self._items.few else None

    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""
        fine = self._lifted[one] | self._lifted[other]
        if self._words is None:
            return fine | (self._items.least(one, other) < np.inf)
        for word in self._words:
            fine |= (word[one] & word[other]) != 0
        return fine


class LatencyFilter(Filter):
    """Players both of whom are at most the wider limit in some region."""

    def __init__(self, name: str, numbers: Sequence[Mapping[str, float]], limits: Floats) -> None:
        super().__init__(name)
        self._limits, self._items = limits, _Items(numbers)
        self._numbers = self._items.as_matrix() if self._items.few else None

    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""
        limits = np.maximum(self._limits[one], self._limits[other])
        return (self._least(one, other) <= limits) | np.isinf(limits)

    def _least(self, one: Places, other: Places) -> Floats:
        if self._numbers is None:
            return self._items.least(one, other)
        least = np.full(len(one), np.inf)
        for numbers in self._numbers:
            np.minimum(least, np.maximum(numbers[one], numbers[other]), out=least)
        return least


class _Items:
    """Items of players, such as regions, with numbers; those of a single player are left out.

    Players have few items each, but all of them together may have very many: then a table of
    items by players would not fit into memory, and couples are compared item by item.

    Examples
    --------
    >>> items = _Items([{"eu": 20.0, "us": 90.0}, {"us": 10.0}, {"eu": 50.0, "as": 5.0}])
    >>> items.least(np.array([0, 0, 1]), np.array([1, 2, 2])).tolist()
    [90.0, 50.0, inf]
    """

    def __init__(self, numbers: Sequence[Mapping[str, float]]) -> None:
        holders = Counter(item for each in numbers for item in each)
        shared = (item for item, count in holders.items() if count > 1)
        codes = {item: code for code, item in enumerate(shared)}
        self._count, self._players = len(codes), len(numbers)
        found = [
            (player, codes[item], number)
            for player, each in enumerate(numbers)
            for item, number in each.items()
            if item in codes
        ]
        players, items, values = zip(*found, strict=True) if found else ((), (), ())
        self._player, self._item = np.array(players, np.int64), np.array(items, np.int64)
        self._value = np.array(values, np.float64)

    @property
    def few(self) -> bool:
        """Whether a table of items by players is small."""
        return self._count * self._players <= _MAX_CELLS

    def as_matrix(self) -> Floats:
        """Return the numbers by item and player; infinite for items that a player does not have."""
        matrix = np.full((self._count, self._players), np.inf)
        matrix[self._item, self._player] = self._value
        return matrix

    def as_bits(self) -> NDArray[np.uint64]:
        """Return words of 64 items by player, in which a bit is set for each item it has."""
        words = np.zeros((self._count // 64 + 1, self._players), np.uint64)
        bits = np.uint64(1) << (self._item % 64).astype(np.uint64)
        np.bitwise_or.at(words, (self._item // 64, self._player), bits)
        return words

    def least(self, one: Places, other: Places) -> Floats:
        """Return for each couple the least number that both are within in some item."""
        least = np.full(len(one), np.inf)
        sizes = np.bincount(self._player, minlength=self._players)
        starts, needed = np.cumsum(sizes) - sizes, np.cumsum(sizes[one])
        if not len(needed):
            return least
        parts = np.searchsorted(needed, np.arange(_MAX_CELLS // 8, needed[-1], _MAX_CELLS // 8))
        for some in np.split(np.arange(len(one)), parts):
            counts = sizes[one[some]]
            rows = np.repeat(some, counts)
            nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            mine = starts[one[rows]] + nth
            found, place = self._find(self._item[mine], other[rows])
            both = np.maximum(self._value[mine[found]], self._value[place[found]])
            np.minimum.at(least, rows[found], both)
        return least

    def _find(self, items: Places, players: Places) -> tuple[Flags, Places]:
        """Return which of some players have an item, and where its number is."""
        order, known = self._order
        place = np.searchsorted(known, items * self._players + players)
        place = np.minimum(place, max(len(known) - 1, 0))
        found = known[place] == items * self._players + players
        return found, order[place]

    @cached_property
    def _order(self) -> tuple[Places, Places]:
        keys = self._item * self._players + self._player
        order = np.argsort(keys)
        return order, keys[order]


class PairFilter(Filter):
    """All couples but some, of each of which it is known how long ago they met.

    A couple is let meet again after the shorter of both limits. Couples that must not meet at all
    met 0 ago, with a limit of 1.
    """

    def __init__(self, name: str, couples: Places, ago: Floats, limits: Floats) -> None:
        super().__init__(name)
        self._limits, count = limits, len(limits)
        numbers = couple_numbers(couples, count)
        order = np.lexsort((ago, numbers))
        self._numbers, first = np.unique(numbers[order], return_index=True)
        self._ago = ago[order][first]  # the least of each couple

    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""
        fine = np.ones(len(one), np.bool_)
        if not len(self._numbers):
            return fine
        wanted = np.minimum(one, other) * len(self._limits) + np.maximum(one, other)
        found = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        known = np.flatnonzero(self._numbers[found] == wanted)
        limits = np.minimum(self._limits[one[known]], self._limits[other[known]])
        fine[known] = self._ago[found[known]] >= limits
        return fine


class GivenFilter(Filter):
    """Couples that are listed."""

    def __init__(self, name: str, couples: Places, players: int) -> None:
        super().__init__(name)
        self._players = players
        self._numbers = np.sort(couple_numbers(couples, players))

    def allows(self, one: Places, other: Places) -> Flags:
        """Return for each couple whether this lets it meet."""
        wanted = couple_numbers(np.stack([one, other], axis=1), self._players)
        if not len(self._numbers):
            return np.zeros(len(wanted), np.bool_)
        found = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        return self._numbers[found] == wanted


def keep_apart(name: str, couples: Places, players: int) -> Filter:
    """Make a filter that lets all couples meet but those given."""
    return PairFilter(name, couples.reshape(-1, 2), np.zeros(len(couples)), np.ones(players))


class Waiting(NamedTuple):
    """The players of a proposal, and what constraints look at."""

    players: list[int]  # by place
    waited_s: Floats
    attributes: Attributes
    recent: RecentGames
    at: int  # moment of the proposal


def limits_of(constraint: Constraint, waited_s: Floats) -> Floats:
    """Return the limit of each player, by the seconds for which each has waited.

    Examples
    --------
    >>> relax = [{"after_s": 10, "at_most": 200}, {"after_s": 60, "at_most": None}]
    >>> given = {"kind": "distance", "attribute": "rating", "at_most": 100, "relax": relax}
    >>> limits_of(Constraint.of(given), np.array([0.0, 10.0, 99.0]))
    array([100., 200.,  inf])
    """
    reached = np.searchsorted(constraint.after_s, waited_s, side="right")
    return np.array(constraint.levels)[reached - 1]


def make_filter(constraint: Constraint, waiting: Waiting) -> Filter:
    """Make the filter of a constraint for the players who wait, who have what it needs."""
    limits = limits_of(constraint, waiting.waited_s)
    name, lifted, lists = constraint.name, limits == 0.0, waiting.attributes.lists
    match constraint.kind:
        case "distance":
            return DistanceFilter(name, np.array(_values(constraint, waiting), float), limits)
        case "equal" | "different":
            known: dict[Any, int] = {}
            values = _values(constraint, waiting)
            codes = np.array([known.setdefault(each, len(known)) for each in values], np.int64)
            return CodeFilter(name, codes, lifted, equal=constraint.kind == "equal")
        case "overlap":
            return OverlapFilter(name, _values(constraint, waiting), lifted)
        case "latency":
            return LatencyFilter(name, _values(constraint, waiting), limits)
        case "block":
            place = {player: x for x, player in enumerate(waiting.players)}
            attribute = constraint.attribute or ""
            couples = [
                (x, place[other])
                for player, x in place.items()
                for other in lists.get(player, {}).get(attribute, ())
                if other in place and other != player
            ]
            return PairFilter(name, _pairs(couples), np.zeros(len(couples)), limits)
        case "cooldown":
            by_games = constraint.field == "games"
            couples, ago = waiting.recent.among(waiting.players, waiting.at, by_games=by_games)
            return PairFilter(name, _pairs(couples), np.array(ago, np.float64), limits)


def _values(constraint: Constraint, waiting: Waiting) -> list[Any]:
    values, attribute = waiting.attributes.values, constraint.attribute or ""
    return [values[player][attribute] for player in waiting.players]


def _pairs(couples: list[tuple[int, int]]) -> Places:
    return np.array(couples, np.int64).reshape(-1, 2)
