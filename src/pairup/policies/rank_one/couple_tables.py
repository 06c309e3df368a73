"""Tables of the couples that `RankOneThompson` knows, in either layout of its state.

See `pairup.policies.rank_one.couple_layouts`. Whatever goes over all couples does so in NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.policies.rank_one.couple_layouts import (
    MIN_ROOM,
    DenseCouples,
    SparseCouples,
    copy_rows,
    new_sparse_couples,
)
from pairup.policies.rank_one.fading import MAX_WEIGHT
from pairup.saved_arrays import Arrays, numbers, real_numbers, require

Couples = DenseCouples | SparseCouples
Integers = NDArray[np.int64]

_GROWTH = 1.5  # of a table that is full
_COUNTS = ("tries", "games", "missed", "told")


class PickedCouples(NamedTuple):
    """The couples that have met, in ascending order, low < high in each, with their counts.

    What was missed is in whole numbers where it is whole.
    """

    low: Integers
    high: Integers
    tries: Integers
    games: Integers
    missed: NDArray[np.int64] | NDArray[np.float64]
    told: Integers


def capacity(couples: Couples) -> int:
    """Return for how many players there are rows."""
    if isinstance(couples, DenseCouples):
        return len(couples.tries) // max(couples.width[0], 1)
    return len(couples.start)


def _square(couples: DenseCouples, name: str) -> NDArray[Any]:
    """Return one of the counts with a row for each player."""
    square: NDArray[Any] = getattr(couples, name).reshape(-1, max(couples.width[0], 1))
    return square


def new_table(players: int) -> SparseCouples:
    """Return a sparse table with room for a few partners of each player."""
    return new_sparse_couples(players, players * MIN_ROOM)


def partners_of(couples: Couples, slot: int) -> Integers:
    """Return the slots of the players whom one has met."""
    if isinstance(couples, DenseCouples):
        return np.flatnonzero(_square(couples, "tries")[slot])
    start = couples.start[slot]
    return couples.partner[start : start + couples.length[slot]].astype(np.int64)


def with_room(couples: Couples, wanted: Integers) -> Couples:
    """Return a table in which each of the couples has a place, or will have when it is entered."""
    if isinstance(couples, DenseCouples):
        return couples
    keys = np.unique(wanted[:, 0] * len(couples.start) + wanted[:, 1])
    both = np.concatenate(np.divmod(keys, len(couples.start)))
    slots, new = np.unique(both, return_counts=True)
    return _with_partners(couples, slots, new)


def with_next_partners(couples: Couples, players: Integers) -> Couples:
    """Return a table with room for one more partner of each of the players."""
    if isinstance(couples, DenseCouples):
        return couples
    return _with_partners(couples, players, np.ones(len(players), np.int64))


def _with_partners(couples: SparseCouples, slots: Integers, new: Integers) -> SparseCouples:
    needed = couples.length[slots] + new
    full = needed > couples.room[slots]
    # A row is doubled until it is long enough: 2r, 4r, ... up to its last room.
    places = int(2 * (_room_for(needed[full]) - couples.room[slots][full]).sum())
    if couples.used[0] + places <= len(couples.partner):
        return couples
    larger = new_sparse_couples(len(couples.start), int(_GROWTH * couples.room.sum()) + places)
    copy_rows(couples, larger)
    return larger


def _room_for(lengths: Integers) -> Integers:
    """Return the least powers of two that hold these numbers of partners."""
    doublings = np.ceil(np.log2(np.maximum(lengths, MIN_ROOM))).astype(np.int64)
    return np.left_shift(1, doublings)


def picked(couples: Couples) -> PickedCouples:
    """Pick the couples that have met."""
    if isinstance(couples, DenseCouples):
        low, high = seen = np.nonzero(np.triu(_square(couples, "tries")))
        counts = [_square(couples, name)[seen] for name in _COUNTS]
    else:
        low, places = _places(couples)
        high = couples.partner[places].astype(np.int64)
        upper = low < high
        low, high, places = low[upper], high[upper], places[upper]
        counts = [getattr(couples, name)[places] for name in _COUNTS]
    tries, games, missed, told = counts
    whole = missed.astype(np.int64)
    return PickedCouples(
        low.astype(np.int64),
        high,
        tries.astype(np.int64),
        games.astype(np.int64),
        whole if np.array_equal(whole, missed) else missed,
        told.astype(np.int64),
    )


def counts_between(couples: Couples, one: Integers, other: Integers) -> tuple[Integers, Integers]:
    """Return tries and games of couples in any order; 0 for couples that have not met."""
    low, high = np.broadcast_arrays(np.minimum(one, other), np.maximum(one, other))
    if isinstance(couples, DenseCouples):
        tries, games = (_square(couples, name)[low, high] for name in ("tries", "games"))
        return tries.astype(np.int64), games.astype(np.int64)
    low, inverse = np.unique(low, return_inverse=True)  # only rows that are asked for
    within = couples._replace(start=couples.start[low], length=couples.length[low])
    rows, places = _places(within)
    keys = rows * len(couples.start) + couples.partner[places]
    wanted = inverse.reshape(high.shape) * len(couples.start) + high
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if not len(keys):
        return np.zeros(wanted.shape, np.int64), np.zeros(wanted.shape, np.int64)
    met = keys[found] == wanted
    tries, games = (
        np.where(met, getattr(couples, name)[places[found]], 0).astype(np.int64)
        for name in ("tries", "games")
    )
    return tries, games


def _places(couples: SparseCouples) -> tuple[Integers, Integers]:
    """Return the slot and the place of each entry of all rows."""
    slots = np.repeat(np.arange(len(couples.length)), couples.length)
    first = np.cumsum(couples.length) - couples.length
    within = np.arange(len(slots)) - np.repeat(first, couples.length)
    return slots, couples.start[slots] + within


def checked_couples(arrays: Arrays, players: int) -> PickedCouples:
    """Read saved couples, or refuse them with an `SavingError`."""
    low, high = numbers(arrays, "low"), numbers(arrays, "high")
    tries, games = numbers(arrays, "tries", minimum=1), numbers(arrays, "games")
    told = numbers(arrays, "told")
    faded = "weight" in arrays and arrays["missed"].dtype == np.float64
    missed = real_numbers(arrays, "missed") if faded else numbers(arrays, "missed")
    lengths = {len(each) for each in (low, high, tries, games, missed, told)}
    require(len(lengths) == 1, "its couples are incomplete")
    require(np.all((low < high) & (high < players)), "it has couples of unknown players")
    ascending = np.diff(low * players + high) > 0
    require(np.all(ascending), "it has couples twice, or out of their order")
    require(np.all(tries <= np.iinfo(np.int32).max), "it has more proposals than it can count")
    require(np.all(games <= tries), "it has more games than proposals")
    # Without sums of what was read, which could overflow.
    possible = tries * MAX_WEIGHT if "weight" in arrays else tries - games
    require(np.all(missed <= possible), "it has more outcomes than proposals")
    require(np.all(told <= games), "it has more games with answers than games")
    return PickedCouples(low, high, tries, games, missed, told)


def filled(couples: Couples, known: PickedCouples) -> Couples:
    """Return a table with these couples, made from one of the same size that is empty."""
    if isinstance(couples, DenseCouples):
        for name in _COUNTS:
            _square(couples, name)[known.low, known.high] = getattr(known, name)
        for name in ("tries", "missed"):
            _square(couples, name)[known.high, known.low] = getattr(known, name)
        return couples
    return _filled_sparse(len(couples.start), known)


def _filled_sparse(players: int, known: PickedCouples) -> SparseCouples:
    slots, partners = np.append(known.low, known.high), np.append(known.high, known.low)
    order = np.lexsort((partners, slots))
    length = np.bincount(slots, minlength=players)
    room = np.where(length > 0, _room_for(length), 0)
    used = int(room.sum())
    couples = new_sparse_couples(players, int(_GROWTH * used) + players * MIN_ROOM)
    couples.start[:] = np.cumsum(room) - room
    couples.length[:], couples.room[:], couples.used[0] = length, room, used
    _, places = _places(couples)
    couples.partner[places] = partners[order]
    for name in ("tries", "missed"):
        couples_of_both = np.tile(getattr(known, name), 2)
        getattr(couples, name)[places] = couples_of_both[order]
    for name in ("games", "told"):  # in the row of the lower slot only
        counts = getattr(known, name)
        getattr(couples, name)[places] = np.append(counts, np.zeros_like(counts))[order]
    return couples


def row_sums(known: PickedCouples, width: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how often each player met others, and what was missed in that."""
    both = np.append(known.low, known.high)
    tries, missed = (
        np.bincount(both, np.tile(counts, 2), width).astype(np.float64)
        for counts in (known.tries, known.missed)
    )
    return tries, missed


def usual_partners(known: PickedCouples, width: int) -> Integers:
    """Return the partner whom each player met most, of several the lowest slot, or -1."""
    slots, partners = np.append(known.low, known.high), np.append(known.high, known.low)
    order = np.lexsort((-partners, np.tile(known.tries, 2), slots))
    usual = np.full(width, -1, np.int64)
    usual[slots[order]] = partners[order]  # of several, the last stays
    return usual
