"""Neighbours of the leader: for policies that look around their leader.

Couples k and k + 1 of the leader, {i, i'} and {j, j'}, have two neighbours: swap 0 makes {i, j} and
{i', j'}, swap 1 makes {i, j'} and {i', j}. The four *cross* pairs of k stand at 2 * (side in couple
k) + (side in couple k + 1), so that a swap makes the cross pairs `swap` and 3 - `swap`. Neighbour
number 2 k + `swap` swaps at k; -1 is the leader itself.
"""

import math

import numpy as np

from pairup.compiled.couples import greedy_leader
from pairup.compiled.couples.leader_counts import CELL, NO_CELL, TURN_PLACES
from pairup.compiled.couples.statistics import PHANTOM_MEAN
from pairup.compiled.kernels import kernel
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import AVAILABLE, ROUND

# Place of a counter: compare players (V2), not matchings (V1). Those of a policy follow.
BY_PLAYERS, NEIGHBOUR_PLACES = range(TURN_PLACES, TURN_PLACES + 2)

COUPLE = 4  # place of a couple of the leader, after its cross pairs with the next


@kernel
def set_players(state, players):
    """Find the leader of `players`; a state has stats, leader, keys and counters."""
    state.counters[AVAILABLE] = len(players)
    state.counters[CELL] = NO_CELL
    greedy_leader.set_players(state.leader, state.stats, players)
    greedy_leader.update(state.leader, state.stats, state.keys[0])


@kernel
def update_leader(state):
    """Update the leader by the statistics; returns the first and the last couple that changed."""
    first, last = greedy_leader.update(state.leader, state.stats, state.keys[0])
    if first <= last:
        state.counters[CELL] = NO_CELL
    return first, last


@kernel
def cross_pair(leader, k, cross):
    """The cross pair number `cross` of couple `k` and the next, in ascending order."""
    i = leader.order[2 * k + (cross >> 1)]
    j = leader.order[2 * k + 2 + (cross & 1)]
    return min(i, j), max(i, j)


@kernel
def note_mean(state, i, j, mean):
    """A pair (i, j), i < j, has a new mean; returns where it stands around the leader.

    That is a couple k of the leader, and the number of the pair among the cross pairs of k, or
    `COUPLE` if it is couple k itself. For all other pairs k is -1.
    """
    leader = state.leader
    x, y = leader.place[i], leader.place[j]
    if x < 0 or y < 0:
        return -1, -1
    if x >> 1 == y >> 1:
        leader.mean[x >> 1] = mean
        return x >> 1, COUPLE
    if x > y:
        x, y = y, x
    k = x >> 1
    greedy_leader.note_blocked(leader, state.keys[0], k, i, j, mean)
    return (k, 2 * (x & 1) + (y & 1)) if y >> 1 == k + 1 else (-1, -1)


@kernel
def radius(mean, tries):
    """1 / sqrt(tries), but nothing about the phantom is uncertain."""
    if mean == PHANTOM_MEAN:
        return 0.0
    return 1.0 / math.sqrt(tries) if tries > 0 else np.inf


@kernel
def wins(state, value, neighbour, best, best_neighbour):
    """Whether a neighbour takes the lead; ties are random, but the leader wins its own."""
    if value != best or best_neighbour < 0:
        return value > best
    key = word(state.keys[1], state.counters[ROUND])
    return word(key, neighbour) > word(key, best_neighbour)


@kernel
def write(leader, neighbour, couples):
    """Write a neighbour of the leader into `couples`, less the phantom's couple."""
    order = leader.order
    rows = min(leader.couple_count[0], len(couples))
    for k in range(rows):
        couples[k, 0], couples[k, 1] = order[2 * k], order[2 * k + 1]
    if neighbour >= 0:
        k, swap = neighbour >> 1, neighbour & 1
        pair, other = cross_pair(leader, k, swap), cross_pair(leader, k, 3 - swap)
        phantom = len(leader.place) - 1
        if pair[1] == phantom:  # the phantom's couple stays the last, and is not written
            pair, other = other, pair
        couples[k, 0], couples[k, 1] = pair
        if k + 1 < rows:
            couples[k + 1, 0], couples[k + 1, 1] = other
