"""What the policies that look around their leader share: its turns and its neighbours.

Couples k and k + 1 of the leader, {i, i'} and {j, j'}, have two neighbours: swap 0 makes {i, j} and
{i', j'}, swap 1 makes {i, j'} and {i', j}. The four *cross* pairs of k stand at 2 * (side in couple
k) + (side in couple k + 1), so that a swap makes the cross pairs `swap` and 3 - `swap`. Neighbour
number 2 k + `swap` swaps at k; -1 is the leader itself.
"""

from pairup.kernels import greedy_leader as leading
from pairup.kernels import leader_counts
from pairup.kernels.runtime.compilation import kernel

# Where the numbers of a state's `now` stand: proposals so far, the leader's cell in the table of
# counts, how many players are present and how many are seated. A policy's own follow.
ROUND, CELL, PRESENT, SEATED, OWN = 0, 1, 2, 3, 4
_NO_CELL = -1  # the leader changed: its cell in the table is to be looked up


@kernel
def seat_players(state, players):
    """Seat `players` and settle their leader; a state has book, leader, keys and now."""
    phantom = len(state.leader.place) - 1
    state.now[SEATED] = len(players)
    state.now[CELL] = _NO_CELL
    leading.seat_players(state.leader, state.book, players, phantom)
    leading.settle(state.leader, state.book, state.keys[0])


@kernel
def settle(state):
    """Bring the leader up to date with the book; returns the first and last couple that changed."""
    first, last = leading.settle(state.leader, state.book, state.keys[0])
    if first <= last:
        state.now[CELL] = _NO_CELL
    return first, last


@kernel
def times_led(state):
    """How often the leader has led before, counting this time from now on; -1 if no room."""
    now = state.now
    if now[SEATED] == now[PRESENT]:
        led = _count_leader(state)
        if led < 0:
            return led
    else:
        # A passing set of players rarely has the same leader twice: its count would forbid to
        # explore for ever, so the number of proposals stands in for it.
        led = now[ROUND]
    now[ROUND] += 1
    return led


@kernel
def _count_leader(state):
    now, leader = state.now, state.leader
    if now[CELL] == _NO_CELL:
        key = leader_counts.fingerprint(leader.order, leader.couples[0])
        now[CELL] = leader_counts.find(state.counts, key)  # no cell again when it is full
        if now[CELL] == _NO_CELL:
            return -1
    led = state.counts.counts[now[CELL]]
    state.counts.counts[now[CELL]] = led + 1
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
