"""The matching of greatest weight among all matchings of an even number of players.

Edmonds' blossom algorithm on a complete graph, O(n^3): a search per player who is still single
(`dense_search`), with dual variables. Each player has a dual, and so has each blossom (its
thickness). The duals of a couple, with the thickness of the blossoms around both, never lie below
its weight, and equal it for the couples matched: that proves the matching best. The next proof
starts from what was proved for other weights, see `_fit_duals`.

Weights of -inf forbid a couple. Weights of +inf come before all others: as many such couples as
possible, and the finite weights decide among those matchings. They are replaced by a finite weight
just above what all finite weights of a matching could make up for: n/2 + 1 times their range above
the greatest. That costs the sums log2(n/2 + 1) of their 53 bits, four for twenty players, whatever
the weights, and needs neither pairs of numbers for weights nor a second solution.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel
from pairup.compiled.matchings.blossoms import NOBODY, next_of
from pairup.compiled.matchings.dense_search import search
from pairup.compiled.state_fields import Integers, Players, Reals, new_state

SOLVED, NO_MATCHING = 0, 1
LARGER = 2.0**8
ROUNDING = 2.0**-50  # a relative difference that rounding may make


_NODES = "slots + slots // 2 + 1"


class MatchingWorkspace(NamedTuple):
    """What is kept from one matching to the next, and a workspace for the players of some slots.

    Players to be matched are *vertices* 0, 1, ... in the order given. A *node* is a vertex, or from
    the number of vertices on a blossom.
    """

    # Kept, by slot.
    kept_dual: np.ndarray = Reals("slots", saved=True)
    kept_mate: np.ndarray = Players("slots", NOBODY, saved=True)
    # By vertex.
    weight: np.ndarray = Reals("slots, slots")
    dual: np.ndarray = Reals("slots")
    mate: np.ndarray = Integers("slots", NOBODY)
    side: np.ndarray = Integers("slots")  # of the search tree: free, even, odd
    top: np.ndarray = Integers("slots", NOBODY)  # the outermost node around it
    reach: np.ndarray = Reals("slots")  # the least distance to an even player, and that player
    source: np.ndarray = Integers("slots", NOBODY)
    due: np.ndarray = Reals("slots")  # the next event of the node of which it is the base
    vertex_of: np.ndarray = Integers("slots", NOBODY)  # of each slot
    next_member: np.ndarray = Integers("slots", NOBODY)  # in the list of players of a node
    # By node.
    first_member: np.ndarray = Integers(_NODES, NOBODY)
    last_member: np.ndarray = Integers(_NODES, NOBODY)
    parent: np.ndarray = Integers(_NODES, NOBODY)
    base: np.ndarray = Integers(_NODES, NOBODY)  # the player who is coupled outside it
    thickness: np.ndarray = Reals(_NODES)
    join: np.ndarray = Reals(_NODES)  # when it joined the tree
    entry_from: np.ndarray = Integers(_NODES, NOBODY)  # the edge by which an odd node did
    entry_to: np.ndarray = Integers(_NODES, NOBODY)
    # The least distance of an even node to each player, and from whom.
    near: np.ndarray = Reals(f"{_NODES}, slots")
    near_from: np.ndarray = Integers(f"{_NODES}, slots", NOBODY)
    meet_at: np.ndarray = Integers(_NODES, NOBODY)  # where an even node meets another
    mark: np.ndarray = Integers(_NODES, NOBODY)
    # Of a blossom, the one with the base; NOBODY: not a blossom now.
    first_child: np.ndarray = Integers(_NODES, NOBODY)
    # In the cycle of the blossom around it, and the edge that leads there.
    next_child: np.ndarray = Integers(_NODES, NOBODY)
    previous_child: np.ndarray = Integers(_NODES, NOBODY)
    link_from: np.ndarray = Integers(_NODES, NOBODY)
    link_to: np.ndarray = Integers(_NODES, NOBODY)
    stack: np.ndarray = Integers(f"{_NODES} + 2, 2", NOBODY)
    clock: np.ndarray = Reals(1)


def new_matching_workspace(slots):
    """A workspace for matchings among `slots` slots; nobody is coupled yet."""
    return new_state(MatchingWorkspace, {"slots": slots})


@kernel
def solve(work, weights, players):
    """Match `players`, an even number of slots, by `weights`, symmetric over all slots.

    Writes the partner of each into `work.kept_mate`, by slot; returns a status.
    """
    vertices = len(players)
    for a in range(vertices):
        for b in range(vertices):
            work.weight[a, b] = weights[players[a], players[b]]
    return solve_loaded(work, players)


@kernel
def solve_loaded(work, players):
    """As `solve`, with the weights in `work.weight` already, by vertex; its diagonal is changed."""
    vertices = len(players)
    if _load_kept(work, players) > 0 or _out_of_scale(work, vertices):
        _outweigh(work, vertices)
        _start_new(work, vertices)
    asked = _fit_duals(work, vertices)
    if asked == np.inf:
        _outweigh(work, vertices)
        asked = _fit_duals(work, vertices)
    if asked == -np.inf:
        return NO_MATCHING
    _couple_greedily(work, vertices)
    for root in range(vertices):
        if work.mate[root] == NOBODY and not search(work, vertices, root):
            return NO_MATCHING
    _keep(work, players)
    return SOLVED


@kernel
def _load_kept(work, players):
    """Load the duals and couples that were kept; returns how many players have none."""
    vertices, new = len(players), 0
    for slot in range(len(work.vertex_of)):
        work.vertex_of[slot] = NOBODY
    for a in range(vertices):
        work.vertex_of[players[a]] = a
    for a in range(vertices):
        partner = work.kept_mate[players[a]]
        work.dual[a] = work.kept_dual[players[a]]
        # Meanwhile the partner, matched without this player, may have found another.
        mutual = partner != NOBODY and work.kept_mate[partner] == players[a]
        work.mate[a] = work.vertex_of[partner] if mutual else NOBODY
        work.top[a] = work.base[a] = work.first_member[a] = work.last_member[a] = a
        work.parent[a] = work.first_child[a] = NOBODY
        work.weight[a, a] = -np.inf
        new += partner == NOBODY
    for b in range(vertices, vertices + vertices // 2):
        work.first_child[b] = NOBODY
    return new


@kernel
def _out_of_scale(work, vertices):
    """Whether the duals come from weights so large that these would be lost in their rounding."""
    dual, weight = 0.0, 0.0
    for a in range(vertices):
        dual = max(dual, abs(work.dual[a]))
        if work.mate[a] != NOBODY:
            size = abs(work.weight[a, work.mate[a]])
            weight = max(weight, size) if size < np.inf else weight
    return dual > LARGER * weight


@kernel
def _start_new(work, vertices):
    """Start over: half the greatest weight of a player is a dual that fits all other such duals."""
    for a in range(vertices):
        work.mate[a] = NOBODY
        greatest = -np.inf
        for b in range(vertices):
            greatest = max(greatest, work.weight[a, b])
        work.dual[a] = 0.5 * greatest if greatest > -np.inf else 0.0


@kernel
def _outweigh(work, vertices):
    """Replace weights of +inf by a finite one that outweighs all others."""
    low, high = np.inf, -np.inf
    for a in range(vertices):
        for b in range(vertices):
            if abs(work.weight[a, b]) < np.inf:
                low, high = min(low, work.weight[a, b]), max(high, work.weight[a, b])
    greater = outweighing(low, high, vertices)
    for a in range(vertices):
        for b in range(vertices):
            if work.weight[a, b] == np.inf:
                work.weight[a, b] = greater


@kernel
def outweighing(low, high, players):
    """A weight greater than what all weights of a matching, from `low` to `high`, make up for."""
    if low > high:
        low, high = 0.0, 0.0
    step = max(high - low, 2.0**-20 * max(abs(low), abs(high)))
    return high + (players // 2 + 1) * (step if step > 0.0 else 1.0)


@kernel
def _fit_duals(work, vertices):
    """Make the duals fit the weights, and keep the couples that can still be tight.

    Player by player a dual is set no lower than the duals of the others ask for; after the last
    player no couple weighs more than its duals. A couple stays when its two duals can meet both
    what the others ask for and its weight, else both are exposed.
    """
    asked = 0.0
    for a in range(vertices):
        b = work.mate[a]
        if b == NOBODY:
            asked = -np.inf  # the least dual of `a` that fits the duals of all others
            for c in range(vertices):
                needed = work.weight[a, c] - work.dual[c]
                asked = needed if needed > asked else asked
        elif a < b:
            asked = _fit_couple(work, vertices, a, b)
        if abs(asked) == np.inf:
            break
        if b == NOBODY:
            work.dual[a] = asked
    return asked


@kernel
def _fit_couple(work, vertices, a, b):
    """Returns +inf if a weight is, -inf if a player has no couple left."""
    weight = work.weight[a, b]
    work.weight[a, b] = work.weight[b, a] = -np.inf
    min_a, min_b = _min_duals(work, vertices, a, b)
    work.weight[a, b] = work.weight[b, a] = weight
    if max(weight, min_a, min_b) == np.inf:
        return np.inf
    if not stay_coupled(work, a, b, weight, min_a, min_b):
        work.mate[a] = work.mate[b] = NOBODY
        work.dual[a], work.dual[b] = min_a, min_b
    return min(work.dual[a], work.dual[b])


@kernel
def stay_coupled(work, a, b, weight, min_a, min_b):
    """Share the weight of a couple between its duals, if these can be as large as they must be."""
    # Two equal sums may differ by their rounding; that is not a reason to separate. Where a couple
    # is forbidden, they are NaN.
    fits = min_a + min_b <= weight + ROUNDING * (abs(min_a) + abs(min_b) + abs(weight))
    if fits:
        middle = 0.5 * (work.dual[a] + weight - work.dual[b])
        work.dual[a] = max(min(middle, weight - min_b), min_a)
        work.dual[b] = weight - work.dual[a]
    return fits


@kernel
def _min_duals(work, vertices, a, b):
    """Their least duals that fit all others; four chains of comparisons hide their latency."""
    even_a = even_b = odd_a = odd_b = -np.inf
    for c in range(0, vertices, 2):  # vertices are even
        asked_a, asked_b = work.weight[a, c] - work.dual[c], work.weight[b, c] - work.dual[c]
        even_a = asked_a if asked_a > even_a else even_a
        even_b = asked_b if asked_b > even_b else even_b
        d = c + 1
        asked_a, asked_b = work.weight[a, d] - work.dual[d], work.weight[b, d] - work.dual[d]
        odd_a = asked_a if asked_a > odd_a else odd_a
        odd_b = asked_b if asked_b > odd_b else odd_b
    return max(even_a, odd_a), max(even_b, odd_b)


@kernel
def _couple_greedily(work, vertices):
    """Lower each exposed player's dual until a couple is tight; take it if both are exposed."""
    for a in range(vertices):
        if work.mate[a] == NOBODY:
            least, b = -np.inf, NOBODY
            for c in range(vertices):
                if work.weight[a, c] - work.dual[c] > least:
                    least, b = work.weight[a, c] - work.dual[c], c
            work.dual[a] = least
            if work.mate[b] == NOBODY:
                work.mate[a], work.mate[b] = b, a


@kernel
def _keep(work, players):
    """Keep the couples, and the duals, those of blossoms spread over their players."""
    vertices = len(players)
    for a in range(vertices):
        work.kept_dual[players[a]] = work.dual[a]
        work.kept_mate[players[a]] = players[work.mate[a]]
    for b in range(vertices, vertices + vertices // 2):
        u = work.first_member[b] if work.first_child[b] != NOBODY else NOBODY
        while u != NOBODY:
            work.kept_dual[players[u]] += 0.5 * work.thickness[b]
            u = next_of(work, b, u)


@kernel
def reset(work):
    """Drop the couples and duals of earlier matchings, in place."""
    work.kept_dual[:] = 0.0
    work.kept_mate[:] = NOBODY
