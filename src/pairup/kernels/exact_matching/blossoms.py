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

from pairup.kernels.runtime.compilation import kernel, outlined

FREE, EVEN, ODD = 0, 1, 2
NOBODY = -1


@outlined
def search(room, seats, root):
    """Couple the exposed player at seat `root`; False if forbidden couples leave no way."""
    clock = room.clock
    clock[0] = 0.0
    _forget_tree(room, seats)
    _make_even(room, seats, room.top[root])
    while True:
        time, where = _next_event(room, seats)
        if time == np.inf:
            return False
        clock[0] = max(clock[0], time)
        node = room.top[where]
        if room.side[where] == EVEN:
            _shrink(room, seats, node)
        elif room.side[where] == ODD:
            _expand(room, seats, node)
        else:
            partner = room.mate[room.base[node]]
            if partner == NOBODY:
                break
            _make_odd(room, seats, node, room.source[where], where)
            _make_even(room, seats, room.top[partner])
    _stop_clock(room, seats)
    _augment(room, room.source[where], where)
    return True


@kernel
def _forget_tree(room, seats):
    for v in range(seats):
        room.side[v], room.reach[v], room.due[v] = FREE, np.inf, np.inf


@kernel
def _next_event(room, seats):
    """The time of the next event, and the player whom it concerns.

    A free player is reached, an even node meets another, an odd blossom is worn away: nodes of the
    tree keep their time at their base.
    """
    time, where = np.inf, 0
    for v in range(seats):
        reached, due = room.reach[v] + room.dual[v], room.due[v]
        due = reached if room.side[v] == FREE else due
        where = v if due < time else where
        time = due if due < time else time
    return time, where


@kernel
def _make_even(room, seats, node):
    """A free node joins the tree at an even distance."""
    room.join[node] = room.clock[0]
    room.near[node, :seats] = np.inf
    for x in range(room.size[node]):
        u = room.members[node, x]
        room.side[u] = EVEN
        room.dual[u] += room.clock[0]
        _look_around(room, seats, node, u)
    _find_meeting(room, seats, node)


@kernel
def _look_around(room, seats, node, u):
    """Enter the edges of player `u`, now even and in `node`."""
    dual = room.dual[u]
    for v in range(seats):
        distance = dual - room.weight[u, v]
        near, near_from = room.near[node, v], room.near_from[node, v]
        reach, source = room.reach[v], room.source[v]
        room.near[node, v] = distance if distance < near else near
        room.near_from[node, v] = u if distance < near else near_from
        room.reach[v] = distance if distance < reach else reach
        room.source[v] = u if distance < reach else source


@kernel
def _find_meeting(room, seats, node):
    """When and where an even node meets another; the one that came later keeps the meeting."""
    least, where = np.inf, NOBODY
    for v in range(seats):
        distance = room.near[node, v] + room.dual[v]
        meets = (room.side[v] == EVEN) & (room.top[v] != node) & (distance < least)
        where = v if meets else where
        least = distance if meets else least
    room.due[room.base[node]], room.meet_at[node] = 0.5 * least, where


@kernel
def _make_odd(room, seats, node, source, target):
    """A free node joins the tree at an odd distance, by the edge from `source` to `target`."""
    room.join[node] = room.clock[0]
    room.entry_from[node], room.entry_to[node] = source, target
    for x in range(room.size[node]):
        u = room.members[node, x]
        room.side[u] = ODD
        room.dual[u] -= room.clock[0]
    if node >= seats:
        room.due[room.base[node]] = room.clock[0] + 0.5 * room.thickness[node]


@kernel
def _odd_above(room, node):
    """The odd node through which an even node is reached, NOBODY for the root."""
    partner = room.mate[room.base[node]]
    return room.top[partner] if partner != NOBODY else NOBODY


@kernel
def _even_above(room, node):
    odd = _odd_above(room, node)
    return room.top[room.entry_from[odd]] if odd != NOBODY else NOBODY


@kernel
def _shrink(room, seats, node):
    """An edge joins two even nodes: the cycle that it closes becomes a blossom."""
    blossom = seats
    while room.size[blossom] > 0:
        blossom += 1
    v = room.meet_at[node]
    u = room.near_from[node, v]
    fork, depth = _fork(room, node, room.top[v])
    _close_cycle(room, blossom, u, v, fork, depth)
    room.parent[blossom], room.base[blossom] = NOBODY, room.base[fork]
    room.join[blossom], room.thickness[blossom] = room.clock[0], 0.0
    room.size[blossom] = 0
    room.near[blossom, :seats] = np.inf
    for k in range(room.kid_count[blossom]):
        _adopt(room, seats, blossom, room.kids[blossom, k])
    _find_meeting(room, seats, blossom)


@kernel
def _fork(room, node, other):
    """The even node where the paths to the root meet, and how many even nodes below it `node` is.

    The path of `node` is marked by its depth, then that of `other` is climbed until a mark.
    """
    depth, x = 0, node
    while x != NOBODY:
        room.mark[x], depth, x = depth, depth + 1, _even_above(room, x)
    fork = other
    while room.mark[fork] < 0:
        fork = _even_above(room, fork)
    found, x = room.mark[fork], node
    while x != NOBODY:
        room.mark[x], x = NOBODY, _even_above(room, x)
    return fork, found


@kernel
def _close_cycle(room, blossom, u, v, fork, depth):
    """List the nodes from the fork to that of `u`, then from that of `v` back to the fork."""
    kids = room.kids[blossom]
    x = room.top[u]
    for k in range(2 * depth, 0, -2):
        odd = _odd_above(room, x)
        kids[k], kids[k - 1] = x, odd
        _set_link(room, blossom, k - 1, room.mate[room.base[x]], room.base[x])
        _set_link(room, blossom, k - 2, room.entry_from[odd], room.entry_to[odd])
        x = _even_above(room, x)
    kids[0], k = fork, 2 * depth
    _set_link(room, blossom, k, u, v)
    x = room.top[v]
    while x != fork:
        odd = _odd_above(room, x)
        kids[k + 1], kids[k + 2] = x, odd
        _set_link(room, blossom, k + 1, room.base[x], room.mate[room.base[x]])
        _set_link(room, blossom, k + 2, room.entry_to[odd], room.entry_from[odd])
        k += 2
        x = _even_above(room, x)
    room.kid_count[blossom] = k + 1


@kernel
def _set_link(room, blossom, k, source, target):
    """Kid `k` of a blossom is joined to the next one by the edge from `source` to `target`."""
    room.link_from[blossom, k], room.link_to[blossom, k] = source, target


@kernel
def _adopt(room, seats, blossom, kid):
    """Make a node of the tree, even or odd, a part of a new blossom, which is even."""
    clock = room.clock[0]
    even = room.side[room.base[kid]] == EVEN
    room.parent[kid], room.due[room.base[kid]] = blossom, np.inf
    room.thickness[kid] += 2.0 * (clock - room.join[kid]) * (1.0 if even else -1.0)
    if even:
        for v in range(seats):
            near, near_from = room.near[blossom, v], room.near_from[blossom, v]
            other, other_from = room.near[kid, v], room.near_from[kid, v]
            room.near[blossom, v] = other if other < near else near
            room.near_from[blossom, v] = other_from if other < near else near_from
    for x in range(room.size[kid]):
        u = room.members[kid, x]
        room.members[blossom, room.size[blossom]] = u
        room.size[blossom] += 1
        room.top[u] = blossom
        if not even:
            room.side[u] = EVEN
            room.dual[u] += 2.0 * clock
            _look_around(room, seats, blossom, u)


@kernel
def _expand(room, seats, blossom):
    """An odd blossom is worn away: its kids on the even way to its base stay in the tree."""
    kids, count = room.kids[blossom], room.kid_count[blossom]
    source, target = room.entry_from[blossom], room.entry_to[blossom]
    for k in range(count):
        _let_go(room, kids[k])
    k, step = 0, 1
    while kids[k] != room.top[target]:
        k += 1
    if k % 2 == 0:
        step = -1
    room.size[blossom] = 0
    _make_odd(room, seats, kids[k], source, target)
    while k != 0:
        even, k = k + step, (k + 2 * step) % count
        if step > 0:
            source, target = room.link_from[blossom, even], room.link_to[blossom, even]
        else:
            source, target = room.link_to[blossom, k], room.link_from[blossom, k]
        _make_even(room, seats, kids[even])
        _make_odd(room, seats, kids[k], source, target)


@kernel
def _let_go(room, kid):
    """A node leaves an odd blossom and the tree."""
    room.parent[kid] = NOBODY
    for x in range(room.size[kid]):
        u = room.members[kid, x]
        room.top[u], room.side[u], room.due[u] = kid, FREE, np.inf
        room.dual[u] += room.clock[0]


@kernel
def _stop_clock(room, seats):
    """Write the duals of players and blossoms as they are at the end of the search."""
    clock = room.clock[0]
    for u in range(seats):
        if room.side[u] != FREE:
            room.dual[u] += clock if room.side[u] == ODD else -clock
    for b in range(seats, seats + seats // 2):
        if room.size[b] > 0 and room.parent[b] == NOBODY and room.side[room.base[b]] != FREE:
            grows = 1.0 if room.side[room.base[b]] == EVEN else -1.0
            room.thickness[b] = max(room.thickness[b] + 2.0 * grows * (clock - room.join[b]), 0.0)


@kernel
def _augment(room, u, v):
    """Couple even player `u` with exposed `v`, and re-couple all the way up to the root."""
    _move_base(room, room.top[v], v)
    while True:
        odd = _odd_above(room, room.top[u])
        _move_base(room, room.top[u], u)
        room.mate[u], room.mate[v] = v, u
        if odd == NOBODY:
            break
        u, v = room.entry_from[odd], room.entry_to[odd]
        _move_base(room, odd, v)


@kernel
def _move_base(room, node, base):
    """Make `base` the player of a node who is coupled outside it, and the blossoms in it alike."""
    stack, waiting = room.stack, 0
    stack[0, 0], stack[0, 1] = node, base
    while waiting >= 0:
        node, base = stack[waiting, 0], stack[waiting, 1]
        waiting -= 1
        if room.base[node] == base:
            continue
        kid = base
        while room.parent[kid] != node:
            kid = room.parent[kid]
        _turn(room, node, kid)
        room.base[node] = base
        waiting += 1
        stack[waiting, 0], stack[waiting, 1] = kid, base
        for k in range(1, room.kid_count[node], 2):
            u, v = room.link_from[node, k], room.link_to[node, k]
            room.mate[u], room.mate[v] = v, u
            stack[waiting + 1, 0], stack[waiting + 1, 1] = room.kids[node, k], u
            stack[waiting + 2, 0], stack[waiting + 2, 1] = room.kids[node, k + 1], v
            waiting += 2


@kernel
def _turn(room, blossom, first):
    """Turn the cycle of a blossom so that `first` comes first."""
    count, spare = room.kid_count[blossom], room.spare
    start = 0
    while room.kids[blossom, start] != first:
        start += 1
    for k in range(count):
        spare[0, k] = room.kids[blossom, k]
        spare[1, k], spare[2, k] = room.link_from[blossom, k], room.link_to[blossom, k]
    for k in range(count):
        old = (start + k) % count
        room.kids[blossom, k] = spare[0, old]
        _set_link(room, blossom, k, spare[1, old], spare[2, old])
