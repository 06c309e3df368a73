"""Blossoms: odd sets of nodes in a cycle, as both searches have them, dense and sparse.

A *node* is a player, or a blossom of nodes. The nodes of a search tree stand at an even or an odd
distance from its root. The players of a node are a list, from `first_member` to `last_member` along
`next_member`. The children of a blossom are a ring, from the one with the base at `first_child`
along `next_child`, and each child has the edge that leads to the next.
"""

from pairup.compiled.kernels import kernel

FREE, EVEN, ODD = 0, 1, 2
NOBODY = -1


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
def next_of(work, node, u):
    """The player after `u` in the list of a node, NOBODY after the last."""
    return work.next_member[u] if u != work.last_member[node] else NOBODY


@kernel
def find_fork(work, node, other):
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


@kernel
def _close_cycle(work, u, v, fork):
    """Make a ring of the nodes from the fork down to that of `u`, and from that of `v` up again."""
    x = work.top[u]
    while x != fork:
        odd = odd_above(work, x)
        _link(work, odd, x, work.mate[work.base[x]], work.base[x])
        above = work.top[work.entry_from[odd]]
        _link(work, above, odd, work.entry_from[odd], work.entry_to[odd])
        x = above
    _link(work, work.top[u], work.top[v], u, v)
    x = work.top[v]
    while x != fork:
        odd = odd_above(work, x)
        _link(work, x, odd, work.base[x], work.mate[work.base[x]])
        above = work.top[work.entry_from[odd]]
        _link(work, odd, above, work.entry_to[odd], work.entry_from[odd])
        x = above


@kernel
def _link(work, child, following, source, target):
    """In the cycle of a blossom the edge from `source` to `target` joins a child to the next."""
    work.next_child[child], work.previous_child[following] = following, child
    work.link_from[child], work.link_to[child] = source, target


@kernel
def form_blossom(work, blossom, u, v, fork, clock):
    """Make a blossom of the cycle that the edge from `u` to `v` closes; it joins the tree."""
    _close_cycle(work, u, v, fork)
    work.parent[blossom], work.base[blossom] = NOBODY, work.base[fork]
    work.first_child[blossom] = fork
    work.join[blossom], work.thickness[blossom] = clock, 0.0


@kernel
def free_children(work, blossom, clock):
    """Take the children of an odd blossom that dissolves out of it and of the tree."""
    first = work.first_child[blossom]
    child = first
    while True:
        work.parent[child] = NOBODY
        u = work.first_member[child]
        while u != NOBODY:
            work.top[u], work.side[u] = child, FREE
            work.dual[u] += clock
            u = next_of(work, child, u)
        child = work.next_child[child]
        if child == first:
            break
    work.first_child[blossom] = NOBODY


@kernel
def join_odd(work, node, source, target, clock):
    """A free node joins the tree at an odd distance, by the edge from `source` to `target`."""
    work.join[node] = clock
    work.entry_from[node], work.entry_to[node] = source, target
    u = work.first_member[node]
    while u != NOBODY:
        work.side[u] = ODD
        work.dual[u] -= clock
        u = next_of(work, node, u)


@kernel
def append_members(work, blossom, tail, child):
    """Append the players of a child to those of a blossom, after `tail`; returns the new tail."""
    if tail == NOBODY:
        work.first_member[blossom] = work.first_member[child]
    else:
        work.next_member[tail] = work.first_member[child]
    work.last_member[blossom] = work.last_member[child]
    return work.last_member[child]


@kernel
def leads_forward(work, child, base):
    """Whether the way of even length from a child to that of the base leads forward in the ring."""
    steps = 0
    while child != base:
        child, steps = work.next_child[child], steps + 1
    return steps % 2 == 0


@kernel
def next_two(work, x, forward):
    """The next two nodes of the ring, of which the first is even, and the edge to the second."""
    if forward:
        even = work.next_child[x]
        return even, work.next_child[even], work.link_from[even], work.link_to[even]
    even = work.previous_child[x]
    odd = work.previous_child[even]
    return even, odd, work.link_to[odd], work.link_from[odd]


@kernel
def augment(work, u, v):
    """Couple even player `u` with `v`, and re-couple all the way up to the root."""
    while True:
        odd = odd_above(work, work.top[u])
        move_base(work, work.top[u], u)
        work.mate[u], work.mate[v] = v, u
        if odd == NOBODY:
            break
        u, v = work.entry_from[odd], work.entry_to[odd]
        move_base(work, odd, v)


@kernel
def move_base(work, node, base):
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
