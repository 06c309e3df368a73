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

from pairup.compiled.couples.rows import count_couples, fill_members
from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.logarithm import log
from pairup.compiled.matchings.max_matching import MatchingWorkspace, reset, solve_loaded
from pairup.compiled.state_fields import (
    MEMBERS,
    OWN,
    Integers,
    Players,
    Reals,
    new_counters,
    new_reals,
    new_state,
)

# Places of counters.
(
    COUPLE_COUNT,  # of the players available
    ENUMERATED,  # players up to whom all matchings are looked at
    BUDGETED,  # 1: what is not certified is searched couple by couple, see `budgeted`
    OLS,  # the confidence of OLS-UCB
    CHANGED,  # the players available changed since the last search
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 6)

# Places of real numbers: the sum of certified ratios, the least of them, their number.
CERTIFIED, WORST, CERTIFICATES, _REALS = range(4)

NOBODY = -1
# Rows of `ApproximateSearch.mates`. FEWER had sqrt(B) < 1 / (2 c) when found at c, MORE had not.
FEWER, MORE, FOUND, BEST = 0, 1, 2, 3
_SLACK = 1.0  # called l in `bonus_scale`
_PER_COUPLE = 0.5 * math.log(1.0 + math.e / _SLACK)
_FIRST_ROUND = 3  # log log t is positive from here on
_MAX_STEPS = 12  # exact matchings per round
ROUNDING = 1e-13  # a smaller difference of weights is rounding


class ApproximateSearch(NamedTuple):
    """Some matchings that are best for some weighting, and a workspace."""

    # The partner of each slot, one row per matching; NOBODY: not known.
    exact: MatchingWorkspace
    mates: np.ndarray = Players("4, slots", NOBODY, saved=True)
    surest: np.ndarray = Players("slots", NOBODY)  # of `budgeted`, a matching
    players: np.ndarray = Integers("slots + 1")  # those available, the phantom included
    counters: np.ndarray = Integers(_COUNTERS)
    reals: np.ndarray = Reals(_REALS, saved=True, least=0)


def new_approximate_search(sizes, options):
    """Nobody is available, nothing is known; `options` are counters."""
    return new_state(
        ApproximateSearch,
        sizes,
        counters=new_counters(options, _COUNTERS),
        reals=new_reals({WORST: 1.0}, _REALS),
    )


@kernel
def set_players(search, players):
    """Match `players` from now on; what is known of others is dropped in the next search."""
    search.counters[MEMBERS] = fill_members(search.players, players, search.mates.shape[1] - 1)
    search.counters[COUPLE_COUNT] = count_couples(players)
    search.counters[CHANGED] = 1


@outlined
def find_near_best(search, terms, scale):
    """Write a matching with nearly the best index into the row BEST; bound the best index."""
    if search.counters[CHANGED] == 1:
        _forget_others(search)
        search.counters[CHANGED] = 0
    best = consider(search, terms, FEWER, scale, -np.inf)
    best = consider(search, terms, MORE, scale, best)
    bound = np.inf
    for _ in range(_MAX_STEPS):
        c, weight = _guess(search, terms, scale)
        load_weights(search, terms, scale * c, np.inf)
        solve(search)
        a, b = sums_of(search, terms, FOUND, np.inf)
        best = consider(search, terms, FOUND, scale, best)
        bound = min(bound, a + scale * (c * b + 0.25 / c))
        if a + scale * c * b <= weight + ROUNDING:
            break
        copy_mates(search.mates[FOUND], search.mates[FEWER if 4.0 * c * c * b < 1.0 else MORE])
        if bound <= best + ROUNDING:
            break
    climb(search, terms, scale)
    return bound


@kernel
def certify(reals, index, bound):
    """Note how near an index is to a bound on the best one."""
    ratio = min(index / bound, 1.0) if bound > 0.0 else 1.0
    reals[CERTIFIED] += ratio
    reals[WORST] = min(reals[WORST], ratio)
    reals[CERTIFICATES] += 1.0


@kernel
def _forget_others(search):
    """Forget the matchings, and how they were found, unless they are of just these players."""
    kept, known = search.exact.kept_mate, 0
    for x in range(search.counters[MEMBERS]):
        known += kept[search.players[x]] != NOBODY
    others = -known
    for i in range(len(kept)):
        others += kept[i] != NOBODY
    if known < search.counters[MEMBERS] or others > 0:
        forget_matchings(search)


@kernel
def forget_matchings(search):
    """Start without any guess."""
    reset(search.exact)
    search.mates[:, :] = NOBODY


@kernel
def _is_known(search, row):
    return search.mates[row, search.players[0]] != NOBODY


@kernel
def consider(search, terms, row, scale, best):
    """Note a matching if its index is the best so far; returns the best index."""
    if _is_known(search, row):
        index = index_of(search, terms, row, scale)
        if index > best:
            best = index
            copy_mates(search.mates[row], search.mates[BEST])
    return best


@kernel
def index_of(search, terms, row, scale):
    """A + scale sqrt(B) of a matching."""
    a, b = sums_of(search, terms, row, np.inf)
    return a + scale * math.sqrt(b)


@kernel
def sums_of(search, terms, row, cap):
    """A and B of a matching; in B each couple counts as `cap` at most."""
    slots = search.mates.shape[1]
    a = b = 0.0
    for x in range(search.counters[MEMBERS]):
        i = search.players[x]
        j = search.mates[row, i]
        if i < j:
            a += terms.value[i * slots + j]
            b += min(terms.inverse[i * slots + j], cap)
    return a, b


@kernel
def copy_mates(mates, others):
    """Copy one matching over another; on a graph one of them has no phantom."""
    for i in range(min(len(mates), len(others))):
        others[i] = mates[i]


@kernel
def _guess(search, terms, scale):
    """The next c to try, and the weight that a new matching has to exceed there."""
    if not (_is_known(search, FEWER) or _is_known(search, MORE)):
        return 0.5, -np.inf
    a, b = sums_of(search, terms, FEWER if _is_known(search, FEWER) else MORE, np.inf)
    more_a, more_b = sums_of(search, terms, MORE if _is_known(search, MORE) else FEWER, np.inf)
    if more_b < b:
        a, b, more_a, more_b = more_a, more_b, a, b
    low, high = 0.5 / math.sqrt(more_b), 0.5 / math.sqrt(b)
    c = high
    if more_b > b:  # where both weigh alike, or where the bound from one of them is least
        c = min(max((a - more_a) / (scale * (more_b - b)), low), high)
    return c, max(a + scale * c * b, more_a + scale * c * more_b)


@kernel
def load_weights(search, terms, slope, cap):
    """Weigh each couple by its value + slope * inverse, the inverse at most `cap`."""
    slots, members = search.mates.shape[1], search.counters[MEMBERS]
    weight = search.exact.weight
    for x in range(members):
        row = search.players[x] * slots
        for y in range(members):
            couple = row + search.players[y]
            weight[x, y] = terms.value[couple] + slope * min(terms.inverse[couple], cap)


@kernel
def solve(search):
    """Find the exact matching of greatest weight and write it into the row FOUND."""
    solve_loaded(search.exact, search.players[: search.counters[MEMBERS]])
    for i in range(search.mates.shape[1]):
        search.mates[FOUND, i] = search.exact.kept_mate[i]


@kernel
def climb(search, terms, scale):
    """Make the best swap between two couples of BEST while any raises its index, and return that.

    A couple that deserves a try may be in no matching that is best for a weighting: couples worth
    more for their tries hide it. It is found a swap away.
    """
    a, b = sums_of(search, terms, BEST, np.inf)
    index = a + scale * math.sqrt(b)
    while True:
        low, high, best = _best_swap(search, terms, scale, (a, b))
        if best <= index + ROUNDING:
            return index
        x, y = search.mates[BEST, low], search.mates[BEST, high]
        search.mates[BEST, low], search.mates[BEST, high] = high, low
        search.mates[BEST, x], search.mates[BEST, y] = y, x
        a, b = sums_of(search, terms, BEST, np.inf)
        index = a + scale * math.sqrt(b)


@kernel
def _best_swap(search, terms, scale, sums):
    """The two players to couple, so that with their partners coupled too the index is greatest."""
    slots, members, mates = search.mates.shape[1], search.counters[MEMBERS], search.mates
    value, inverse = terms.value, terms.inverse
    low, high, best = 0, 0, -np.inf
    for k in range(members):
        i = search.players[k]
        x = mates[BEST, i]
        if x < i:
            continue
        a, b = sums[0] - value[i * slots + x], sums[1] - inverse[i * slots + x]
        for m in range(k + 1, members):
            j = search.players[m]
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
def bonus_scale(by_least_squares, couple_count, clock):
    """How far ESCB trusts its means in proposal number `clock`: the factor s of sqrt(B).

    It is never 0, for we divide by it, and never falls. Plain ESCB has s^2 = f / 2 with f = log t,
    as its authors take it in practice. OLS-UCB (Degenne and Perchet, 2016) proves its bound with
    more: for d couples with independent outcomes, whose variance is at most 1/4,
    s^2 = (1 + l) f / 2 with

        f = log t + (d + 2) log log t + d / 2 log(1 + e / l),

    which holds for every l > 0; as in public code, l is 1.
    """
    if by_least_squares == 0:
        return math.sqrt(0.5 * log(float(max(clock, 2))))
    level = log(float(max(clock, _FIRST_ROUND)))
    level += (couple_count + 2) * log(level) + couple_count * _PER_COUPLE
    return math.sqrt(0.5 * (1.0 + _SLACK) * level)
