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
from pairup.compiled.state_fields import Flags, Integers, Players, Reals

_TOLERANCE = 1e-12  # smaller gains of another assignment may be rounding
_NOBODY = -1


class AssignedLeader(NamedTuple):
    """The leader of the players available, by *places*: numbers of positions.

    The couple of place k is (order[2k], order[2k + 1]), ascending. The places by the means of their
    couples, best first, are `ranked`.
    """

    order: np.ndarray = Integers("2 * slots")
    couples: np.ndarray = Integers(1)  # how many there are: the number of positions
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
    owner: np.ndarray = Integers("slots")  # workspace of the search: places by item
    came_from: np.ndarray = Integers("slots")
    distance: np.ndarray = Reals("slots")
    reached: np.ndarray = Flags("slots")
    profit: np.ndarray = Reals("slots")  # by place


@outlined
def assign(leader, mean):
    """Find the leader of the items and positions in `leader`, from what they held last."""
    complete = True
    leader.owner[: leader.item_count[0]] = _NOBODY
    for k in range(leader.couples[0]):
        leader.ranked[k], holds = k, False
        for x in range(leader.item_count[0]):
            if leader.items[x] == leader.last_item[leader.positions[k]]:
                holds = leader.owner[x] < 0
                leader.owner[x] = k
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
    for k in range(leader.couples[0]):
        value = leader.mean[k] - leader.price[leader.item[k]] + _TOLERANCE
        if value < leader.bound[k]:  # which may be the bound of a mean that fell
            _find_bound(leader, mean, k)
            if value < leader.bound[k]:
                return _improve(leader, mean)
    return False


@kernel
def rank_places(leader, key):
    """Put the places in the order of the means of their couples; a tie is drawn by `key`."""
    for x in range(1, leader.couples[0]):
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
        k = leader.owner[x]
        if k >= 0:
            gain += mean[leader.items[x], leader.positions[k]] - leader.mean[k]
    changed = gain > _TOLERANCE
    if changed:
        _take(leader, mean)
    _find_prices(leader, mean)
    return changed


@kernel
def _search(leader, mean):
    """Find the best assignment, as the `owner` of each item, and the least prices.

    Positions come one after the other; each takes the item it likes best, or pushes others on.
    """
    leader.owner[: leader.item_count[0]] = _NOBODY
    leader.price[:] = 0.0
    for k in range(leader.couples[0]):
        leader.profit[k] = -np.inf
        for x in range(leader.item_count[0]):
            i = leader.items[x]
            value = mean[i, leader.positions[k]] - leader.price[i]
            leader.profit[k] = max(leader.profit[k], value)
        end = _find_path(leader, mean, k)
        while end >= 0:  # hand the items on
            before = leader.came_from[end]
            leader.owner[end] = k if before < 0 else leader.owner[before]
            end = before


@kernel
def _find_path(leader, mean, k):
    """The cheapest way from place `k` to an item that is not owned, as the number of the item.

    Costs are what positions give up; prices are raised to what the way has shown.
    """
    count, owner = leader.item_count[0], leader.owner
    leader.distance[:count] = np.inf
    leader.reached[:count] = False
    place, at, so_far = k, _NOBODY, 0.0
    while True:
        nearest = _NOBODY
        for x in range(count):
            if leader.reached[x]:
                continue
            i = leader.items[x]
            slack = leader.profit[place] + leader.price[i] - mean[i, leader.positions[place]]
            if so_far + slack < leader.distance[x]:
                leader.distance[x], leader.came_from[x] = so_far + slack, at
            if nearest < 0 or leader.distance[x] < leader.distance[nearest]:
                nearest = x
        leader.reached[nearest] = True
        so_far, at, place = leader.distance[nearest], nearest, owner[nearest]
        if place < 0:
            break
    leader.profit[k] -= so_far
    for x in range(count):
        if leader.reached[x] and owner[x] >= 0:
            raised = so_far - leader.distance[x]
            leader.price[leader.items[x]] += raised
            leader.profit[owner[x]] -= raised
    return at


@kernel
def _take(leader, mean):
    """Make the assignment that was found, the `owner` of each item, the leader."""
    hidden = 0
    for x in range(leader.item_count[0]):
        i, k = leader.items[x], leader.owner[x]
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
    couples, least, greatest = leader.couples[0], leader.profit, leader.distance
    for k in range(couples):
        least[k] = 0.0
    if not _raise_prices(leader, mean, least):
        return False
    for k in range(couples):
        greatest[k] = least[k] + 1.0
        for x in range(leader.item_count[0] - couples):
            saving = leader.mean[k] - mean[leader.hidden[x], leader.positions[k]]
            greatest[k] = min(greatest[k], saving)
        if greatest[k] < least[k] - _TOLERANCE:
            return False
    _lower_prices(leader, mean, greatest)
    for x in range(leader.item_count[0]):
        leader.price[leader.items[x]] = 0.0
    for k in range(couples):
        leader.price[leader.item[k]] = 0.5 * (least[k] + max(greatest[k], least[k]))
    for k in range(couples):
        _find_bound(leader, mean, k)
    return True


@kernel
def _raise_prices(leader, mean, price):
    """Raise prices until each position likes its item best; returns False if that never ends."""
    for _ in range(leader.couples[0]):
        changed = False
        for k in range(leader.couples[0]):
            for other in range(leader.couples[0]):
                better = mean[leader.item[other], leader.positions[k]] - leader.mean[k]
                if price[k] + better > price[other] + _TOLERANCE:
                    price[other], changed = price[k] + better, True
        if not changed:
            return True
    return False


@kernel
def _lower_prices(leader, mean, price):
    """Lower prices until each position likes its item best; as many rounds as there may be."""
    for _ in range(leader.couples[0]):
        changed = False
        for k in range(leader.couples[0]):
            for other in range(leader.couples[0]):
                better = mean[leader.item[other], leader.positions[k]] - leader.mean[k]
                if price[other] - better < price[k] - _TOLERANCE:
                    price[k], changed = price[other] - better, True
        if not changed:
            return


@kernel
def _find_bound(leader, mean, k):
    """Find what place `k` likes best of the other items."""
    leader.bound[k] = -np.inf
    for x in range(leader.item_count[0]):
        i = leader.items[x]
        if leader.place[i] != k:
            leader.bound[k] = max(leader.bound[k], mean[i, leader.positions[k]] - leader.price[i])
