"""The matching of greatest weight among all matchings of an even number of seated players.

Edmonds' blossom algorithm on a complete graph, O(n^3), with dual variables: each player has a
dual, and so has each blossom (its thickness). The duals of a couple, with the thickness of the
blossoms around both, never lie below its weight, and equal it for the couples matched: that proves
the matching best. What was proved for other weights is where the next proof starts, see `_settle`.

Weights of -inf forbid a couple. Weights of +inf come before all others: as many such couples as
possible, and the finite weights decide among those matchings. They are replaced by a finite weight
just above what all finite weights of a matching could make up for: n/2 + 1 times their range above
the greatest. That costs the sums log2(n/2 + 1) of their 53 bits, four for twenty players, whatever
the weights, and needs neither pairs of numbers for weights nor a second solution.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels.exact_matching.blossoms import NOBODY, search
from pairup.kernels.runtime.compilation import kernel

SOLVED, NO_MATCHING = 0, 1
_LARGER = 2.0**8
_ROUNDING = 2.0**-50  # a relative difference that rounding may make


class MaxMatching(NamedTuple):
    """Room for a matching of the players of some slots, and what is kept from one to the next.

    Those seated have *seats* 0, 1, ... in the order given. A *node* is a seat, or from the number
    of seats on a blossom.
    """

    # Kept, by slot.
    kept_dual: np.ndarray
    kept_mate: np.ndarray
    # By seat.
    weight: np.ndarray
    dual: np.ndarray
    mate: np.ndarray
    side: np.ndarray  # of the search tree: free, even, odd
    top: np.ndarray  # the outermost node around it
    reach: np.ndarray  # the least distance to an even player, and that player
    source: np.ndarray
    due: np.ndarray  # the next event of the node of which it is the base
    seat: np.ndarray  # of each slot
    # By node.
    size: np.ndarray  # players in it, listed in `members`; 0: no such blossom now
    members: np.ndarray
    parent: np.ndarray
    base: np.ndarray  # the player who is coupled outside it
    thickness: np.ndarray
    join: np.ndarray  # when it joined the tree
    entry_from: np.ndarray  # the edge by which an odd node did
    entry_to: np.ndarray
    near: np.ndarray  # the least distance of an even node to each player, and from whom
    near_from: np.ndarray
    meet_at: np.ndarray  # where an even node meets another
    mark: np.ndarray
    kid_count: np.ndarray  # the nodes of a blossom, in a cycle that begins at the base
    kids: np.ndarray
    link_from: np.ndarray
    link_to: np.ndarray
    stack: np.ndarray
    spare: np.ndarray
    clock: np.ndarray


def new_max_matching(slots):
    """Room for matchings among `slots` slots; nobody is coupled yet."""
    nodes = slots + slots // 2 + 1

    def indices(*shape):
        return np.full(shape, NOBODY, np.int64)

    return MaxMatching(
        kept_dual=np.zeros(slots),
        kept_mate=indices(slots),
        weight=np.zeros((slots, slots)),
        dual=np.zeros(slots),
        mate=indices(slots),
        side=np.zeros(slots, np.int64),
        top=indices(slots),
        reach=np.zeros(slots),
        source=indices(slots),
        due=np.zeros(slots),
        seat=indices(slots),
        size=np.zeros(nodes, np.int64),
        members=indices(nodes, slots),
        parent=indices(nodes),
        base=indices(nodes),
        thickness=np.zeros(nodes),
        join=np.zeros(nodes),
        entry_from=indices(nodes),
        entry_to=indices(nodes),
        near=np.zeros((nodes, slots)),
        near_from=indices(nodes, slots),
        meet_at=indices(nodes),
        mark=indices(nodes),
        kid_count=np.zeros(nodes, np.int64),
        kids=indices(nodes, slots),
        link_from=indices(nodes, slots),
        link_to=indices(nodes, slots),
        stack=indices(nodes + 1, 2),
        spare=indices(3, slots),
        clock=np.zeros(1),
    )


@kernel
def solve(room, weights, players):
    """Match `players`, an even number of slots, by `weights`, symmetric over all slots.

    Writes whom each is coupled with into `room.kept_mate`, by slot; returns a status.
    """
    seats = len(players)
    for a in range(seats):
        for b in range(seats):
            room.weight[a, b] = weights[players[a], players[b]]
    return solve_seated(room, players)


@kernel
def solve_seated(room, players):
    """As `solve`, when the weights are in `room.weight` already, by seat; its diagonal is ours."""
    seats = len(players)
    if _sit_down(room, players) > 0 or _out_of_scale(room, seats):
        _outweigh(room, seats)
        _start_new(room, seats)
    settled = _settle(room, seats)
    if settled == np.inf:
        _outweigh(room, seats)
        settled = _settle(room, seats)
    if settled == -np.inf:
        return NO_MATCHING
    _couple_greedily(room, seats)
    for root in range(seats):
        if room.mate[root] == NOBODY and not search(room, seats, root):
            return NO_MATCHING
    _keep(room, players)
    return SOLVED


@kernel
def _sit_down(room, players):
    """Bring the duals and couples kept to the seats; returns how many players have none."""
    seats, new = len(players), 0
    for slot in range(len(room.seat)):
        room.seat[slot] = NOBODY
    for a in range(seats):
        room.seat[players[a]] = a
    for a in range(seats):
        partner = room.kept_mate[players[a]]
        room.dual[a] = room.kept_dual[players[a]]
        # Meanwhile the partner, seated without this player, may have found another.
        mutual = partner != NOBODY and room.kept_mate[partner] == players[a]
        room.mate[a] = room.seat[partner] if mutual else NOBODY
        room.top[a] = room.base[a] = room.members[a, 0] = a
        room.size[a], room.parent[a] = 1, NOBODY
        room.weight[a, a] = -np.inf
        new += partner == NOBODY
    for b in range(seats, seats + seats // 2):
        room.size[b] = 0
    return new


@kernel
def _out_of_scale(room, seats):
    """Whether the duals are left from weights so much larger that these would drown in them."""
    dual, weight = 0.0, 0.0
    for a in range(seats):
        dual = max(dual, abs(room.dual[a]))
        if room.mate[a] != NOBODY:
            size = abs(room.weight[a, room.mate[a]])
            weight = max(weight, size) if size < np.inf else weight
    return dual > _LARGER * weight


@kernel
def _start_new(room, seats):
    """Begin anew: half the greatest weight of a player is a dual that fits all other such duals."""
    for a in range(seats):
        room.mate[a] = NOBODY
        greatest = -np.inf
        for b in range(seats):
            greatest = max(greatest, room.weight[a, b])
        room.dual[a] = 0.5 * greatest if greatest > -np.inf else 0.0


@kernel
def _outweigh(room, seats):
    """Replace weights of +inf by a finite one that outweighs all others."""
    low, high = np.inf, -np.inf
    for a in range(seats):
        for b in range(seats):
            if abs(room.weight[a, b]) < np.inf:
                low, high = min(low, room.weight[a, b]), max(high, room.weight[a, b])
    if low > high:
        low, high = 0.0, 0.0
    step = max(high - low, 2.0**-20 * max(abs(low), abs(high)))
    stand_in = high + (seats // 2 + 1) * (step if step > 0.0 else 1.0)
    for a in range(seats):
        for b in range(seats):
            if room.weight[a, b] == np.inf:
                room.weight[a, b] = stand_in


@kernel
def _settle(room, seats):
    """Make the duals fit the weights, and keep the couples that can still be tight.

    Player by player a dual is set no lower than the duals of the others ask for; after the last
    player no couple weighs more than its duals. A couple stays when its two duals can meet both
    what the others ask for and its weight, else both are exposed.
    """
    asked = 0.0
    for a in range(seats):
        b = room.mate[a]
        if b == NOBODY:
            asked = _least_dual(room, seats, a)
        elif a < b:
            asked = _settle_couple(room, seats, a, b)
        if abs(asked) == np.inf:
            break
        if b == NOBODY:
            room.dual[a] = asked
    return asked


@kernel
def _settle_couple(room, seats, a, b):
    """Returns +inf if a weight is, -inf if a player has no couple left."""
    weight = room.weight[a, b]
    room.weight[a, b] = room.weight[b, a] = -np.inf
    least_a, least_b = _least_duals(room, seats, a, b)
    room.weight[a, b] = room.weight[b, a] = weight
    if max(weight, least_a, least_b) == np.inf:
        return np.inf
    # Two equal sums may differ by their rounding; that is no reason to part.
    if least_a + least_b <= weight + _ROUNDING * (abs(least_a) + abs(least_b) + abs(weight)):
        middle = 0.5 * (room.dual[a] + weight - room.dual[b])
        room.dual[a] = max(min(middle, weight - least_b), least_a)
        room.dual[b] = weight - room.dual[a]
    else:
        room.mate[a] = room.mate[b] = NOBODY
        room.dual[a], room.dual[b] = least_a, least_b
    return min(room.dual[a], room.dual[b])


@kernel
def _least_dual(room, seats, a):
    """The least dual of `a` that fits the duals of all others."""
    least = -np.inf
    for c in range(seats):
        asked = room.weight[a, c] - room.dual[c]
        least = asked if asked > least else least
    return least


@kernel
def _least_duals(room, seats, a, b):
    """`_least_dual` of two players; four chains of comparisons hide each other's latency."""
    even_a = even_b = odd_a = odd_b = -np.inf
    for c in range(0, seats, 2):  # seats are even
        asked_a, asked_b = room.weight[a, c] - room.dual[c], room.weight[b, c] - room.dual[c]
        even_a = asked_a if asked_a > even_a else even_a
        even_b = asked_b if asked_b > even_b else even_b
        d = c + 1
        asked_a, asked_b = room.weight[a, d] - room.dual[d], room.weight[b, d] - room.dual[d]
        odd_a = asked_a if asked_a > odd_a else odd_a
        odd_b = asked_b if asked_b > odd_b else odd_b
    return max(even_a, odd_a), max(even_b, odd_b)


@kernel
def _couple_greedily(room, seats):
    """Lower each exposed player's dual until a couple is tight; take it if both are exposed."""
    for a in range(seats):
        if room.mate[a] == NOBODY:
            least, b = -np.inf, NOBODY
            for c in range(seats):
                if room.weight[a, c] - room.dual[c] > least:
                    least, b = room.weight[a, c] - room.dual[c], c
            room.dual[a] = least
            if room.mate[b] == NOBODY:
                room.mate[a], room.mate[b] = b, a


@kernel
def _keep(room, players):
    """Keep the couples, and the duals, those of blossoms spread over their players."""
    seats = len(players)
    for a in range(seats):
        room.kept_dual[players[a]] = room.dual[a]
        room.kept_mate[players[a]] = players[room.mate[a]]
    for b in range(seats, seats + seats // 2):
        for x in range(room.size[b]):
            room.kept_dual[players[room.members[b, x]]] += 0.5 * room.thickness[b]


def forget(room):
    """Begin without the couples and duals of an earlier matching, in place."""
    room.kept_dual[:] = 0.0
    room.kept_mate[:] = NOBODY
