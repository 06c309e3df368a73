"""One search of Edmonds' algorithm on a sparse graph: it looks at the edges that there are.

The search is that of `dense_search`: a tree grows from an exposed player, a clock ticks, and what
happens next is decided by comparing times alone. Three things differ.

- Events wait in a heap. A player's edges are entered once, when the player becomes even, which it
  then remains: a search that touches k edges costs O(k log k), and players whom the tree never
  reaches cost nothing. Events may be outdated when their time comes, and are then passed over.
- No array has a place for each two players, so that the memory is linear in players and edges.
- A player may stay single, once its dual has fallen to 0. The search then ends where the first even
  player gets there: that player takes the place of the root as the one who waits. If all must be
  matched, duals may be negative and no search ends so.

Every search ends, whatever rounding does: a player is scanned once, a blossom dissolves once, and
of the rest each event makes the nodes outside the tree or the nodes in it fewer.

Long, and in one file because its steps call each other in a ring: players join the tree, their
edges are entered, cycles close, blossoms dissolve, and players join the tree.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.blossoms import (
    EVEN,
    FREE,
    NOBODY,
    ODD,
    append_members,
    augment,
    find_fork,
    form_blossom,
    free_children,
    join_odd,
    leads_forward,
    move_base,
    next_of,
    next_two,
    odd_above,
)
from pairup.compiled.state_fields import Integers, Reals

# What happens to `what`, in place of the other player whom it meets.
REACHED, DISSOLVES = -1, -2
_ENTERING = 3  # an odd player of a new blossom, which is even: its edges are still to be entered

# What a search knows beside arrays by player and node: integers in `counters`, times in `reals`.
TOUCHED, SPARE, LEAST_AT, PERFECT, FILLS, OVERFLOWS, MOST_TOUCHED = range(7)
CLOCK, END = range(2)

MATCHED, STUCK, OUT_OF_MEMORY = range(3)


@outlined
def search(work, root, latest):
    """Couple the exposed player `root`, or let another wait in its place; returns a status.

    With a finite time `latest` the clock stands still, and only what happens before that time
    does happen: `root` is coupled if that costs nothing. STUCK if it stays as it was. So it does,
    too, if the search has come across more than MOST_TOUCHED players, where that is not 0.
    """
    work.heap.size[0] = work.counters[TOUCHED] = 0
    work.counters[FILLS] = latest < np.inf
    work.reals[CLOCK], work.reals[END] = 0.0, latest
    _make_even(work, work.top[root])
    status = OUT_OF_MEMORY
    while work.counters[OVERFLOWS] == 0:
        if work.heap.size[0] == 0 or work.heap.time[0] >= work.reals[END]:
            status = _end_without_partner(work)
            break
        time, what, other = work.heap.time[0], work.heap.what[0], work.heap.other[0]
        drop_first(work.heap)
        if _holds(work, time, what, other) and _happens(work, time, what, other):
            status = MATCHED
            break
        if 0 < work.counters[MOST_TOUCHED] < work.counters[TOUCHED]:
            _stop_clock(work)
            status = STUCK
            break
    return status


@kernel
def _holds(work, time, what, other):
    """Whether an event is not outdated."""
    if other == REACHED:
        return work.side[what] == FREE and time == work.reach[what] + work.dual[what]
    if other == DISSOLVES:
        return (
            work.first_child[what] != NOBODY
            and work.parent[what] == NOBODY
            and work.side[work.base[what]] == ODD
            and time == _end_of_thickness(work, what)
        )
    return work.top[what] != work.top[other]


@kernel
def _happens(work, time, what, other):
    """Change the tree; returns whether an exposed player was found, and the root is coupled."""
    if work.counters[FILLS] == 0:
        work.reals[CLOCK] = max(work.reals[CLOCK], time)
    if other == DISSOLVES:
        _expand(work, what)
    elif other != REACHED:
        _shrink(work, what, other)
    else:
        node, source = work.top[what], work.source[what]
        partner = work.mate[work.base[node]]
        if partner == NOBODY:
            _stop_clock(work)
            _move_base(work, node, what)
            _augment(work, source, what)
            return True
        _make_odd(work, node, source, what)
        _make_even(work, work.top[partner])
    return False


@kernel
def _end_without_partner(work):
    """End a search in which no exposed player is reached in time."""
    u, end = work.counters[LEAST_AT], work.reals[END]
    if work.counters[FILLS] != 0 or end == np.inf:
        _stop_clock(work)
        return STUCK
    work.reals[CLOCK] = max(work.reals[CLOCK], end)
    _stop_clock(work)
    odd = odd_above(work, work.top[u])
    _move_base(work, work.top[u], u)
    work.mate[u], work.dual[u] = NOBODY, 0.0
    if odd != NOBODY:
        source, target = work.entry_from[odd], work.entry_to[odd]
        _move_base(work, odd, target)
        _augment(work, source, target)
    return MATCHED


@kernel
def _enter_event(work, time, what, other):
    """Await an event, if the search does not end before it."""
    if time < work.reals[END]:
        if is_full(work.heap):
            _clear_out(work)
        if is_full(work.heap):
            work.counters[OVERFLOWS] = 1
        else:
            add_event(work.heap, time, what, other)


@outlined
def _clear_out(work):
    """Keep the events that hold, each once.

    That leaves at most an event for each entry of an edge, one for each player and one for each
    blossom. Only a player can have two events, when blossoms around it have dissolved: they are
    dropped, and one is entered again.
    """
    heap, count = work.heap, work.heap.size[0]
    heap.size[0] = 0
    for k in range(count):  # never ahead of the reading
        time, what, other = heap.time[k], heap.what[k], heap.other[k]
        if other != REACHED and _holds(work, time, what, other):
            add_event(heap, time, what, other)
    for x in range(work.counters[TOUCHED]):
        v = work.touched[x]
        time = work.reach[v] + work.dual[v]
        if work.side[v] == FREE and time < work.reals[END]:
            if is_full(heap):
                work.counters[OVERFLOWS] = 1
                break
            add_event(heap, time, v, REACHED)


@kernel
def _touch(work, v):
    """Remember a player whose entries must be reset after the search."""
    if not work.seen[v]:
        work.seen[v] = True
        work.touched[work.counters[TOUCHED]] = v
        work.counters[TOUCHED] += 1


@kernel
def _touch_all(work, node):
    """Remember all players of a node."""
    u = work.first_member[node]
    while u != NOBODY:
        _touch(work, u)
        u = next_of(work, node, u)


@kernel
def _look_around(work, u):
    """Enter the edges of player `u`, now even."""
    dual = work.dual[u]
    if work.counters[PERFECT] == 0 and work.counters[FILLS] == 0 and dual < work.reals[END]:
        work.reals[END], work.counters[LEAST_AT] = dual, u
    for k in range(work.start[u], work.start[u + 1]):
        v = work.to[k]
        distance = dual - work.weight[k]
        if work.side[v] == EVEN:
            if work.top[v] != work.top[u]:
                _enter_event(work, 0.5 * (distance + work.dual[v]), u, v)
        elif distance < work.reach[v]:
            _touch(work, v)
            work.reach[v], work.source[v] = distance, u
            if work.side[v] == FREE:
                _enter_event(work, distance + work.dual[v], v, REACHED)


@kernel
def _make_even(work, node):
    """A free node joins the tree at an even distance."""
    work.join[node] = work.reals[CLOCK]
    _touch_all(work, node)
    u = work.first_member[node]
    while u != NOBODY:
        work.side[u] = EVEN
        work.dual[u] += work.reals[CLOCK]
        u = next_of(work, node, u)
    u = work.first_member[node]
    while u != NOBODY:
        _look_around(work, u)
        u = next_of(work, node, u)


@kernel
def _make_odd(work, node, source, target):
    """A free node joins the tree at an odd distance, by the edge from `source` to `target`."""
    _touch_all(work, node)
    join_odd(work, node, source, target, work.reals[CLOCK])
    if work.first_child[node] != NOBODY:
        _enter_event(work, _end_of_thickness(work, node), node, DISSOLVES)


@kernel
def _end_of_thickness(work, node):
    """When an odd blossom has no thickness left."""
    return work.join[node] + 0.5 * work.thickness[node]


@outlined
def _shrink(work, u, v):
    """An edge joins two even nodes: the cycle that it closes becomes a blossom."""
    fork = find_fork(work, work.top[u], work.top[v])
    work.counters[SPARE] -= 1
    blossom = work.spare[work.counters[SPARE]]
    form_blossom(work, blossom, u, v, fork, work.reals[CLOCK])
    _adopt_children(work, blossom)


@kernel
def _adopt_children(work, blossom):
    """Make nodes of the tree, even and odd, the parts of a new blossom, which is even."""
    clock, first, tail = work.reals[CLOCK], work.first_child[blossom], NOBODY
    child = first
    while True:
        even = work.side[work.base[child]] == EVEN
        work.parent[child] = blossom
        work.thickness[child] += 2.0 * (clock - work.join[child]) * (1.0 if even else -1.0)
        u = work.first_member[child]
        while u != NOBODY:
            work.top[u] = blossom
            if not even:
                work.side[u] = _ENTERING
                work.dual[u] += 2.0 * clock
            u = next_of(work, child, u)
        tail = append_members(work, blossom, tail, child)
        child = work.next_child[child]
        if child == first:
            break
    u = work.first_member[blossom]
    while u != NOBODY:  # all of them know by now that they are in one node
        if work.side[u] == _ENTERING:
            work.side[u] = EVEN
            _look_around(work, u)
        u = next_of(work, blossom, u)


@outlined
def _expand(work, blossom):
    """An odd blossom dissolves: its children on the even way to its base stay in the tree."""
    source, target = work.entry_from[blossom], work.entry_to[blossom]
    base = work.first_child[blossom]
    free_children(work, blossom, work.reals[CLOCK])
    work.spare[work.counters[SPARE]] = blossom
    work.counters[SPARE] += 1
    x = work.top[target]
    forward = leads_forward(work, x, base)
    _make_odd(work, x, source, target)
    while x != base:
        even, x, source, target = next_two(work, x, forward)
        _make_even(work, even)
        _make_odd(work, x, source, target)
    _await_freed(work, base)


@kernel
def _await_freed(work, first):
    """Await again that players are reached whom a dissolved blossom has left outside the tree."""
    child = first
    while True:
        u = work.first_member[child]
        while u != NOBODY and work.side[u] == FREE:
            _enter_event(work, work.reach[u] + work.dual[u], u, REACHED)
            u = next_of(work, child, u)
        child = work.next_child[child]
        if child == first:
            break


@outlined
def _stop_clock(work):
    """Write the duals as they are at the end of the search, and forget the tree."""
    clock = work.reals[CLOCK]
    least = -np.inf if work.counters[PERFECT] != 0 else 0.0
    for x in range(work.counters[TOUCHED]):
        u = work.touched[x]
        if work.side[u] != FREE:
            grows = 1.0 if work.side[u] == EVEN else -1.0
            work.dual[u] = max(work.dual[u] - grows * clock, least)
            node = work.top[u]
            if work.base[node] == u and work.first_child[node] != NOBODY:
                thickness = work.thickness[node] + 2.0 * grows * (clock - work.join[node])
                work.thickness[node] = max(thickness, 0.0)
        work.side[u], work.reach[u], work.seen[u] = FREE, np.inf, False


@outlined
def _augment(work, u, v):
    """As `augment`, called."""
    augment(work, u, v)


@outlined
def _move_base(work, node, base):
    """As `move_base`, called."""
    move_base(work, node, base)


# --- the heap of events ---------------------------------------------------------------------------


class EventHeap(NamedTuple):
    """The events that a search awaits: a binary heap, the earliest first.

    What is at 2 k + 1 and 2 k + 2 is not earlier than what is at k. An event is entered when its
    time is known and never withdrawn: whether it still holds is asked when its time has come. What
    a search enters is bounded but for one kind, the players of blossoms that dissolve; when the
    heap is full, what holds no longer is therefore cleared out.
    """

    time: np.ndarray = Reals("events")
    what: np.ndarray = Integers("events")
    other: np.ndarray = Integers("events")
    size: np.ndarray = Integers(1)


@kernel
def is_full(heap):
    """Whether there is no room for one more event."""
    return heap.size[0] == len(heap.time)


@kernel
def add_event(heap, time, what, other):
    """Enter an event into a heap that is not full."""
    k = heap.size[0]
    heap.size[0] = k + 1
    while k > 0:
        above = (k - 1) >> 1
        if heap.time[above] <= time:
            break
        _copy_event(heap, above, k)
        k = above
    heap.time[k], heap.what[k], heap.other[k] = time, what, other


@kernel
def drop_first(heap):
    """Remove the earliest event; ties fall as the heap has them."""
    count = heap.size[0] - 1
    heap.size[0] = count
    time, what, other = heap.time[count], heap.what[count], heap.other[count]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and heap.time[child + 1] < heap.time[child]:
            child += 1
        if heap.time[child] >= time:
            break
        _copy_event(heap, child, k)
        k = child
    heap.time[k], heap.what[k], heap.other[k] = time, what, other


@kernel
def _copy_event(heap, source, target):
    heap.time[target], heap.what[target] = heap.time[source], heap.what[source]
    heap.other[target] = heap.other[source]
