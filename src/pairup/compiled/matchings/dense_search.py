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
)


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
    move_base(work, node, where)
    augment(work, work.source[where], where)
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
    u = work.first_member[node]
    while u != NOBODY:
        work.side[u] = EVEN
        work.dual[u] += work.clock[0]
        _look_around(work, vertices, node, u)
        u = next_of(work, node, u)
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
    join_odd(work, node, source, target, work.clock[0])
    if node >= vertices:
        work.due[work.base[node]] = work.clock[0] + 0.5 * work.thickness[node]


@kernel
def _shrink(work, vertices, node):
    """An edge joins two even nodes: the cycle that it closes becomes a blossom."""
    blossom = vertices
    while work.first_child[blossom] != NOBODY:
        blossom += 1
    v = work.meet_at[node]
    fork = find_fork(work, node, work.top[v])
    form_blossom(work, blossom, work.near_from[node, v], v, fork, work.clock[0])
    work.near[blossom, :vertices] = np.inf
    child, tail = fork, NOBODY
    while True:
        _adopt(work, vertices, blossom, child)
        tail = append_members(work, blossom, tail, child)
        child = work.next_child[child]
        if child == fork:
            break
    _find_meeting(work, vertices, blossom)


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
    u = work.first_member[child]
    while u != NOBODY:
        work.top[u] = blossom
        if not even:
            work.side[u] = EVEN
            work.dual[u] += 2.0 * clock
            _look_around(work, vertices, blossom, u)
        u = next_of(work, child, u)


@kernel
def _expand(work, vertices, blossom):
    """An odd blossom dissolves: its children on the even way to its base stay in the tree."""
    source, target = work.entry_from[blossom], work.entry_to[blossom]
    base = work.first_child[blossom]
    work.due[work.base[blossom]] = np.inf
    free_children(work, blossom, work.clock[0])
    x = work.top[target]
    forward = leads_forward(work, x, base)
    _make_odd(work, vertices, x, source, target)
    while x != base:
        even, x, source, target = next_two(work, x, forward)
        _make_even(work, vertices, even)
        _make_odd(work, vertices, x, source, target)


@kernel
def _stop_clock(work, vertices):
    """Write the duals of players and blossoms as they are at the end of the search."""
    clock = work.clock[0]
    for u in range(vertices):
        if work.side[u] != FREE:
            work.dual[u] += clock if work.side[u] == ODD else -clock
    for b in range(vertices, vertices + vertices // 2):
        if (
            work.first_child[b] != NOBODY
            and work.parent[b] == NOBODY
            and work.side[work.base[b]] != FREE
        ):
            grows = 1.0 if work.side[work.base[b]] == EVEN else -1.0
            work.thickness[b] = max(work.thickness[b] + 2.0 * grows * (clock - work.join[b]), 0.0)
