"""Round robins by the circle method, and the first rounds of policies that try all couples once.

With m players, m even, all meet each other in m - 1 turns of m / 2 meetings. In turn r the last
player meets number r, and the others meet across the circle: r + s meets r - s, counted modulo
m - 1.

A policy whose index of an unseen couple is infinite plays, of the turns of the available players in
a random order, one with the most unseen couples. With nothing seen, m - 1 rounds cover all couples,
and no schedule is faster.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.rows import fill_members, mark_available
from pairup.compiled.kernels import kernel
from pairup.compiled.randomness import shuffle
from pairup.compiled.state_fields import MEMBERS, OWN, Flags, Integers

# Places of counters.
(
    UNSEEN,  # couples among the players available that are unseen
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 2)


class RoundRobin(NamedTuple):
    """The players available, and how many of their couples are unseen."""

    order: np.ndarray = Integers("slots + 1")  # shuffled; the phantom is the last when they are odd
    available: np.ndarray = Flags("slots")  # by slot
    counters: np.ndarray = Integers(_COUNTERS)


@kernel
def set_players(robin, key, tries, players):
    """Make `players` the ones who meet, and count the couples among them that are unseen."""
    available = len(players)
    mark_available(robin, players)
    robin.counters[MEMBERS] = fill_members(robin.order, players, len(robin.available) - 1)
    shuffle(key, robin.order[:available])
    unseen = 0
    for y in range(available):
        for x in range(y):
            unseen += tries[players[x], players[y]] == 0
    robin.counters[UNSEEN] = unseen


@kernel
def note_seen(robin, i, j):
    """The couple (i, j) has its first outcome."""
    if robin.available[i] and robin.available[j]:
        robin.counters[UNSEEN] -= 1


@kernel
def write_turn(robin, tries, round, couples):
    """Write the turn with the most unseen couples, the first such from number `round` on.

    So turns alternate even while outcomes are pending.
    """
    order, phantom = robin.order[: robin.counters[MEMBERS]], len(robin.available) - 1
    best, most = 0, -1
    for x in range(len(order) - 1):
        turn, unseen = (round + x) % (len(order) - 1), 0
        for y in range(len(order) // 2):
            i, j = _meeting(order, turn, y)
            unseen += j != phantom and tries[i, j] == 0
        if unseen > most:
            best, most = turn, unseen
    write_meetings(order, best, phantom, couples)


@kernel
def write_meetings(order, turn, phantom, couples):
    """Write the meetings of the players in `order` in a turn, less the phantom's."""
    row = 0
    for x in range(len(order) // 2):
        i, j = _meeting(order, turn, x)
        if j != phantom:
            couples[row, 0], couples[row, 1] = i, j
            row += 1


@kernel
def _meeting(order, turn, x):
    """Couple number `x` of a turn, ascending."""
    last = len(order) - 1
    i = order[(turn + x) % last]
    j = order[(turn - x) % last] if x > 0 else order[last]
    return min(i, j), max(i, j)
