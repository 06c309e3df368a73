"""The first rounds of policies whose index of an unseen couple is infinite: all couples once.

The seated players, in a random order, are paired as in a round robin (the circle method), whose
m - 1 turns bring each of the couples of m players together once. Of its turns we play one with the
most unseen couples: with nothing seen, m - 1 rounds cover all couples, and no schedule is faster.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.runtime.randomness import shuffle


class Cover(NamedTuple):
    """Who is seated, and how many of their couples are unseen."""

    order: np.ndarray  # those seated, shuffled; the phantom is the last when they are odd
    seated: np.ndarray  # by slot
    now: np.ndarray  # MEMBERS, UNSEEN


MEMBERS, UNSEEN = 0, 1


def new_cover(slots):
    """Nobody is seated."""
    return Cover(
        order=np.zeros(slots + 1, np.int64),
        seated=np.zeros(slots, np.bool_),
        now=np.zeros(2, np.int64),
    )


@kernel
def seat_cover(cover, key, tries, players):
    """Seat `players` and count the couples among them that are unseen."""
    phantom, seated = len(cover.seated) - 1, len(players)
    cover.seated[:] = False
    for x in range(seated):
        cover.seated[players[x]] = True
        cover.order[x] = players[x]
    shuffle(key, cover.order[:seated])
    cover.now[MEMBERS] = seated + seated % 2
    if seated % 2 == 1:
        cover.order[seated] = phantom
    unseen = 0
    for y in range(seated):
        for x in range(y):
            unseen += tries[players[x], players[y]] == 0
    cover.now[UNSEEN] = unseen


@kernel
def note_seen(cover, i, j):
    """The couple (i, j) has its first outcome."""
    if cover.seated[i] and cover.seated[j]:
        cover.now[UNSEEN] -= 1


@kernel
def play_cover(cover, tries, round, couples):
    """Write the turn with the most unseen couples, the first such from number `round` on.

    So turns alternate even while outcomes are awaited.
    """
    turns = cover.now[MEMBERS] - 1
    best, most = 0, -1
    for x in range(turns):
        turn = (round + x) % turns
        unseen = _unseen(cover, tries, turn)
        if unseen > most:
            best, most = turn, unseen
    row = 0
    for x in range(cover.now[MEMBERS] // 2):
        i, j = _couple(cover, best, x)
        if j != len(cover.seated) - 1:
            couples[row, 0], couples[row, 1] = i, j
            row += 1


@kernel
def _unseen(cover, tries, turn):
    phantom, unseen = len(cover.seated) - 1, 0
    for x in range(cover.now[MEMBERS] // 2):
        i, j = _couple(cover, turn, x)
        unseen += j != phantom and tries[i, j] == 0
    return unseen


@kernel
def _couple(cover, turn, x):
    """Couple number `x` of a turn, ascending."""
    last = cover.now[MEMBERS] - 1
    i = cover.order[(turn + x) % last]
    j = cover.order[(turn - x) % last] if x > 0 else cover.order[last]
    return min(i, j), max(i, j)
