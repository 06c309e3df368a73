"""The leader: the greedy matching by empirical means, its couples in the order of their choice.

Choosing it afresh costs O(n^2) a round. But a round changes few means, and the leader stands as
long as each of its couples beats the best pair that it *blocks* (a pair of remaining players that
shares a player with it) and the couple after it. We keep that best blocked mean as an upper bound
per couple, check in O(n), and choose again only from the first couple that fell.

Ties are broken by a random order of all pairs, fixed for a run by its key, so that the leader is
a function of the book and not of how we got there.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels.compile import kernel
from pairup.kernels.rng import word

_STALE = -1  # the blocked pair's mean sank: its bound still holds but may be loose


class Leader(NamedTuple):
    """The leader over the seated players and the bounds that tell when it falls.

    Couple k is (order[2k], order[2k + 1]), ascending; place[i] is where player i stands in `order`
    (-1: not seated). `mean` has one entry more, -inf, so that the last couple has a successor.
    """

    order: np.ndarray
    place: np.ndarray
    mean: np.ndarray
    bound: np.ndarray
    blocked: np.ndarray
    partner: np.ndarray
    couples: np.ndarray


def new_leader(slots):
    """No leader yet: nobody is seated."""
    most = slots // 2 + 1
    return Leader(
        order=np.zeros(slots, np.int64),
        place=np.full(slots, -1, np.int64),
        mean=np.full(most + 1, -np.inf),
        bound=np.full(most, -np.inf),
        blocked=np.full(most, _STALE, np.int64),
        partner=np.zeros(slots, np.int64),
        couples=np.zeros(1, np.int64),
    )


@kernel
def priority(key, i, j):
    """The rank of a pair among pairs of equal mean."""
    return word(key, (min(i, j) << 32) | max(i, j))


@kernel
def beats(key, mean, i, j, rival_mean, rival_i, rival_j):
    """Whether pair (i, j) comes before the rival pair in greedy order."""
    if mean != rival_mean:
        return mean > rival_mean
    return priority(key, i, j) > priority(key, rival_i, rival_j)


@kernel
def seat_players(leader, players, phantom):
    """Seat `players`, and the phantom if they are odd; the leader must then be chosen."""
    leader.place[:] = -1
    for x in range(len(players)):
        leader.order[x] = players[x]
    seated = len(players)
    if seated % 2 == 1:
        leader.order[seated] = phantom
        seated += 1
    leader.couples[0] = seated // 2


@kernel
def choose_from(leader, book, key, first):
    """Choose couples `first`, `first` + 1, ... greedily among the players that stand there."""
    order, partner = leader.order, leader.partner
    end = 2 * leader.couples[0]
    for x in range(2 * first, end):
        leader.place[order[x]] = x
    for x in range(2 * first, end):
        partner[order[x]] = _best_partner(leader, book, key, order[x], 2 * first, end)
    for k in range(first, leader.couples[0]):
        i = _best_placed(leader, book, key, 2 * k, end)
        j = partner[i]
        _put(leader, 2 * k, min(i, j))
        _put(leader, 2 * k + 1, max(i, j))
        leader.mean[k] = book.mean[i, j]
        for x in range(2 * k + 2, end):
            if partner[order[x]] == i or partner[order[x]] == j:
                partner[order[x]] = _best_partner(leader, book, key, order[x], 2 * k + 2, end)
        bound_anew(leader, book, key, k)
    leader.mean[leader.couples[0]] = -np.inf


@kernel
def _best_partner(leader, book, key, i, start, end):
    best = -1
    for x in range(start, end):
        j = leader.order[x]
        if j != i and (best < 0 or beats(key, book.mean[i, j], i, j, book.mean[i, best], i, best)):
            best = j
    return best


@kernel
def _best_placed(leader, book, key, start, end):
    best = leader.order[start]
    for x in range(start + 1, end):
        i = leader.order[x]
        j, best_j = leader.partner[i], leader.partner[best]
        # Both players of the best pair name each other: without this, each tie costs two hashes.
        if j != best and beats(key, book.mean[i, j], i, j, book.mean[best, best_j], best, best_j):
            best = i
    return best


@kernel
def _put(leader, x, i):
    """Player `i` moves to place `x`; whoever stood there takes its old place."""
    other, old = leader.order[x], leader.place[i]
    leader.order[old], leader.place[other] = other, old
    leader.order[x], leader.place[i] = i, x


@kernel
def bound_anew(leader, book, key, k):
    """Find the best pair that couple `k` blocks."""
    best, best_i, best_j = -np.inf, -1, -1
    for side in range(2):
        i = leader.order[2 * k + side]
        for x in range(2 * k + 2, 2 * leader.couples[0]):
            j = leader.order[x]
            if book.mean[i, j] >= best and (
                best_i < 0 or beats(key, book.mean[i, j], i, j, best, best_i, best_j)
            ):
                best, best_i, best_j = book.mean[i, j], i, j
    leader.bound[k] = best
    leader.blocked[k] = best_i * len(leader.place) + best_j if best_i >= 0 else _STALE


@kernel
def first_fallen(leader, book, key):
    """The first couple that is no longer the greedy choice; the number of couples if none."""
    for k in range(leader.couples[0]):
        mean = leader.mean[k]
        if not (mean > leader.bound[k] and mean > leader.mean[k + 1]) and _fell(
            leader, book, key, k
        ):
            return k
    return leader.couples[0]


@kernel
def _fell(leader, book, key, k):
    i, j = leader.order[2 * k], leader.order[2 * k + 1]
    mean = leader.mean[k]
    if k + 1 == leader.couples[0]:
        return False
    next_i, next_j = leader.order[2 * k + 2], leader.order[2 * k + 3]
    if not beats(key, mean, i, j, leader.mean[k + 1], next_i, next_j):
        return True
    if mean <= leader.bound[k] and leader.blocked[k] == _STALE:
        bound_anew(leader, book, key, k)
    rival_i, rival_j = divmod(leader.blocked[k], len(leader.place))
    return not beats(key, mean, i, j, leader.bound[k], rival_i, rival_j)


@kernel
def note_blocked(leader, key, k, i, j, mean):
    """Pair (i, j), blocked by couple `k`, has a new mean."""
    slots = len(leader.place)
    pair = i * slots + j
    if mean > leader.bound[k]:
        leader.bound[k], leader.blocked[k] = mean, pair
    elif leader.blocked[k] != _STALE:
        rival_i, rival_j = divmod(leader.blocked[k], slots)
        if (min(rival_i, rival_j), max(rival_i, rival_j)) == (i, j):
            leader.blocked[k] = _STALE
        elif mean == leader.bound[k] and priority(key, i, j) > priority(key, rival_i, rival_j):
            leader.blocked[k] = pair
