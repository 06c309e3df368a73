"""One search of Edmonds' algorithm: an exposed player is coupled, at the least cost in dual value.

The tree grows from an exposed player over *nodes*: players, and blossoms (odd sets of nodes in a
cycle). Nodes at an even distance from the root lose dual value as the clock of the search ticks,
nodes at an odd distance gain it, so that one edge after another becomes tight. What happens next
is decided by comparing times alone, and what has happened is remembered in the tree, never tested
again as "this slack is zero": rounding can shift a time by its last bits, but every search ends.

A player's dual is kept as it would read at time 0 with its present side. A row `near[node]` holds
the least dual less weight of a node's players towards each player. All players of a node lose dual
value together, so merging rows on a shrink keeps it right: a search costs O(n^2).
"""

import numpy as np

from pairup.compiled.kernels import kernel, outlined

FREE, EVEN, ODD = 0, 1, 2
NOBODY = -1


@outlined
def search(work, vertices, root):
    """Couple the exposed player `root`; False if forbidden couples leave no way."""
    clock = work.clock
    clock[0] = 0.0
    for v in range(vertices):
        work.side[v], work.reach[v], work.due[v] = FREE, np.inf, np.inf
    _make_even(work, vertices, work.top[root])
    while True:
        time, where = _next_event(work, vertices)
        if time == np.inf:
            return False
        clock[0] = max(clock[0], time)
        node = work.top[where]
        if work.side[where] == EVEN:
            _shrink(work, vertices, node)
        elif work.side[where] == ODD:
            _expand(work, vertices, node)
        else:
            partner = work.mate[work.base[node]]
            if partner == NOBODY:
                break
            _make_odd(work, vertices, node, work.source[where], where)
            _make_even(work, vertices, work.top[partner])
    _stop_clock(work, vertices)
    _augment(work, work.source[where], where)
    return True


@kernel
def _next_event(work, vertices):
    """The time of the next event, and the player at which it happens.

    A free player is reached, an even node meets another, an odd blossom dissolves: nodes of the
    tree keep their time at their base.
    """
    time, where = np.inf, 0
    for v in range(vertices):
        reached, due = work.reach[v] + work.dual[v], work.due[v]
        due = reached if work.side[v] == FREE else due
        where = v if due < time else where
        time = due if due < time else time
    return time, where


@kernel
def _make_even(work, vertices, node):
    """A free node joins the tree at an even distance."""
    work.join[node] = work.clock[0]
    work.near[node, :vertices] = np.inf
    for x in range(work.size[node]):
        u = work.members[node, x]
        work.side[u] = EVEN
        work.dual[u] += work.clock[0]
        _look_around(work, vertices, node, u)
    _find_meeting(work, vertices, node)


@kernel
def _look_around(work, vertices, node, u):
    """Enter the edges of player `u`, now even and in `node`."""
    dual = work.dual[u]
    for v in range(vertices):
        distance = dual - work.weight[u, v]
        near, near_from = work.near[node, v], work.near_from[node, v]
        reach, source = work.reach[v], work.source[v]
        work.near[node, v] = distance if distance < near else near
        work.near_from[node, v] = u if distance < near else near_from
        work.reach[v] = distance if distance < reach else reach
        work.source[v] = u if distance < reach else source


@kernel
def _find_meeting(work, vertices, node):
    """When and where an even node meets another; the one that came later keeps the meeting."""
    least, where = np.inf, NOBODY
    for v in range(vertices):
        distance = work.near[node, v] + work.dual[v]
        meets = (work.side[v] == EVEN) & (work.top[v] != node) & (distance < least)
        where = v if meets else where
        least = distance if meets else least
    work.due[work.base[node]], work.meet_at[node] = 0.5 * least, where


@kernel
def _make_odd(work, vertices, node, source, target):
    """A free node joins the tree at an odd distance, by the edge from `source` to `target`."""
    work.join[node] = work.clock[0]
    work.entry_from[node], work.entry_to[node] = source, target
    for x in range(work.size[node]):
        u = work.members[node, x]
        work.side[u] = ODD
        work.dual[u] -= work.clock[0]
    if node >= vertices:
        work.due[work.base[node]] = work.clock[0] + 0.5 * work.thickness[node]


@kernel
def odd_above(work, node):
    """The odd node through which an even node is reached, NOBODY for the root."""
    partner = work.mate[work.base[node]]
    return work.top[partner] if partner != NOBODY else NOBODY


@kernel
def even_above(work, node):
    """The even node above an even node, NOBODY for the root."""
    odd = odd_above(work, node)
    return work.top[work.entry_from[odd]] if odd != NOBODY else NOBODY


@kernel
def _shrink(work, vertices, node):
    """An edge joins two even nodes: the cycle that it closes becomes a blossom."""
    blossom = vertices
    while work.size[blossom] > 0:
        blossom += 1
    v = work.meet_at[node]
    u = work.near_from[node, v]
    fork, depth = _fork(work, node, work.top[v])
    _close_cycle(work, blossom, u, v, fork, depth)
    work.parent[blossom], work.base[blossom] = NOBODY, work.base[fork]
    work.join[blossom], work.thickness[blossom] = work.clock[0], 0.0
    work.size[blossom] = 0
    work.near[blossom, :vertices] = np.inf
    for k in range(work.child_count[blossom]):
        _adopt(work, vertices, blossom, work.children[blossom, k])
    _find_meeting(work, vertices, blossom)


@kernel
def _fork(work, node, other):
    """The even node where the paths to the root meet, and how many even nodes below it `node` is.

    The path of `node` is marked by its depth, then that of `other` is climbed until a mark.
    """
    depth, x = 0, node
    while x != NOBODY:
        work.mark[x], depth, x = depth, depth + 1, even_above(work, x)
    fork = other
    while work.mark[fork] < 0:
        fork = even_above(work, fork)
    found, x = work.mark[fork], node
    while x != NOBODY:
        work.mark[x], x = NOBODY, even_above(work, x)
    return fork, found


@kernel
def _close_cycle(work, blossom, u, v, fork, depth):
    """List the nodes from the fork to that of `u`, then from that of `v` back to the fork."""
    children = work.children[blossom]
    x = work.top[u]
    for k in range(2 * depth, 0, -2):
        odd = odd_above(work, x)
        children[k], children[k - 1] = x, odd
        _set_link(work, blossom, k - 1, work.mate[work.base[x]], work.base[x])
        _set_link(work, blossom, k - 2, work.entry_from[odd], work.entry_to[odd])
        x = even_above(work, x)
    children[0], k = fork, 2 * depth
    _set_link(work, blossom, k, u, v)
    x = work.top[v]
    while x != fork:
        odd = odd_above(work, x)
        children[k + 1], children[k + 2] = x, odd
        _set_link(work, blossom, k + 1, work.base[x], work.mate[work.base[x]])
        _set_link(work, blossom, k + 2, work.entry_to[odd], work.entry_from[odd])
        k += 2
        x = even_above(work, x)
    work.child_count[blossom] = k + 1


@kernel
def _set_link(work, blossom, k, source, target):
    """Child `k` of a blossom is joined to the next one by the edge from `source` to `target`."""
    work.link_from[blossom, k], work.link_to[blossom, k] = source, target


@kernel
def _adopt(work, vertices, blossom, child):
    """Make a node of the tree, even or odd, a part of a new blossom, which is even."""
    clock = work.clock[0]
    even = work.side[work.base[child]] == EVEN
    work.parent[child], work.due[work.base[child]] = blossom, np.inf
    work.thickness[child] += 2.0 * (clock - work.join[child]) * (1.0 if even else -1.0)
    if even:
        for v in range(vertices):
            near, near_from = work.near[blossom, v], work.near_from[blossom, v]
            other, other_from = work.near[child, v], work.near_from[child, v]
            work.near[blossom, v] = other if other < near else near
            work.near_from[blossom, v] = other_from if other < near else near_from
    for x in range(work.size[child]):
        u = work.members[child, x]
        work.members[blossom, work.size[blossom]] = u
        work.size[blossom] += 1
        work.top[u] = blossom
        if not even:
            work.side[u] = EVEN
            work.dual[u] += 2.0 * clock
            _look_around(work, vertices, blossom, u)


@kernel
def _expand(work, vertices, blossom):
    """An odd blossom dissolves: its children on the even way to its base stay in the tree."""
    children, count = work.children[blossom], work.child_count[blossom]
    source, target = work.entry_from[blossom], work.entry_to[blossom]
    for k in range(count):  # all leave the blossom and the tree
        child = children[k]
        work.parent[child] = NOBODY
        for x in range(work.size[child]):
            u = work.members[child, x]
            work.top[u], work.side[u], work.due[u] = child, FREE, np.inf
            work.dual[u] += work.clock[0]
    k, step = 0, 1
    while children[k] != work.top[target]:
        k += 1
    if k % 2 == 0:
        step = -1
    work.size[blossom] = 0
    _make_odd(work, vertices, children[k], source, target)
    while k != 0:
        even, k = k + step, (k + 2 * step) % count
        if step > 0:
            source, target = work.link_from[blossom, even], work.link_to[blossom, even]
        else:
            source, target = work.link_to[blossom, k], work.link_from[blossom, k]
        _make_even(work, vertices, children[even])
        _make_odd(work, vertices, children[k], source, target)


@kernel
def _stop_clock(work, vertices):
    """Write the duals of players and blossoms as they are at the end of the search."""
    clock = work.clock[0]
    for u in range(vertices):
        if work.side[u] != FREE:
            work.dual[u] += clock if work.side[u] == ODD else -clock
    for b in range(vertices, vertices + vertices // 2):
        if work.size[b] > 0 and work.parent[b] == NOBODY and work.side[work.base[b]] != FREE:
            grows = 1.0 if work.side[work.base[b]] == EVEN else -1.0
            work.thickness[b] = max(work.thickness[b] + 2.0 * grows * (clock - work.join[b]), 0.0)


@kernel
def _augment(work, u, v):
    """Couple even player `u` with exposed `v`, and re-couple all the way up to the root."""
    _move_base(work, work.top[v], v)
    while True:
        odd = odd_above(work, work.top[u])
        _move_base(work, work.top[u], u)
        work.mate[u], work.mate[v] = v, u
        if odd == NOBODY:
            break
        u, v = work.entry_from[odd], work.entry_to[odd]
        _move_base(work, odd, v)


@kernel
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
        _turn(work, node, child)
        work.base[node] = base
        waiting += 1
        stack[waiting, 0], stack[waiting, 1] = child, base
        for k in range(1, work.child_count[node], 2):
            u, v = work.link_from[node, k], work.link_to[node, k]
            work.mate[u], work.mate[v] = v, u
            stack[waiting + 1, 0], stack[waiting + 1, 1] = work.children[node, k], u
            stack[waiting + 2, 0], stack[waiting + 2, 1] = work.children[node, k + 1], v
            waiting += 2


@kernel
def _turn(work, blossom, first):
    """Turn the cycle of a blossom so that `first` comes first."""
    count, spare = work.child_count[blossom], work.spare
    start = 0
    while work.children[blossom, start] != first:
        start += 1
    for k in range(count):
        spare[0, k] = work.children[blossom, k]
        spare[1, k], spare[2, k] = work.link_from[blossom, k], work.link_to[blossom, k]
    for k in range(count):
        old = (start + k) % count
        work.children[blossom, k] = spare[0, old]
        _set_link(work, blossom, k, spare[1, old], spare[2, old])
