"""One search of Edmonds' algorithm on a sparse graph: it looks at the edges that there are.

The search is that of `blossom_search`: a tree grows from an exposed player, a clock ticks, and what
happens next is decided by comparing times alone. Three things differ.

- Events wait in a heap. A player's edges are entered once, when the player becomes even, which it
  then remains: a search that touches k edges costs O(k log k), and players whom the tree never
  reaches cost nothing. Events may be outdated when their time comes, and are then passed over.
- The nodes of a blossom are a linked cycle and its players a linked list, so that the memory is
  linear in players and edges.
- A player may stay single, once its dual has fallen to 0. The search then ends where the first even
  player gets there: that player takes the place of the root as the one who waits. If all must be
  matched, duals may be negative and no search ends so.

Every search ends, whatever rounding does: a player is scanned once, a blossom dissolves once, and
of the rest each event makes the nodes outside the tree or the nodes in it fewer.

Long, and in one file because its steps call each other in a ring: players join the tree, their
edges are entered, cycles close, blossoms dissolve, and players join the tree.
"""

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.blossom_search import EVEN, FREE, NOBODY, ODD, even_above, odd_above
from pairup.compiled.matchings.event_heap import DISSOLVES, REACHED, add_event, drop_first, is_full

_ENTERING = 3  # an odd player of a new blossom, which is even: its edges are still to be entered

# What a search knows beside arrays by player and node: integers in `counters`, times in `reals`.
TOUCHED, SPARE, LEAST_AT, PERFECT, FILLS, OVERFLOWS = range(6)
CLOCK, END = range(2)

MATCHED, STUCK, OUT_OF_MEMORY = range(3)


@outlined
def search(work, root, latest):
    """Couple the exposed player `root`, or let another wait in its place; returns a status.

    With a finite time `latest` the clock stands still, and only what happens before that time
    does happen: `root` is coupled if that costs nothing. STUCK if it stays as it was.
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
    u = work.first_member[node]
    while u != NOBODY:
        _touch(work, u)
        work.side[u] = EVEN
        work.dual[u] += work.reals[CLOCK]
        u = _next_of(work, node, u)
    u = work.first_member[node]
    while u != NOBODY:
        _look_around(work, u)
        u = _next_of(work, node, u)


@kernel
def _make_odd(work, node, source, target):
    """A free node joins the tree at an odd distance, by the edge from `source` to `target`."""
    work.join[node] = work.reals[CLOCK]
    work.entry_from[node], work.entry_to[node] = source, target
    u = work.first_member[node]
    while u != NOBODY:
        _touch(work, u)
        work.side[u] = ODD
        work.dual[u] -= work.reals[CLOCK]
        u = _next_of(work, node, u)
    if work.first_child[node] != NOBODY:
        _enter_event(work, _end_of_thickness(work, node), node, DISSOLVES)


@kernel
def _next_of(work, node, u):
    """The player after `u` in the list of a node, NOBODY after the last."""
    return work.next_member[u] if u != work.last_member[node] else NOBODY


@kernel
def _end_of_thickness(work, node):
    """When an odd blossom has no thickness left."""
    return work.join[node] + 0.5 * work.thickness[node]


@outlined
def _fork(work, node, other):
    """The even node where the paths to the root meet.

    Both are climbed in turn, so that it costs no more than the length of the cycle that closes.
    """
    work.mark[node], work.mark[other] = 1, 2
    fork, a, b = NOBODY, node, other
    while fork == NOBODY:
        if a != NOBODY:
            a = even_above(work, a)
            if a != NOBODY and work.mark[a] == 2:
                fork = a
            elif a != NOBODY:
                work.mark[a] = 1
        if b != NOBODY and fork == NOBODY:
            b = even_above(work, b)
            if b != NOBODY and work.mark[b] == 1:
                fork = b
            elif b != NOBODY:
                work.mark[b] = 2
    for start in (node, other):
        x = start
        while x != NOBODY and work.mark[x] != NOBODY:
            work.mark[x], x = NOBODY, even_above(work, x)
    return fork


@outlined
def _shrink(work, u, v):
    """An edge joins two even nodes: the cycle that it closes becomes a blossom."""
    fork = _fork(work, work.top[u], work.top[v])
    work.counters[SPARE] -= 1
    blossom = work.spare[work.counters[SPARE]]
    x = work.top[u]
    while x != fork:  # the cycle runs down from the fork to `u` ...
        odd = odd_above(work, x)
        _link(work, odd, x, work.mate[work.base[x]], work.base[x])
        above = work.top[work.entry_from[odd]]
        _link(work, above, odd, work.entry_from[odd], work.entry_to[odd])
        x = above
    _link(work, work.top[u], work.top[v], u, v)
    x = work.top[v]
    while x != fork:  # ... and from `v` up to it again
        odd = odd_above(work, x)
        _link(work, x, odd, work.base[x], work.mate[work.base[x]])
        above = work.top[work.entry_from[odd]]
        _link(work, odd, above, work.entry_to[odd], work.entry_from[odd])
        x = above
    work.parent[blossom], work.base[blossom] = NOBODY, work.base[fork]
    work.first_child[blossom] = fork
    work.join[blossom], work.thickness[blossom] = work.reals[CLOCK], 0.0
    _adopt_children(work, blossom)


@kernel
def _link(work, child, following, source, target):
    """In the cycle of a blossom the edge from `source` to `target` joins a child to the next."""
    work.next_child[child], work.previous_child[following] = following, child
    work.link_from[child], work.link_to[child] = source, target


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
            u = _next_of(work, child, u)
        if tail == NOBODY:
            work.first_member[blossom] = work.first_member[child]
        else:
            work.next_member[tail] = work.first_member[child]
        tail = work.last_member[child]
        child = work.next_child[child]
        if child == first:
            break
    work.last_member[blossom] = tail
    u = work.first_member[blossom]
    while u != NOBODY:  # all of them know by now that they are in one node
        if work.side[u] == _ENTERING:
            work.side[u] = EVEN
            _look_around(work, u)
        u = _next_of(work, blossom, u)


@outlined
def _expand(work, blossom):
    """An odd blossom dissolves: its children on the even way to its base stay in the tree."""
    source, target = work.entry_from[blossom], work.entry_to[blossom]
    base = work.first_child[blossom]
    _free_children(work, blossom)
    x, steps = work.top[target], 0
    while x != base:
        x, steps = work.next_child[x], steps + 1
    forward = steps % 2 == 0
    x = work.top[target]
    _make_odd(work, x, source, target)
    while x != base:
        even = work.next_child[x] if forward else work.previous_child[x]
        odd = work.next_child[even] if forward else work.previous_child[even]
        _make_even(work, even)
        if forward:
            _make_odd(work, odd, work.link_from[even], work.link_to[even])
        else:
            _make_odd(work, odd, work.link_to[odd], work.link_from[odd])
        x = odd
    _await_freed(work, base)


@kernel
def _free_children(work, blossom):
    """Let the children of a blossom that dissolves leave it and the tree."""
    first = work.first_child[blossom]
    child = first
    while True:
        work.parent[child] = NOBODY
        u = work.first_member[child]
        while u != NOBODY:
            work.top[u], work.side[u] = child, FREE
            work.dual[u] += work.reals[CLOCK]
            u = _next_of(work, child, u)
        child = work.next_child[child]
        if child == first:
            break
    work.first_child[blossom] = NOBODY
    work.spare[work.counters[SPARE]] = blossom
    work.counters[SPARE] += 1


@kernel
def _await_freed(work, first):
    """Await again that players are reached whom a dissolved blossom has left outside the tree."""
    child = first
    while True:
        u = work.first_member[child]
        while u != NOBODY and work.side[u] == FREE:
            _enter_event(work, work.reach[u] + work.dual[u], u, REACHED)
            u = _next_of(work, child, u)
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
    """Couple even player `u` with `v`, and re-couple all the way up to the root."""
    while True:
        odd = odd_above(work, work.top[u])
        _move_base(work, work.top[u], u)
        work.mate[u], work.mate[v] = v, u
        if odd == NOBODY:
            break
        u, v = work.entry_from[odd], work.entry_to[odd]
        _move_base(work, odd, v)


@outlined
def _move_base(work, node, base):
    """Make `base` the player of a node who is coupled outside it, and of the blossoms in it too."""
    stack, waiting = work.stack, 0
    stack[0, 0], stack[0, 1] = node, base
    while waiting >= 0:
        node, base = stack[waiting, 0], stack[waiting, 1]
        waiting -= 1
        if work.base[node] == base:
            continue
        child = base
        while work.parent[child] != node:
            child = work.parent[child]
        work.first_child[node], work.base[node] = child, base
        waiting += 1
        stack[waiting, 0], stack[waiting, 1] = child, base
        x = work.next_child[child]
        while x != child:
            u, v = work.link_from[x], work.link_to[x]
            work.mate[u], work.mate[v] = v, u
            y = work.next_child[x]
            stack[waiting + 1, 0], stack[waiting + 1, 1] = x, u
            stack[waiting + 2, 0], stack[waiting + 2, 1] = y, v
            waiting += 2
            x = work.next_child[y]
