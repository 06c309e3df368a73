"""The matching of greatest weight among the couples of a graph, which may be few of all couples.

As `max_matching`, with the searches of `sparse_search`: time and memory follow the couples that
are allowed, and players may stay single. The duals of players are then at least 0, and 0 for those
who stay single; that, too, is part of the proof. The next proof starts from the couples and duals
of the last one, see `_fit_duals`.

Among the matchings of greatest weight one with most couples is taken (up to rounding): when no
search can gain weight any more, each single player is given one more, along couples that cost
nothing, in which the clock stands still.

Weights of -inf forbid a couple, and weights of +inf come first, as in `max_matching`.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.blossoms import NOBODY as NOBODY
from pairup.compiled.matchings.max_matching import (
    LARGER,
    NO_MATCHING,
    ROUNDING,
    SOLVED,
    outweighing,
    stay_coupled,
)
from pairup.compiled.matchings.sparse_search import (
    MATCHED,
    MOST_TOUCHED,
    OUT_OF_MEMORY,
    OVERFLOWS,
    PERFECT,
    SPARE,
    EventHeap,
    search,
)
from pairup.compiled.state_fields import Flags, Integers, Reals, new_state

FULL_HEAP = 2  # a status of `solve_graph` that the sizes of `new_sparse_workspace` exclude


_MANY = 256  # slots, from which on they are looked at in the order of the graph
_NODES = "vertices + vertices // 2 + 1"


class CoupleGraph(NamedTuple):
    """The couples that are allowed among some slots, in ascending order.

    Couple k is (low[k], high[k]). The neighbours of slot i are ``to[start[i]:start[i + 1]]``, and
    ``couple`` has, beside each of them, the number of the couple.
    """

    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    to: np.ndarray
    couple: np.ndarray


def new_couple_graph(slots, low, high):
    """The graph of the couples (low[k], high[k]), which are distinct, ascending, and low < high."""
    start = np.zeros(slots + 1, np.int64)
    np.cumsum(np.bincount(low, minlength=slots) + np.bincount(high, minlength=slots), out=start[1:])
    graph = CoupleGraph(
        low=np.array(low, np.int64),
        high=np.array(high, np.int64),
        start=start,
        to=np.empty(2 * len(low), np.int64),
        couple=np.empty(2 * len(low), np.int64),
    )
    _list_neighbours(graph, start[:-1].copy())
    return graph


@outlined
def _list_neighbours(graph, end):
    """Write the neighbours of each slot, ascending: first the lower ones, then the higher."""
    for k in range(len(graph.low)):
        i, j = graph.low[k], graph.high[k]
        graph.to[end[j]], graph.couple[end[j]] = i, k
        end[j] += 1
    for k in range(len(graph.low)):
        i, j = graph.low[k], graph.high[k]
        graph.to[end[i]], graph.couple[end[i]] = j, k
        end[i] += 1


class SparseWorkspace(NamedTuple):
    """The last matching and its duals, and a workspace for the next one.

    A *node* is a slot, or from the number of slots on a blossom.
    """

    heap: EventHeap
    # The edges now allowed, from both ends, those of a slot side by side.
    start: np.ndarray = Integers("vertices + 1")
    to: np.ndarray = Integers("2 * couples")
    weight: np.ndarray = Reals("2 * couples")
    # By slot.
    dual: np.ndarray = Reals("vertices")
    mate: np.ndarray = Integers("vertices", NOBODY)
    side: np.ndarray = Integers("vertices")  # of the search tree: free, even, odd
    top: np.ndarray = Integers("vertices")  # the outermost node around it
    # The least distance to an even player, and that player.
    reach: np.ndarray = Reals("vertices", np.inf)
    source: np.ndarray = Integers("vertices", NOBODY)
    order: np.ndarray = Integers("vertices")  # in which players are looked at
    next_member: np.ndarray = Integers("vertices", NOBODY)  # in the list of players of a node
    # Whom the search has come across, and whether it has.
    touched: np.ndarray = Integers("vertices", NOBODY)
    seen: np.ndarray = Flags("vertices")
    # By node.
    first_member: np.ndarray = Integers(_NODES, NOBODY)
    last_member: np.ndarray = Integers(_NODES, NOBODY)
    parent: np.ndarray = Integers(_NODES, NOBODY)
    base: np.ndarray = Integers(_NODES, NOBODY)  # the player who is coupled outside it
    thickness: np.ndarray = Reals(_NODES)
    join: np.ndarray = Reals(_NODES)  # when it joined the tree
    entry_from: np.ndarray = Integers(_NODES, NOBODY)  # the edge by which an odd node did
    entry_to: np.ndarray = Integers(_NODES, NOBODY)
    mark: np.ndarray = Integers(_NODES, NOBODY)
    # Of a blossom, the one with the base; NOBODY: not a blossom now.
    first_child: np.ndarray = Integers(_NODES, NOBODY)
    # In the cycle of the blossom around it, and the edge that leads there.
    next_child: np.ndarray = Integers(_NODES, NOBODY)
    previous_child: np.ndarray = Integers(_NODES, NOBODY)
    link_from: np.ndarray = Integers(_NODES, NOBODY)
    link_to: np.ndarray = Integers(_NODES, NOBODY)
    spare: np.ndarray = Integers(f"{_NODES} - vertices")  # blossoms that are not in use
    stack: np.ndarray = Integers(f"{_NODES} + 2, 2")
    counters: np.ndarray = Integers(7)
    reals: np.ndarray = Reals(2)


def new_sparse_workspace(slots, couples):
    """A workspace for matchings among `slots` slots and at most `couples` couples."""
    sizes = {"vertices": slots, "couples": couples, "events": 2 * couples + 2 * slots + 2}
    return new_state(SparseWorkspace, sizes, top=np.arange(slots))


@kernel
def solve_graph(work, graph, weights, available, perfect):
    """Match the slots for which `available` is true by `weights`, one for each couple of `graph`.

    Writes the partner of each into `work.mate`, NOBODY for those who stay single; returns a status.
    If `perfect`, all available slots are matched or the status is NO_MATCHING; otherwise couples of
    negative weight are not matched.
    """
    work.counters[OVERFLOWS], work.counters[PERFECT] = 0, perfect
    work.counters[MOST_TOUCHED] = 0
    _spread_thickness(work)
    _load_edges(work, graph, weights, available)
    return _solve_edges(work, available)


@outlined
def solve_nearly(work, available, most):
    """Match all available slots, nearly at best, by edges that are loaded.

    Both ends of a couple have its edge, those of a slot side by side, in `start`, `to` and `weight`
    of `work`, which has a matching and duals to start from. A search that comes across more than
    `most` slots is given up, and leaves its slot single; 0 sets no limit.
    """
    work.counters[OVERFLOWS], work.counters[PERFECT], work.counters[MOST_TOUCHED] = 0, True, most
    return _solve_edges(work, available)


@kernel
def _solve_edges(work, available):
    _set_order(work)
    _break_blossoms(work, available)
    if _out_of_scale(work):
        _start_new(work)
    _fit_duals(work)
    _couple_greedily(work)
    return _search_all(work, available)


@kernel
def _spread_thickness(work):
    """Spread the duals of the last matching's blossoms over their players."""
    slots = len(work.mate)
    for b in range(slots, len(work.base)):
        if work.first_child[b] != NOBODY:
            u = work.first_member[b]
            while True:
                work.dual[u] += 0.5 * work.thickness[b]
                if u == work.last_member[b]:
                    break
                u = work.next_member[u]


@kernel
def _load_edges(work, graph, weights, available):
    """Load the edges among the available slots, those of infinite weight with a finite stand-in."""
    least = -np.inf if work.counters[PERFECT] != 0 else 0.0
    low, high, count, infinite = np.inf, -np.inf, 0, False
    for i in range(len(work.mate)):
        work.start[i] = count
        if not available[i]:
            continue
        for k in range(graph.start[i], graph.start[i + 1]):
            weight = weights[graph.couple[k]]
            if available[graph.to[k]] and weight >= least and weight > -np.inf:
                work.to[count], work.weight[count] = graph.to[k], weight
                count += 1
                infinite |= weight == np.inf
                if weight < np.inf:
                    low, high = min(low, weight), max(high, weight)
    work.start[len(work.mate)] = count
    if infinite:
        _outweigh(work, count, low, high)


@outlined
def _outweigh(work, count, low, high):
    """Replace weights of +inf by a finite one that outweighs all others."""
    least = low if work.counters[PERFECT] != 0 else 0.0
    greater = outweighing(least, high, len(work.mate))
    for k in range(count):
        if work.weight[k] == np.inf:
            work.weight[k] = greater


@kernel
def _set_order(work):
    """Look at players who may meet one after the other, from one end of the graph to the other.

    Each search then finds what the one before it left, near by. In any other order, searches among
    thousands of players take up to twenty times as long. In graphs of few players it does not
    pay: they are looked at in the order of their slots.
    """
    slots, reached = len(work.mate), work.top  # set again after this
    for i in range(slots):
        work.order[i] = i
        reached[i] = NOBODY
    if slots < _MANY:
        return
    first = 0
    for i in range(slots):
        if reached[i] == NOBODY:
            end = _walk(work, i, first, i)
            first = _walk(work, work.order[end - 1], first, slots + i)


@kernel
def _walk(work, start, first, mark):
    """Write all who are connected with a player into the order, from `first` on, near ones first.

    Returns the place after them.
    """
    order, reached = work.order, work.top
    reached[start], order[first] = mark, start
    done, count = first, first + 1
    while done < count:
        a = order[done]
        done += 1
        # The end where the second walk begins has a higher number than most: downwards from there.
        for k in range(work.start[a + 1] - 1, work.start[a] - 1, -1):
            b = work.to[k]
            if reached[b] != mark:
                reached[b], order[count] = mark, b
                count += 1
    return count


@kernel
def _break_blossoms(work, available):
    """Make every slot a node of its own again; those who are away are single."""
    slots, nodes = len(work.mate), len(work.base)
    for i in range(slots):
        work.top[i] = work.base[i] = work.first_member[i] = work.last_member[i] = i
        work.parent[i] = NOBODY
        if not available[i]:
            work.dual[i] = 0.0
            if work.mate[i] != NOBODY:
                work.mate[work.mate[i]], work.mate[i] = NOBODY, NOBODY
    for b in range(slots, nodes):
        work.first_child[b] = NOBODY
        work.spare[b - slots] = nodes - 1 + slots - b
    work.counters[SPARE] = nodes - slots


@kernel
def _out_of_scale(work):
    """Whether nobody is coupled yet, or these weights would be lost in the rounding of duals."""
    dual, weight, coupled = 0.0, 0.0, False
    for i in range(len(work.mate)):
        dual = max(dual, abs(work.dual[i]))
        coupled |= work.mate[i] != NOBODY
        for k in range(work.start[i], work.start[i + 1]):
            weight = max(weight, abs(work.weight[k]))
    return not coupled or dual > LARGER * weight


@kernel
def _start_new(work):
    """Start over: half the greatest weight of a player is a dual that fits all other such duals."""
    for i in range(len(work.mate)):
        greatest = -np.inf if work.counters[PERFECT] != 0 else 0.0
        for k in range(work.start[i], work.start[i + 1]):
            greatest = max(greatest, work.weight[k])
        work.mate[i] = NOBODY
        work.dual[i] = 0.5 * greatest if greatest > -np.inf else 0.0


@kernel
def _fit_duals(work):
    """Make the duals fit the weights, and keep the couples that can still be tight.

    As in `max_matching`: player by player a dual is set no lower than the duals of the others ask
    for, and a couple stays when its two duals can meet both that and its weight.
    """
    for x in range(len(work.mate)):
        a = work.order[x]
        b = work.mate[a]
        if b == NOBODY:
            asked, _, _ = _asked(work, a, NOBODY)
            work.dual[a] = asked if asked > -np.inf else 0.0
        elif a < b:
            _fit_couple(work, a, b)


@kernel
def _asked(work, a, partner):
    """The least dual of `a` that fits all neighbours but a partner, who asks most, and its weight.

    The weight is that of the couple with the partner, -inf if that is not allowed.
    """
    asked, neighbour, weight = -np.inf if work.counters[PERFECT] != 0 else 0.0, NOBODY, -np.inf
    for k in range(work.start[a], work.start[a + 1]):
        c = work.to[k]
        if c == partner:
            weight = work.weight[k]
        elif work.weight[k] - work.dual[c] > asked:
            asked, neighbour = work.weight[k] - work.dual[c], c
    return asked, neighbour, weight


@kernel
def _fit_couple(work, a, b):
    min_a, _, weight = _asked(work, a, b)
    min_b, _, _ = _asked(work, b, a)
    if not stay_coupled(work, a, b, weight, min_a, min_b):
        work.mate[a] = work.mate[b] = NOBODY
        work.dual[a] = min_a if min_a > -np.inf else 0.0
        work.dual[b] = min_b if min_b > -np.inf else 0.0


@kernel
def _couple_greedily(work):
    """Lower each exposed player's dual until a couple is tight; take it if both are exposed."""
    for x in range(len(work.mate)):
        a = work.order[x]
        if work.mate[a] == NOBODY:
            least, b, _ = _asked(work, a, NOBODY)
            work.dual[a] = least if least > -np.inf else 0.0
            if b != NOBODY and work.mate[b] == NOBODY:
                work.mate[a], work.mate[b] = b, a


@kernel
def _search_all(work, available):
    """Find a partner for each exposed player, or let one player stay single in its place."""
    perfect = work.counters[PERFECT] != 0
    for x in range(len(work.mate)):
        root = work.order[x]
        searches = available[root] and work.mate[root] == NOBODY
        if searches and (perfect or work.dual[root] > 0.0):
            status = search(work, root, np.inf)
            if status != MATCHED and (status == OUT_OF_MEMORY or work.counters[MOST_TOUCHED] == 0):
                return FULL_HEAP if status == OUT_OF_MEMORY else NO_MATCHING
    if not perfect:
        return _couple_at_no_cost(work, available)
    return SOLVED


@kernel
def _couple_at_no_cost(work, available):
    """Couple single players where that costs no weight: most couples of all best matchings."""
    greatest = 0.0
    for k in range(work.start[len(work.mate)]):
        greatest = max(greatest, work.weight[k])
    latest = ROUNDING * greatest + np.finfo(np.float64).tiny
    for x in range(len(work.mate)):
        root = work.order[x]
        if available[root] and work.mate[root] == NOBODY:
            if search(work, root, latest) == OUT_OF_MEMORY:
                return FULL_HEAP
    return SOLVED
