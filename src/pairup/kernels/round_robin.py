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

from pairup.kernels.counters import MEMBERS, UNSEEN, new_counters
from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.runtime.randomness import shuffle


class RoundRobin(NamedTuple):
    """The players available, and how many of their couples are unseen."""

    order: np.ndarray  # shuffled; the phantom is the last when they are odd
    available: np.ndarray  # by slot
    now: np.ndarray


def new_round_robin(slots):
    """Nobody is available."""
    return RoundRobin(
        order=np.zeros(slots + 1, np.int64),
        available=np.zeros(slots, np.bool_),
        now=new_counters(),
    )


@kernel
def next_meeting(up, down, last):
    """From the meeting of `up` and `down` to the next; `last` is the number of the last player.

    The first meeting of turn r is that of r and `last`, but one steps on from r and r.
    """
    return up + 1 if up + 1 < last else 0, down - 1 if down > 0 else last - 1


@kernel
def set_players(robin, key, tries, players):
    """Make `players` the ones who meet, and count the couples among them that are unseen."""
    phantom, available = len(robin.available) - 1, len(players)
    robin.available[:] = False
    for x in range(available):
        robin.available[players[x]] = True
        robin.order[x] = players[x]
    shuffle(key, robin.order[:available])
    robin.now[MEMBERS] = available + available % 2
    if available % 2 == 1:
        robin.order[available] = phantom
    unseen = 0
    for y in range(available):
        for x in range(y):
            unseen += tries[players[x], players[y]] == 0
    robin.now[UNSEEN] = unseen


@kernel
def note_seen(robin, i, j):
    """The couple (i, j) has its first outcome."""
    if robin.available[i] and robin.available[j]:
        robin.now[UNSEEN] -= 1


@kernel
def write_turn(robin, tries, round, couples):
    """Write the turn with the most unseen couples, the first such from number `round` on.

    So turns alternate even while outcomes are pending.
    """
    turns = robin.now[MEMBERS] - 1
    best, most = 0, -1
    for x in range(turns):
        turn = (round + x) % turns
        unseen = _unseen(robin, tries, turn)
        if unseen > most:
            best, most = turn, unseen
    row = 0
    for x in range(robin.now[MEMBERS] // 2):
        i, j = _couple(robin, best, x)
        if j != len(robin.available) - 1:
            couples[row, 0], couples[row, 1] = i, j
            row += 1


@kernel
def _unseen(robin, tries, turn):
    phantom, unseen = len(robin.available) - 1, 0
    for x in range(robin.now[MEMBERS] // 2):
        i, j = _couple(robin, turn, x)
        unseen += j != phantom and tries[i, j] == 0
    return unseen


@kernel
def _couple(robin, turn, x):
    """Couple number `x` of a turn, ascending."""
    last = robin.now[MEMBERS] - 1
    i = robin.order[(turn + x) % last]
    j = robin.order[(turn - x) % last] if x > 0 else robin.order[last]
    return min(i, j), max(i, j)
