"""The matching with the best index A + s sqrt(B) of a few players: every matching is looked at.

A matching is an order of the players: the first two are a couple, and so on. In the row FOUND
stands an order in which the last four players ascend; they have three matchings. From one order to
the next, lexicographically, two players are exchanged, once the places behind them have gone
through all their orders and ascend again.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.state_fields import MEMBERS
from pairup.policies.escb.approximation import BEST, FOUND, certify

MAX_PLAYERS = 8  # who have 105 matchings; ten have 945


@outlined
def find_best(search, terms, scale):
    """Write the matching with the best index into the row BEST; of equals, the first."""
    mates, members = search.mates, search.counters[MEMBERS]
    for x in range(members):
        mates[FOUND, x] = search.players[x]
    certify(search.reals, 1.0, 1.0)
    if members == 2:
        _couple(mates, 0, 1)
    if members < 4:
        return
    orders, best = 1, -np.inf
    for partners in range(5, members, 2):
        orders *= partners
    for number in range(1, orders + 1):
        way, index = _best_way(mates, members, terms, scale)
        if index > best:
            best = index
            _write_best(mates, members, way)
        _advance(mates, members, number)


@kernel
def _best_way(mates, members, terms, scale):
    """With whom the first of the last four players is coupled, 1 to 3 places on, and the index."""
    a = b = 0.0
    for x in range(0, members - 4, 2):
        value, inverse = _terms(mates, terms, x, x + 1)
        a, b = a + value, b + inverse
    first, best, best_index = members - 4, 0, -np.inf
    for way in range(1, 4):
        left = 1 if way > 1 else 2
        value, inverse = _terms(mates, terms, first, first + way)
        last_value, last_inverse = _terms(mates, terms, first + left, first + 6 - way - left)
        # From the lowest player on, as for all matchings: sums are rounded alike.
        index = a + value + last_value + scale * math.sqrt(b + inverse + last_inverse)
        if index > best_index:
            best, best_index = way, index
    return best, best_index


@kernel
def _terms(mates, terms, x, y):
    """What the couple of the players at two places adds to A and B."""
    couple = slot(mates[FOUND, x] * mates.shape[1] + mates[FOUND, y])
    return terms.value[couple], terms.inverse[couple]


@kernel
def _write_best(mates, members, way):
    """Couple the players in the order of FOUND, the last four in the way given."""
    for x in range(0, members - 4, 2):
        _couple(mates, x, x + 1)
    first, left = members - 4, 1 if way > 1 else 2
    _couple(mates, first, first + way)
    _couple(mates, first + left, first + 6 - way - left)


@kernel
def _couple(mates, x, y):
    i, j = mates[FOUND, x], mates[FOUND, y]
    mates[BEST, i], mates[BEST, j] = j, i


@kernel
def _advance(mates, members, number):
    """Advance from order `number`, counted from 1, to the next."""
    first, partners = members - 6, 5  # of the last player who has a choice, but for the four
    while first >= 0 and number % partners == 0:
        last = mates[FOUND, first + 1]
        for x in range(first + 1, first + partners):
            mates[FOUND, x] = mates[FOUND, x + 1]
        mates[FOUND, first + partners] = last
        number //= partners
        first, partners = first - 2, partners + 2
    if first >= 0:
        one, other = first + 1, first + 1 + number % partners
        mates[FOUND, one], mates[FOUND, other] = mates[FOUND, other], mates[FOUND, one]
