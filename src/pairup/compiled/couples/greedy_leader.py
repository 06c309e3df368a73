"""The leader: the greedy matching by empirical means, its couples in the order of their choice.

Choosing it from scratch costs O(n^2) per round. But a round changes few means, and couple k is the
greedy choice as long as it beats every later couple and the best pair that it *blocks*: a pair of
one of its players and a later player. We keep that best blocked mean as an upper bound per couple,
check in O(n), and where a couple fell, put the best pair of the players left there: O(n) again.

Ties are broken by a random order of all pairs, fixed for a run by its key, so that the leader is
a function of the statistics and not of how we got there.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.rows import packed
from pairup.compiled.couples.statistics import record
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import Integers, Reals, new_state

_SECOND = (1 << 32) - 1  # the bits of the second player of a pair
_STALE = -1  # the blocked pair sank or left: its bound still holds but may be loose


_COUPLES = "slots // 2 + 1"


class Leader(NamedTuple):
    """The leader of the players available, and the bounds that tell when it falls.

    Couple k is (order[2k], order[2k + 1]), ascending; place[i] is where player i stands in `order`
    (-1: not available). The best pair that couple k blocks is `blocked[k]`, as `packed` writes it.
    """

    order: np.ndarray = Integers("slots + 1", dtype=np.uint32)
    place: np.ndarray = Integers("slots", -1, dtype=np.int32)
    mean: np.ndarray = Reals(_COUPLES)
    bound: np.ndarray = Reals(_COUPLES)
    blocked: np.ndarray = Integers(_COUPLES, _STALE)
    couple_count: np.ndarray = Integers(1)


def new_leader(slots):
    """No leader yet: nobody is available."""
    return new_state(Leader, {"slots": slots})


def learn(state, couples, played):
    """The step `observe` of policies with `stats`, a `leader` and the first of `keys` for ties."""
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        note_mean(state.leader, state.keys[0], i, j, mean)


@kernel
def priority(key, i, j):
    """The rank of a pair among pairs of equal mean."""
    return word(key, packed(min(i, j), max(i, j)))


@kernel
def _unpacked(pair):
    return pair >> 32, pair & _SECOND


@kernel
def beats(key, mean, i, j, rival_mean, rival_i, rival_j):
    """Whether pair (i, j) comes before the rival pair in greedy order."""
    if mean != rival_mean:
        return mean > rival_mean
    return priority(key, i, j) > priority(key, rival_i, rival_j)


@kernel
def set_players(leader, stats, players):
    """Couple `players`, and the phantom if they are odd, in any order: an update must follow."""
    count, phantom = len(players), len(leader.place) - 1
    leader.place[:] = -1
    leader.couple_count[0] = (count + 1) // 2
    for k in range(leader.couple_count[0]):
        i = players[2 * k]
        j = players[2 * k + 1] if 2 * k + 1 < count else phantom
        _put(leader, stats, k, i, j)


@kernel
def _put(leader, stats, k, i, j):
    """Couple `i` and `j` at place `k`; what they block is not known."""
    leader.order[2 * k], leader.order[2 * k + 1] = min(i, j), max(i, j)
    leader.place[min(i, j)], leader.place[max(i, j)] = 2 * k, 2 * k + 1
    leader.mean[k] = stats.mean[i, j]
    leader.bound[k], leader.blocked[k] = np.inf, _STALE


@kernel
def update(leader, stats, key):
    """Make the leader greedy again; returns the first and the last couple that changed.

    The first is beyond the last when none did.
    """
    k = _first_fallen(leader, stats, key, 0)
    if k >= leader.couple_count[0]:
        return k, np.int64(-1)
    return _repair(leader, stats, key, k)


@outlined  # the leader seldom falls, and inlined it would slow down the rounds in which it stands
def _repair(leader, stats, key, k):
    """As `update`, where couple `k` is the first that fell."""
    low, high = k, np.int64(-1)
    while k < leader.couple_count[0]:
        high = max(high, _promote(leader, stats, key, k))
        k = _first_fallen(leader, stats, key, k + 1)
    return low, high


@kernel
def _first_fallen(leader, stats, key, start):
    """The first couple from `start` on that is not the greedy choice, or the number of couples.

    It walks from the back, with the best pair of the players behind: couple `top` itself, or the
    pair that couple -1 - `top` blocks.
    """
    fallen = leader.couple_count[0]
    best, top = leader.mean[fallen - 1], fallen - 1
    for k in range(fallen - 2, start - 1, -1):
        mean = leader.mean[k]
        if mean > best and mean > leader.bound[k]:
            best, top = mean, k
            continue
        i, j = _top_pair(leader, k)
        rival_i, rival_j = _top_pair(leader, top)
        if beats(key, mean, i, j, best, rival_i, rival_j):
            best, top = mean, k
        else:
            fallen = k
        if not _holds(leader, stats, key, k):
            fallen = k
            i, j = _top_pair(leader, -1 - k)
            rival_i, rival_j = _top_pair(leader, top)
            if beats(key, leader.bound[k], i, j, best, rival_i, rival_j):
                best, top = leader.bound[k], -1 - k
    return fallen


@kernel
def _top_pair(leader, top):
    if top >= 0:
        return leader.order[2 * top], leader.order[2 * top + 1]
    return _unpacked(leader.blocked[-1 - top])


@kernel
def _holds(leader, stats, key, k):
    """Whether couple `k` beats what it blocks."""
    if leader.mean[k] > leader.bound[k]:
        return True
    if leader.blocked[k] == _STALE:
        _find_blocked(leader, stats, key, k)
    rival_i, rival_j = _unpacked(leader.blocked[k])
    i, j = leader.order[2 * k], leader.order[2 * k + 1]
    return beats(key, leader.mean[k], i, j, leader.bound[k], rival_i, rival_j)


@kernel
def _find_blocked(leader, stats, key, k):
    """Find the best pair that couple `k` blocks."""
    order, end = leader.order, 2 * leader.couple_count[0]
    i, j = order[2 * k], order[2 * k + 1]
    bound, blocked = -np.inf, np.int64(_STALE)
    x = 2 * k + 2
    while x < end:  # first the mean alone, without a branch: a GPU then reads several at once
        other = order[np.uint64(x)]
        bound = max(bound, max(stats.mean[i, other], stats.mean[j, other]))
        x += 1
    for x in range(2 * k + 2, end):
        for player in (i, j):
            other = order[x]
            if stats.mean[player, other] == bound:
                pair = packed(min(player, other), max(player, other))
                if blocked == _STALE or word(key, pair) > word(key, blocked):
                    blocked = pair
    leader.bound[k], leader.blocked[k] = bound, blocked


@kernel
def note_mean(leader, key, i, j, mean):
    """The couple (i, j), i < j, has a new mean."""
    x, y = leader.place[i], leader.place[j]
    if x < 0 or y < 0:
        return
    if x >> 1 == y >> 1:
        leader.mean[x >> 1] = mean
    else:
        note_blocked(leader, key, min(x, y) >> 1, i, j, mean)


@kernel
def note_blocked(leader, key, k, i, j, mean):
    """Pair (i, j), i < j, which couple `k` blocks, has a new mean or is newly blocked."""
    pair = packed(i, j)
    if mean > leader.bound[k]:
        leader.bound[k], leader.blocked[k] = mean, pair
    elif leader.blocked[k] == pair:
        if mean < leader.bound[k]:
            leader.blocked[k] = _STALE
    elif mean == leader.bound[k] and leader.blocked[k] != _STALE:
        if word(key, pair) > word(key, leader.blocked[k]):
            leader.blocked[k] = pair


@kernel
def _promote(leader, stats, key, k):
    """Put the best pair of the players from couple `k` on there; returns the last that changed."""
    mean, i, j, best = leader.mean[k], leader.order[2 * k], leader.order[2 * k + 1], k
    for c in range(k, leader.couple_count[0]):
        rival_i, rival_j = leader.order[2 * c], leader.order[2 * c + 1]
        if c > k and beats(key, leader.mean[c], rival_i, rival_j, mean, i, j):
            mean, i, j, best = leader.mean[c], rival_i, rival_j, c
        if leader.bound[c] >= mean and leader.blocked[c] == _STALE:
            _find_blocked(leader, stats, key, c)
        if leader.bound[c] >= mean:
            rival_i, rival_j = _unpacked(leader.blocked[c])
            if beats(key, leader.bound[c], rival_i, rival_j, mean, i, j):
                mean, i, j, best = leader.bound[c], rival_i, rival_j, c
    if leader.place[i] >> 1 == leader.place[j] >> 1:
        _move_up(leader, stats, key, k, best)
        return best
    return _couple_up(leader, stats, key, k, i, j)


@kernel
def _shift(leader, k, c, i, j):
    """Couples `k` to `c` - 1 move down by one: `i` and `j` go before them."""
    for x in range(c, k, -1):
        for side in range(2):
            player = leader.order[2 * x - 2 + side]
            leader.order[2 * x + side], leader.place[player] = player, 2 * x + side
        leader.mean[x] = leader.mean[x - 1]
        leader.bound[x], leader.blocked[x] = leader.bound[x - 1], leader.blocked[x - 1]
        _release(leader, x, i, j)


@kernel
def _release(leader, k, i, j):
    """Couple `k` blocks `i` and `j` no longer."""
    rival_i, rival_j = _unpacked(leader.blocked[k])
    if leader.blocked[k] != _STALE and (
        rival_i == i or rival_i == j or rival_j == i or rival_j == j
    ):
        leader.blocked[k] = _STALE


@kernel
def _move_up(leader, stats, key, k, c):
    """Couple `c` goes before couple `k`, and from now on blocks those it passes."""
    i, j = leader.order[2 * c], leader.order[2 * c + 1]
    bound, blocked = leader.bound[c], leader.blocked[c]
    _shift(leader, k, c, i, j)
    _put(leader, stats, k, i, j)
    leader.bound[k], leader.blocked[k] = bound, blocked
    for x in range(2 * k + 2, 2 * c + 2):
        for player in (i, j):
            other = leader.order[x]
            low, high = min(player, other), max(player, other)
            note_blocked(leader, key, k, low, high, stats.mean[low, high])


@kernel
def _couple_up(leader, stats, key, k, i, j):
    """Players `i` and `j` become couple `k`; returns the later's place, where those left go."""
    if leader.place[i] > leader.place[j]:
        i, j = j, i
    c, d = leader.place[i] >> 1, leader.place[j] >> 1
    left_i, left_j = leader.order[leader.place[i] ^ 1], leader.order[leader.place[j] ^ 1]
    _shift(leader, k, c, i, j)
    for e in range(c + 1, d):
        _release(leader, e, i, j)
        for side in range(2):
            other = leader.order[2 * e + side]
            low, high = min(left_i, other), max(left_i, other)
            note_blocked(leader, key, e, low, high, stats.mean[low, high])
    _put(leader, stats, d, left_i, left_j)
    _put(leader, stats, k, i, j)
    return d
