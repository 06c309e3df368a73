"""The leader on two sides: the best assignment of items to positions by empirical means.

The longer side are the *items*, the shorter one the *positions*; a position holds one item, and
the items left over are *hidden*. An assignment is the best if and only if there are prices of the
items, 0 for hidden ones and never negative, at which each position likes its own item best: has the
greatest mean less price there. Finding it costs O(items * positions^2). But a round changes few
means, so the prices are kept: as long as each position still likes its own item best, which is
checked in O(positions), the leader stands. Prices are taken from the middle of those that would
do, so that means can move without a new search.

Of several best assignments the leader stays what it is; a new one depends on the order of the
items, which is drawn at random.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.greedy_leader import beats
from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.assignment import Assignment, assign_seekers
from pairup.compiled.state_fields import Flags, Integers, Players, Reals

_TOLERANCE = 1e-12  # smaller gains of another assignment may be rounding
_NOBODY = -1


class AssignedLeader(NamedTuple):
    """The leader of the players available, by *places*: numbers of positions.

    The couple of place k is (order[2k], order[2k + 1]), ascending. The places by the means of their
    couples, best first, are `ranked`.
    """

    search: Assignment  # of the items, by their numbers, to the places
    order: np.ndarray = Integers("2 * slots")
    couple_count: np.ndarray = Integers(1)  # the number of positions
    items: np.ndarray = Integers("slots")  # those available, in random order
    item_count: np.ndarray = Integers(1)  # ... and how many they are
    positions: np.ndarray = Integers("slots")  # by place
    item: np.ndarray = Integers("slots")  # by place
    hidden: np.ndarray = Integers("slots")
    # Of each slot, -1 for hidden items and those who are away.
    place: np.ndarray = Integers("slots", _NOBODY)
    # Of each position, by slot: what it held last, -1 if nothing. It stays as long as nothing is
    # better, so that it is a part of what is known.
    last_item: np.ndarray = Players("slots", _NOBODY, saved=True)
    is_position: np.ndarray = Flags("slots")
    ranked: np.ndarray = Integers("slots")
    mean: np.ndarray = Reals("slots")  # by place
    price: np.ndarray = Reals("slots")  # of items, by slot
    bound: np.ndarray = Reals("slots")  # by place: no other item has a greater mean less price


@outlined
def assign(leader, mean):
    """Find the leader of the items and positions in `leader`, from what they held last."""
    complete, owner = True, leader.search.seeker
    owner[: leader.item_count[0]] = _NOBODY
    for k in range(leader.couple_count[0]):
        leader.ranked[k], holds = k, False
        for x in range(leader.item_count[0]):
            if leader.items[x] == leader.last_item[leader.positions[k]]:
                holds = owner[x] < 0
                owner[x] = k
        complete = complete and holds
    if not complete:
        _search(leader, mean)
    _take(leader, mean)
    _improve(leader, mean)


@kernel
def note_mean(leader, i, j, mean):
    """The couple of `i` and `j` has a new mean; returns its place if it is in the leader, or -1."""
    if leader.place[i] < 0 and leader.place[j] < 0:
        return _NOBODY
    item, position = (j, i) if leader.is_position[i] else (i, j)
    k = leader.place[position]
    if k < 0:
        return _NOBODY
    if leader.item[k] == item:
        leader.mean[k] = mean
        return k
    leader.bound[k] = max(leader.bound[k], mean - leader.price[item])
    return _NOBODY


@kernel
def update(leader, mean):
    """Make the leader the best by the means again; returns whether it changed."""
    for k in range(leader.couple_count[0]):
        value = leader.mean[k] - leader.price[leader.item[k]] + _TOLERANCE
        if value < leader.bound[k]:  # which may be the bound of a mean that fell
            _find_bound(leader, mean, k)
            if value < leader.bound[k]:
                return _improve(leader, mean)
    return False


@kernel
def rank_places(leader, key):
    """Put the places in the order of the means of their couples; a tie is drawn by `key`."""
    for x in range(1, leader.couple_count[0]):
        k = leader.ranked[x]
        while x > 0 and _ranks_before(leader, key, k, leader.ranked[x - 1]):
            leader.ranked[x] = leader.ranked[x - 1]
            x -= 1
        leader.ranked[x] = k


@kernel
def _ranks_before(leader, key, k, rival):
    mean, rival_mean = leader.mean[k], leader.mean[rival]
    if mean != rival_mean:
        return mean > rival_mean
    order = leader.order
    i, j, rival_i, rival_j = order[2 * k], order[2 * k + 1], order[2 * rival], order[2 * rival + 1]
    return beats(key, mean, i, j, rival_mean, rival_i, rival_j)


@outlined
def _improve(leader, mean):
    """Find prices of the leader, or if there are none, a better one; returns whether there was."""
    if _find_prices(leader, mean):
        return False
    _search(leader, mean)
    gain = 0.0
    for x in range(leader.item_count[0]):
        k = leader.search.seeker[x]
        if k >= 0:
            gain += mean[leader.items[x], leader.positions[k]] - leader.mean[k]
    changed = gain > _TOLERANCE
    if changed:
        _take(leader, mean)
    _find_prices(leader, mean)
    return changed


@kernel
def _search(leader, mean):
    """Find the best assignment: the places seek an item each."""
    count, items = leader.couple_count[0], leader.item_count[0]
    for k in range(count):
        for x in range(items):
            leader.search.weight[k, x] = mean[leader.items[x], leader.positions[k]]
    assign_seekers(leader.search, count, items)


@kernel
def _take(leader, mean):
    """Make the assignment that was found the leader."""
    hidden = 0
    for x in range(leader.item_count[0]):
        i, k = leader.items[x], leader.search.seeker[x]
        leader.place[i] = k
        if k < 0:
            leader.hidden[hidden] = i
            hidden += 1
        else:
            j = leader.positions[k]
            leader.item[k] = leader.last_item[j] = i
            leader.mean[k] = mean[i, j]
            leader.order[2 * k], leader.order[2 * k + 1] = min(i, j), max(i, j)


@kernel
def _find_prices(leader, mean):
    """Find prices halfway between the least and the greatest that do; returns whether any do.

    Position k likes its own item best if each other item, of position l, is dearer by at least
    what it is better there: price(l) >= price(k) + mean(item of l, k) - mean(item of k, k).
    """
    count, search = leader.couple_count[0], leader.search
    least, greatest = search.seeker_price, search.distance
    for k in range(count):
        least[k] = 0.0
    if not _fit_prices(leader, mean, least, True):
        return False
    for k in range(count):
        greatest[k] = least[k] + 1.0
        for x in range(leader.item_count[0] - count):
            saving = leader.mean[k] - mean[leader.hidden[x], leader.positions[k]]
            greatest[k] = min(greatest[k], saving)
        if greatest[k] < least[k] - _TOLERANCE:
            return False
    _fit_prices(leader, mean, greatest, False)
    for x in range(leader.item_count[0]):
        leader.price[leader.items[x]] = 0.0
    for k in range(count):
        leader.price[leader.item[k]] = 0.5 * (least[k] + max(greatest[k], least[k]))
    for k in range(count):
        _find_bound(leader, mean, k)
    return True


@kernel
def _fit_prices(leader, mean, price, rises):
    """Raise or lower prices until each position likes its item best; False if that never ends."""
    for _ in range(leader.couple_count[0]):
        changed = False
        for k in range(leader.couple_count[0]):
            for other in range(leader.couple_count[0]):
                better = mean[leader.item[other], leader.positions[k]] - leader.mean[k]
                if rises and price[k] + better > price[other] + _TOLERANCE:
                    price[other], changed = price[k] + better, True
                elif not rises and price[other] - better < price[k] - _TOLERANCE:
                    price[k], changed = price[other] - better, True
        if not changed:
            return True
    return False


@kernel
def _find_bound(leader, mean, k):
    """Find what place `k` likes best of the other items."""
    leader.bound[k] = -np.inf
    for x in range(leader.item_count[0]):
        i = leader.items[x]
        if leader.place[i] != k:
            leader.bound[k] = max(leader.bound[k], mean[i, leader.positions[k]] - leader.price[i])
