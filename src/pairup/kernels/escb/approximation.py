"""A matching with nearly the best index A + s sqrt(B), from exact matchings of greatest weight.

For every c > 0, sqrt(B) <= c B + 1 / (4 c). So the greatest A + s c B of any matching, plus
s / (4 c), is a bound on the best index. It is convex in c: where a matching found at c has
sqrt(B) < 1 / (2 c), the least bound lies at a larger c, else at a smaller one. We close in on it
between two matchings, one of either kind, trying the c at which both weigh alike, until no third
one weighs more there. Of all matchings seen on the way we take the one with the best index, and
swap players between two of its couples while that makes it better still; the bound certifies how
good it is.

The two matchings of a round are the first guess in the next: most rounds need one exact matching.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.exact_matching.max_matching import MaxMatching, new_max_matching, solve_seated
from pairup.kernels.runtime.compilation import kernel, outlined

NOBODY = -1
# Rows of `Hull.mates`. FEWER had sqrt(B) < 1 / (2 c) when it was found at c, MORE had not.
FEWER, MORE, FOUND, BEST = 0, 1, 2, 3
MEMBERS, RESEATED = 0, 1  # where the numbers of `Hull.now` stand
CERTIFIED, WORST, CERTIFICATES = 0, 1, 2  # where the numbers of `Hull.figures` stand
_STEPS = 12  # exact matchings a round, at most
_ROUNDING = 1e-13  # a smaller difference of weights is rounding


class Hull(NamedTuple):
    """Some matchings, and room for the rest."""

    mates: np.ndarray  # the partner of each slot, a row a matching; NOBODY: not known
    players: np.ndarray  # those seated, the phantom included
    now: np.ndarray
    figures: np.ndarray  # the sum, the least and the number of certified ratios
    matching: MaxMatching


def new_hull(slots):
    """Nobody is seated, nothing is known."""
    return Hull(
        mates=np.full((4, slots), NOBODY, np.int64),
        players=np.zeros(slots + 1, np.int64),
        now=np.zeros(2, np.int64),
        figures=np.array([0.0, 1.0, 0.0]),
        matching=new_max_matching(slots),
    )


@kernel
def seat_hull(hull, players):
    """Seat `players`; what is known of others is forgotten when these are first matched."""
    seated, phantom = len(players), hull.mates.shape[1] - 1
    for x in range(seated):
        hull.players[x] = players[x]
    if seated % 2 == 1:
        hull.players[seated] = phantom
    hull.now[MEMBERS] = seated + seated % 2
    hull.now[RESEATED] = 1


@outlined
def near_best(hull, couples, scale):
    """Find a matching with nearly the best index, and write it into the row BEST."""
    if hull.now[RESEATED] == 1:
        _forget_others(hull)
        hull.now[RESEATED] = 0
    best = _consider(hull, couples, FEWER, scale, -np.inf)
    best = _consider(hull, couples, MORE, scale, best)
    bound = np.inf
    for _ in range(_STEPS):
        c, weight = _guess(hull, couples, scale)
        _solve(hull, couples, scale * c)
        a, b = _sums(hull, couples, FOUND)
        best = _consider(hull, couples, FOUND, scale, best)
        bound = min(bound, a + scale * (c * b + 0.25 / c))
        if a + scale * c * b <= weight + _ROUNDING:
            break
        _copy(hull, FOUND, FEWER if 4.0 * c * c * b < 1.0 else MORE)
        if bound <= best + _ROUNDING:
            break
    best = _climb(hull, couples, scale)
    _certify(hull.figures, best, bound)


@kernel
def _forget_others(hull):
    """Forget the matchings, and how they were found, unless they are of just those seated."""
    kept, known = hull.matching.kept_mate, 0
    for x in range(hull.now[MEMBERS]):
        known += kept[hull.players[x]] != NOBODY
    others = -known
    for i in range(len(kept)):
        others += kept[i] != NOBODY
    if known < hull.now[MEMBERS] or others > 0:
        forget_matchings(hull)


@kernel
def forget_matchings(hull):
    """Start without any guess."""
    hull.matching.kept_dual[:] = 0.0
    hull.matching.kept_mate[:] = NOBODY
    hull.mates[:, :] = NOBODY


@kernel
def _is_known(hull, row):
    return hull.mates[row, hull.players[0]] != NOBODY


@kernel
def _consider(hull, couples, row, scale, best):
    """Note a matching if its index is the best so far; returns the best index."""
    if _is_known(hull, row):
        a, b = _sums(hull, couples, row)
        index = a + scale * math.sqrt(b)
        if index > best:
            best = index
            _copy(hull, row, BEST)
    return best


@kernel
def _sums(hull, couples, row):
    """A and B of a matching."""
    slots = hull.mates.shape[1]
    a = b = 0.0
    for x in range(hull.now[MEMBERS]):
        i = hull.players[x]
        j = hull.mates[row, i]
        if i < j:
            a += couples.value[i * slots + j]
            b += couples.inverse[i * slots + j]
    return a, b


@kernel
def _copy(hull, row, other):
    for i in range(hull.mates.shape[1]):
        hull.mates[other, i] = hull.mates[row, i]


@kernel
def _guess(hull, couples, scale):
    """The next c to try, and the weight that a new matching has to exceed there."""
    if not (_is_known(hull, FEWER) or _is_known(hull, MORE)):
        return 0.5, -np.inf
    a, b = _sums(hull, couples, FEWER if _is_known(hull, FEWER) else MORE)
    more_a, more_b = _sums(hull, couples, MORE if _is_known(hull, MORE) else FEWER)
    if more_b < b:
        a, b, more_a, more_b = more_a, more_b, a, b
    low, high = 0.5 / math.sqrt(more_b), 0.5 / math.sqrt(b)
    c = high
    if more_b > b:  # where both weigh alike, or where the bound from one of them is least
        c = min(max((a - more_a) / (scale * (more_b - b)), low), high)
    return c, max(a + scale * c * b, more_a + scale * c * more_b)


@kernel
def _solve(hull, couples, slope):
    """Find the exact matching of greatest A + slope B and write it into the row FOUND."""
    slots, members = hull.mates.shape[1], hull.now[MEMBERS]
    weight = hull.matching.weight
    for x in range(members):
        row = hull.players[x] * slots
        for y in range(members):
            couple = row + hull.players[y]
            weight[x, y] = couples.value[couple] + slope * couples.inverse[couple]
    solve_seated(hull.matching, hull.players[:members])
    for i in range(slots):
        hull.mates[FOUND, i] = hull.matching.kept_mate[i]


@kernel
def _climb(hull, couples, scale):
    """Make the best swap between two couples of BEST while any raises its index, and return that.

    A couple that deserves a try may be on no hull: there, couples worth more for their tries hide
    it though they are not worth theirs. A swap away it is found.
    """
    a, b = _sums(hull, couples, BEST)
    index = a + scale * math.sqrt(b)
    while True:
        low, high, best = _best_swap(hull, couples, scale, (a, b))
        if best <= index + _ROUNDING:
            return index
        x, y = hull.mates[BEST, low], hull.mates[BEST, high]
        hull.mates[BEST, low], hull.mates[BEST, high] = high, low
        hull.mates[BEST, x], hull.mates[BEST, y] = y, x
        a, b = _sums(hull, couples, BEST)
        index = a + scale * math.sqrt(b)


@kernel
def _best_swap(hull, couples, scale, sums):
    """The two players to couple, so that with their partners coupled too the index is greatest."""
    slots, members, mates = hull.mates.shape[1], hull.now[MEMBERS], hull.mates
    value, inverse = couples.value, couples.inverse
    low, high, best = 0, 0, -np.inf
    for k in range(members):
        i = hull.players[k]
        x = mates[BEST, i]
        if x < i:
            continue
        a, b = sums[0] - value[i * slots + x], sums[1] - inverse[i * slots + x]
        for m in range(k + 1, members):
            j = hull.players[m]
            y = mates[BEST, j]
            if y < i or j == x:  # the lowest of the four is the first
                continue
            new, other, old = i * slots + j, x * slots + y, j * slots + y
            new_b = b + inverse[new] + inverse[other] - inverse[old]
            index = a + value[new] + value[other] - value[old] + scale * math.sqrt(max(new_b, 0.0))
            if index > best:
                low, high, best = i, j, index
    return low, high, best


@kernel
def _certify(figures, best, bound):
    """Count the certified ratio of the index to the best index of all."""
    ratio = min(best / bound, 1.0) if bound > 0.0 else 1.0
    figures[CERTIFIED] += ratio
    figures[WORST] = min(figures[WORST], ratio)
    figures[CERTIFICATES] += 1.0
