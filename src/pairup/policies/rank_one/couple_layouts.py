"""What `RankOneThompson` knows of couples, in two layouts behind one set of names.

Each player has a *row* of the players it may have met, in ascending order of their slots: all
players in the dense layout, for few of them, and only those it met in the sparse one. A place of a
row has the counts of that couple. Kernels are written once, over the names of this module, which
are bound to the functions of each layout.

Both layouts give the same sums, bit for bit: a couple that never met adds exactly 0, and a term is
added to one of four sums by its partner's slot.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import bind, kernel, outlined
from pairup.compiled.state_fields import Integers, Reals, new_state

LANES = 4  # sums over couples are four sums side by side, so dense rows are a multiple of it long
MIN_ROOM = 4  # of a row that has any partner
_SIZES = 40  # of rows: a power of two each


class DenseCouples(NamedTuple):
    """Rows of all players, one after the other; the place of a partner is its slot.

    In both layouts `tries` and `missed` are kept for both players of a couple, `games` and `told`
    in the row of the lower slot only.
    """

    tries: np.ndarray = Integers("players * width", dtype=np.int32)
    games: np.ndarray = Integers("players * width", dtype=np.int32)
    # Games of players who gave their answers one by one.
    told: np.ndarray = Integers("players * width", dtype=np.int32)
    # Weight of the outcomes not played of which it is not known who declined.
    missed: np.ndarray = Reals("players * width")
    width: np.ndarray = Integers(1)  # of a row


class SparseCouples(NamedTuple):
    """Rows of the players met, one after the other in arrays that all rows share."""

    start: np.ndarray = Integers("players")  # where each player's row begins
    length: np.ndarray = Integers("players")
    room: np.ndarray = Integers("players")  # places of the row: a power of two, or 0
    partner: np.ndarray = Integers("places", dtype=np.uint32)
    tries: np.ndarray = Integers("places", dtype=np.int32)
    games: np.ndarray = Integers("places", dtype=np.int32)
    told: np.ndarray = Integers("places", dtype=np.int32)
    missed: np.ndarray = Reals("places")
    # The first vacant row of each size, which names the next; -1 if none.
    vacant: np.ndarray = Integers(_SIZES, -1)
    used: np.ndarray = Integers(1)  # places that are or were in use


def new_dense_couples(players, width):
    """A table of couples none of which has met, with rows of the given width."""
    sizes = {"players": players, "width": width}
    return new_state(DenseCouples, sizes, width=np.array([width]))


def new_sparse_couples(players, places):
    """A table of couples none of which has met, with the given number of places for partners."""
    return new_state(SparseCouples, {"players": players, "places": places})


@outlined
def copy_rows(source, target):
    """Copy all rows of one sparse table into another, empty one, without vacant places."""
    for i in range(len(source.start)):
        target.start[i], target.length[i] = target.used[0], source.length[i]
        target.room[i] = source.room[i]
        target.used[0] += source.room[i]
        for x in range(source.length[i]):
            here, there = source.start[i] + x, target.start[i] + x
            target.partner[there] = source.partner[here]
            target.tries[there] = source.tries[here]
            target.games[there] = source.games[here]
            target.told[there] = source.told[here]
            target.missed[there] = source.missed[here]


# --- the names that kernels use ------------------------------------------------------------------


def row_start(couples, i):
    """Where the row of player i begins."""


def row_length(couples, i):
    """Places of player i's row."""


def partner(couples, i, x):
    """The slot of the partner at place x of player i's row."""


def place(couples, i, j):
    """The place of player j in the row of i, which it met; any place otherwise."""


def enter(couples, i, j):
    """The place of player j in the row of i, where it is entered if they never met.

    It is below 0 if there is no room.
    """


def erase(couples, i, j):
    """Take player j, whom i met, out of the row of i."""


def clear(couples, i):
    """Empty the row of player i; its partners' rows stay as they are."""


def row_sum(couples, i, terms):
    """The sum of one term for each place of player i's row."""


def lacks_room(couples, players):
    """Whether there are too few places for a next partner of each of the players."""


def is_sparse(couples):
    """Whether rows have only the players who were met."""


@kernel
def at(couples, i, x):
    """The index in the arrays of counts of place x of player i's row."""
    return np.uint64(row_start(couples, i) + np.int64(x))


# --- dense ---------------------------------------------------------------------------------------


def _dense_clear(couples, i):
    for x in range(couples.width[0]):
        _dense_erase(couples, i, x)


@kernel
def _dense_erase(couples, i, j):
    k = at(couples, i, j)
    couples.tries[k] = couples.games[k] = couples.told[k] = 0
    couples.missed[k] = 0.0


def _dense_sum(couples, i, terms):
    a = b = c = d = 0.0
    for x in range(0, couples.width[0], LANES):
        a += terms[x]
        b += terms[x + 1]
        c += terms[x + 2]
        d += terms[x + 3]
    return (a + b) + (c + d)


_DENSE = {
    row_start: lambda couples, i: np.int64(i) * couples.width[0],
    row_length: lambda couples, i: couples.width[0],
    partner: lambda couples, i, x: x,
    place: lambda couples, i, j: np.int64(j),
    enter: lambda couples, i, j: np.int64(j),
    erase: lambda couples, i, j: _dense_erase(couples, i, j),
    clear: _dense_clear,
    row_sum: _dense_sum,
    lacks_room: lambda couples, players: False,
    is_sparse: lambda couples: False,
}


# --- sparse --------------------------------------------------------------------------------------


def _sparse_place(couples, i, j):
    """By bisection: the first place whose partner is not below j."""
    start, low, high = couples.start[i], 0, couples.length[i]
    while low < high:
        middle = (low + high) // 2
        if couples.partner[start + middle] < j:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _copy_place(couples, source, target):
    couples.partner[target] = couples.partner[source]
    couples.tries[target] = couples.tries[source]
    couples.games[target] = couples.games[source]
    couples.told[target] = couples.told[source]
    couples.missed[target] = couples.missed[source]


@kernel
def _size(room):
    """The number of doublings from 1 to `room`."""
    size = 0
    while (1 << size) < room:
        size += 1
    return size


@kernel
def _widen(couples, i):
    """Move the row of player i to twice as many places; False if there are none."""
    room = max(2 * couples.room[i], MIN_ROOM)
    size = _size(room)
    start = couples.vacant[size]
    if start >= 0:
        couples.vacant[size] = np.int64(couples.tries[start]) - 1
    else:
        start = couples.used[0]
        if start + room > len(couples.partner):
            return False
        couples.used[0] += room
    for x in range(couples.length[i]):
        _copy_place(couples, couples.start[i] + x, start + x)
    _vacate(couples, i)
    couples.start[i], couples.room[i] = start, room
    return True


@kernel
def _vacate(couples, i):
    """List the places of player i's row as vacant, if it has any."""
    if couples.room[i] > 0:
        size = _size(couples.room[i])
        couples.tries[couples.start[i]] = couples.vacant[size] + 1
        couples.vacant[size] = couples.start[i]


def _sparse_enter(couples, i, j):
    x = place(couples, i, j)
    if x < couples.length[i] and couples.partner[couples.start[i] + x] == j:
        return x
    # A policy makes room before it observes: what would not fit is counted nowhere else.
    if couples.length[i] == couples.room[i] and not _widen(couples, i):
        return np.int64(-1)
    start = couples.start[i]
    for y in range(couples.length[i], x, -1):
        _copy_place(couples, start + y - 1, start + y)
    couples.length[i] += 1
    couples.partner[start + x] = j
    couples.tries[start + x] = couples.games[start + x] = couples.told[start + x] = 0
    couples.missed[start + x] = 0.0
    return x


def _sparse_erase(couples, i, j):
    start, x = couples.start[i], place(couples, i, j)
    couples.length[i] -= 1
    for y in range(x, couples.length[i]):
        _copy_place(couples, start + y + 1, start + y)


def _sparse_clear(couples, i):
    _vacate(couples, i)
    couples.length[i] = couples.room[i] = 0


def _sparse_sum(couples, i, terms):
    a = b = c = d = 0.0
    start = couples.start[i]
    for x in range(couples.length[i]):
        lane, term = couples.partner[start + x] % np.uint32(LANES), terms[x]
        a += term if lane == 0 else 0.0  # no branch: it would be a coin to guess
        b += term if lane == 1 else 0.0
        c += term if lane == 2 else 0.0
        d += term if lane == 3 else 0.0
    return (a + b) + (c + d)


def _sparse_lacks_room(couples, players):
    places = couples.used[0]
    for i in players:
        if couples.length[i] == couples.room[i]:
            places += max(2 * couples.room[i], MIN_ROOM)
    return places > len(couples.partner)


_SPARSE = {
    row_start: lambda couples, i: couples.start[i],
    row_length: lambda couples, i: couples.length[i],
    partner: lambda couples, i, x: couples.partner[couples.start[i] + x],
    place: _sparse_place,
    enter: _sparse_enter,
    erase: _sparse_erase,
    clear: _sparse_clear,
    row_sum: _sparse_sum,
    lacks_room: _sparse_lacks_room,
    is_sparse: lambda couples: True,
}


for _layout, _functions in ((DenseCouples, _DENSE), (SparseCouples, _SPARSE)):
    for _name, _function in _functions.items():
        bind(_name, _layout, _function)
