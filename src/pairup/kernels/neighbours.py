"""Neighbours of the leader, and how often it has led: for policies that look around their leader.

Couples k and k + 1 of the leader, {i, i'} and {j, j'}, have two neighbours: swap 0 makes {i, j} and
{i', j'}, swap 1 makes {i, j'} and {i', j}. The four *cross* pairs of k stand at 2 * (side in couple
k) + (side in couple k + 1), so that a swap makes the cross pairs `swap` and 3 - `swap`. Neighbour
number 2 k + `swap` swaps at k; -1 is the leader itself.
"""

from pairup.kernels import greedy_leader, leader_counts
from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.state_layout import AVAILABLE, CELL, PRESENT, ROUND

_NO_CELL = -1  # the leader changed: its cell in the table must be looked up


@kernel
def set_players(state, players):
    """Find the leader of `players`; a state has stats, leader, keys and now."""
    state.now[AVAILABLE] = len(players)
    state.now[CELL] = _NO_CELL
    greedy_leader.set_players(state.leader, state.stats, players)
    greedy_leader.update(state.leader, state.stats, state.keys[0])


@kernel
def update_leader(state):
    """Update the leader by the statistics; returns the first and the last couple that changed."""
    first, last = greedy_leader.update(state.leader, state.stats, state.keys[0])
    if first <= last:
        state.now[CELL] = _NO_CELL
    return first, last


@kernel
def times_led(state):
    """How often the leader has led before, and count this time; -1 if the table is full."""
    now = state.now
    if now[AVAILABLE] == now[PRESENT]:
        if now[CELL] == _NO_CELL:
            key = leader_counts.fingerprint(state.leader.order, state.leader.couples[0])
            now[CELL] = leader_counts.find(state.counts, key)  # no cell again when it is full
            if now[CELL] == _NO_CELL:
                return -1
        led = state.counts.counts[now[CELL]]
        state.counts.counts[now[CELL]] = led + 1
    else:
        # When not all are available, the same leader rarely comes twice: by its count, nothing
        # would ever be explored, so the number of proposals stands in for it.
        led = now[ROUND]
    now[ROUND] += 1
    return led


@kernel
def cross_pair(leader, k, cross):
    """The cross pair number `cross` of couple `k` and the next, in ascending order."""
    i = leader.order[2 * k + (cross >> 1)]
    j = leader.order[2 * k + 2 + (cross & 1)]
    return min(i, j), max(i, j)


@kernel
def write(leader, neighbour, couples):
    """Write a neighbour of the leader into `couples`, less the phantom's couple."""
    order = leader.order
    rows = min(leader.couples[0], len(couples))
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
