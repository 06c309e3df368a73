"""Candidates: the couples of players who may meet, found without a look at all couples.

Players are put in an order, and each looks at those near it: in its own cell, where constraints ask
for equal attributes, or in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from pairup.service.domain.matchmaking.filters import (
    CodeFilter,
    DistanceFilter,
    Filter,
    Flags,
    Floats,
    Places,
    couple_numbers,
)

MAX_SIDE = 10  # candidates of a player who are above it, and as many below
_NEXT = 5  # ... of which these are the very next, where there is no distance
_SPREAD = 8  # others, evenly spaced, who stand for all whom a player may meet
_MAX_SIDES = 4  # values of `different` up to which each is searched by itself
_CHUNK = 2_000_000  # couples that are looked at together


class Couples(NamedTuple):
    """Couples who may meet, ascending, each once."""

    low: Places
    high: Places
    # Where candidates were chosen by their rates: evenly spaced others whom players may meet who
    # may meet more than were listed, as (player, other).
    spread: Places
    capped: Flags  # players who may meet more than were listed

    def met_at_random(self) -> tuple[Places, Places]:
        """Return couples that stand for all who may meet, for what random pairing would give."""
        if not len(self.spread):
            return self.low, self.high
        players, whole = len(self.capped), ~(self.capped[self.low] & self.capped[self.high])
        listed = self.low[whole] * players + self.high[whole]
        spread = couple_numbers(self.spread, players)
        return distinct_couples(np.concatenate([listed, spread]), players)


def distinct_couples(numbers: Places, players: int) -> tuple[Places, Places]:
    """Return the couples with these numbers, ascending, each once."""
    ordered = np.sort(numbers)  # several times as fast as np.unique
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    low, high = np.divmod(ordered[first], max(players, 1))
    return low, high


def filter_couples(filters: Sequence[Filter], one: Places, other: Places) -> Flags:
    """Return for each couple whether all filters let it meet."""
    fine = np.ones(len(one), np.bool_)
    for each in filters:
        if fine.all():
            fine = each.allows(one, other)
            continue
        left = np.flatnonzero(fine)
        fine[left] = each.allows(one[left], other[left])
    return fine


def find_couples(filters: Sequence[Filter], ranks: Floats, *more: Floats) -> Couples:
    """Find the couples of players who may meet.

    Players are put in the order of the first distance among the filters, without one in that of
    `ranks`, and of `more` ranks. Of those whom a player may meet, the `MAX_SIDE` next above it and
    as many below are listed; without a distance, five on each side are the very next, and the
    others are further and further away. So a couple may be left out only if one of the two has more
    on one side, and whoever may meet somebody is in a couple.
    """
    distance = next((each for each in filters if isinstance(each, DistanceFilter)), None)
    orders: list[tuple[Floats, Floats | None]]
    if distance is not None:
        orders = [(distance.values, distance.windows)]
    else:
        orders = [(each, None) for each in (ranks, *more)]
    players, found, spread = len(ranks), list[Places](), list[Places]()
    capped = np.zeros(players, np.bool_)
    alone = np.ones(players, np.bool_)
    for values, windows in orders:
        for scan in _scans(filters, values, windows, alone):
            for couples in scan.find(filters, nearest=windows is not None):
                found.append(couple_numbers(couples, players))
                alone[couples] = False
            capped[scan.who[scan.capped]] = True
            if distance is None:
                spread.append(scan.spread(filters))
    low, high = distinct_couples(np.concatenate([np.zeros(0, np.int64), *found]), players)
    return Couples(low, high, np.concatenate([np.zeros((0, 2), np.int64), *spread]), capped)


def _scans(
    filters: Sequence[Filter], values: Floats, windows: Floats | None, alone: Flags
) -> Iterator[_Scan]:
    """Yield searches that together look at every couple that may meet.

    Players look at those in the same cell, by `equal` constraints, or on the other sides of it, by
    a `different` one. Players for whom one of these is lifted look at everybody, and as far as
    the widest window, because a constraint asks for the looser of both limits; and so do in the end
    those who are still `alone`, which the caller keeps up to date.
    """
    codes = [each for each in filters if isinstance(each, CodeFilter)]
    sides = next((each for each in codes if not each.equal and each.codes.max() < _MAX_SIDES), None)
    used = [each for each in codes if each.equal] + ([sides] if sides else [])
    lifted = np.zeros(len(values), np.bool_)
    for each in used:
        lifted |= each.lifted
    cells = np.zeros(len(values), np.int64)
    for each in used:
        if each.equal:
            _, cells = np.unique(cells * (each.codes.max() + 1) + each.codes, return_inverse=True)
    line = _Line(values, windows)
    bound, everybody = np.flatnonzero(~lifted), np.flatnonzero(lifted)
    if len(bound):
        if sides is None:
            yield line.scan(cells, bound, cells[bound])
        else:
            count = int(sides.codes.max()) + 1
            mine = cells * count + sides.codes
            for side in range(count):
                some = bound[sides.codes[bound] != side]
                yield line.scan(mine, some, cells[some] * count + side)
    widest = _Line(values, None if windows is None else np.full(len(values), windows.max()))
    anywhere = np.zeros(len(values), np.int64)
    if len(everybody):
        yield widest.scan(anywhere, everybody, anywhere[everybody])
    rest = np.flatnonzero(alone)
    differ = windows is not None and windows.min() < windows.max()
    if len(rest) and (differ or len(everybody)):
        yield widest.scan(anywhere, rest, anywhere[rest])


class _Line:
    """Players in the order of some values, who look as far as their windows reach."""

    def __init__(self, values: Floats, windows: Floats | None) -> None:
        steps, self._rank = np.unique(values, return_inverse=True)
        self._count = len(steps)
        if windows is None:
            self._first = np.zeros(len(values), np.int64)
            self._end = np.full(len(values), len(steps))
        else:  # a little further, because the filter decides by the rounded distance
            low = np.nextafter(values - windows, -np.inf)
            high = np.nextafter(values + windows, np.inf)
            self._first = np.searchsorted(steps, low)
            self._end = np.searchsorted(steps, high, side="right")

    def scan(self, cells: Places, who: Places, where: Places) -> _Scan:
        """Make the search of the players `who` in the cells `where`, one for each."""
        numbers = cells * self._count + self._rank
        order = np.argsort(numbers, kind="stable")
        ordered, start = numbers[order], where * self._count
        low = np.searchsorted(ordered, start + self._first[who])
        high = np.searchsorted(ordered, start + self._end[who])
        up = np.searchsorted(ordered, start + self._rank[who])
        own = cells[who] == where
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        up = np.where(own, place[who] + 1, up)
        down = np.where(own, place[who] - 1, up - 1)
        return _Scan(order, who, low, high, up, down)


class _Scan:
    """A search of some players among others in an order, near ones first."""

    def __init__(
        self, order: Places, who: Places, low: Places, high: Places, up: Places, down: Places
    ) -> None:
        self.order, self.who = order, who
        self._low, self._high = low, high  # where each player looks, from `low` to before `high`
        self._up, self._down = up, down  # where it begins to look upwards, and downwards
        self.capped = np.zeros(len(who), np.bool_)

    def find(self, filters: Sequence[Filter], nearest: bool) -> Iterator[Places]:
        """Yield couples that may meet, and note the players who may meet more."""
        for begin, sign, room in (
            (self._up, 1, self._high - self._up),
            (self._down, -1, self._down + 1 - self._low),
        ):
            side = _Side(begin, sign, room)
            searching = np.flatnonzero(room > 0)
            if not nearest:  # some who are far away serve as well as some who are near
                many = searching[room[searching] > MAX_SIDE]
                found = np.zeros(len(self.who), np.int64)
                yield self._look(filters, many, side, _steps_away(room[many]), found)
                done = many[found[many] == MAX_SIDE]
                self.capped[done] = True
                searching = np.setdiff1d(searching, done, assume_unique=True)
            yield from self._walk(filters, searching, side)

    def _walk(self, filters: Sequence[Filter], searching: Places, side: _Side) -> Iterator[Places]:
        """Go from each player to the next ones, until it has enough or there is nobody left."""
        found, first, block = np.zeros(len(self.who), np.int64), 0, MAX_SIDE
        while len(searching):
            steps = np.broadcast_to(np.arange(first, first + block), (len(searching), block))
            yield self._look(filters, searching, side, steps, found)
            first += block
            more = side.room[searching] > first
            self.capped[searching[(found[searching] >= MAX_SIDE) & more]] = True
            searching = searching[(found[searching] < MAX_SIDE) & more]
            block = max(MAX_SIDE, min(2 * block, _CHUNK // max(len(searching), 1)))

    def _look(
        self,
        filters: Sequence[Filter],
        searching: Places,
        side: _Side,
        steps: Places,
        found: Places,
    ) -> Places:
        """Return the couples that may meet, by a row of steps away for each player.

        No player gets more than `MAX_SIDE`; `found`, how many each has, is brought up to date.
        """
        rows, columns = np.nonzero(steps < side.room[searching][:, None])
        entries = searching[rows]
        places = side.begin[entries] + side.sign * steps[rows, columns]
        one, other = self.who[entries], self.order[places]
        fine = filter_couples(filters, one, other)
        rows, one, other = rows[fine], one[fine], other[fine]
        counts = np.bincount(rows, minlength=len(searching))
        nth = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows] + found[searching[rows]]
        found[searching] += counts
        self.capped[searching[found[searching] > MAX_SIDE]] = True
        kept = nth < MAX_SIDE
        return np.stack([one[kept], other[kept]], axis=1)

    def spread(self, filters: Sequence[Filter]) -> Places:
        """Return couples of players who may meet more than were listed, with others all over."""
        some = np.flatnonzero(self.capped)
        shares = (np.arange(_SPREAD) + 0.5) / _SPREAD
        room = (self._high - self._low)[some]
        places = self._low[some][:, None] + (room[:, None] * shares).astype(np.int64)
        one, other = np.repeat(self.who[some], len(shares)), self.order[places].ravel()
        one, other = one[one != other], other[one != other]
        fine = filter_couples(filters, one, other)
        return np.stack([one[fine], other[fine]], axis=1)


class _Side(NamedTuple):
    """One of two directions in which players look."""

    begin: Places  # for each player
    sign: int
    room: Places  # number of others in that direction


def _steps_away(room: Places) -> Places:
    """Return for each player steps to others: the very next, and some further and further away."""
    powers = np.arange(1, MAX_SIDE - _NEXT + 1) / (MAX_SIDE - _NEXT)
    away = _NEXT * (room[:, None] / _NEXT) ** powers
    next_ones = np.broadcast_to(np.arange(_NEXT), (len(room), _NEXT))
    steps = np.concatenate([next_ones, np.ceil(away).astype(np.int64) - 1], axis=1)
    # Ever later ones: each at least a step after the one before it.
    return np.maximum.accumulate(steps - np.arange(MAX_SIDE), axis=1) + np.arange(MAX_SIDE)


def count_alone(filters: Sequence[Filter], alone: Places, players: int) -> dict[str, int]:
    """Count players who may meet nobody by the first constraint that leaves nobody.

    Constraints are looked at in their order. Where very many players are alone, each is compared
    with some of the others, evenly spaced.

    Examples
    --------
    >>> from pairup.service.domain.matchmaking.filters import keep_apart
    >>> regions = CodeFilter("equal:region", np.array([0, 1, 1]), np.zeros(3, np.bool_))
    >>> count_alone([regions, keep_apart("apart", np.array([[1, 2]]), 3)], np.arange(3), 3)
    {'equal:region': 1, 'apart': 2}
    """
    counts: dict[str, int] = {}
    if not len(alone):
        return counts
    others = np.arange(players)[:: max(1, len(alone) * players // _CHUNK)]
    one, other = (each.ravel() for each in np.meshgrid(alone, others, indexing="ij"))
    one, other = one[one != other], other[one != other]
    left = np.ones(players, np.bool_)
    left[np.setdiff1d(np.arange(players), alone)] = False
    for each in filters:
        fine = each.allows(one, other)
        one, other = one[fine], other[fine]
        still = np.zeros(players, np.bool_)
        still[one] = True
        if lost := int(np.count_nonzero(left & ~still)):
            counts[each.name] = counts.get(each.name, 0) + lost
        left &= still
    return counts
