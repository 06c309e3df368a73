"""AESCB: a matching whose index comes provably near the best, in polynomial time.

AESCB (Cuvelier, Combes and Gourdin, 2021) shares the regret of ESCB if in each round, for a fixed
e in (0, 1], it plays a matching x with

    max over y of A(y) + s sqrt(B(y))  <=  A(x) + (s / e) sqrt(B(x)).                            (1)

Its authors round A to integers and look for the greatest B at every budget of A. Here B has the
budget, and nothing is rounded. Let m be the number of couples in a matching.

Lemma. Couples with b > q count as b' = q, and B' is the sum. Let all matchings considered have
q <= B'. For t > 0 let x(t) have the greatest A + s B' / (2 sqrt(t)). Then u(t), which is that
plus s sqrt(t) / 2, bounds A + s sqrt(B') of all of them; and some x = x(t) has
u(t) <= A(x) + s h(r) sqrt(B'(x)) with h(r) = (r + 1 / r) / 2 and r = (1.1 m)^(1/4).

Proof. sqrt(B') <= B' / (2 sqrt(t)) + sqrt(t) / 2 for every t, hence the bound. With
p = sqrt(t / B'(x)) it reads u(t) = A(x) + s h(p) sqrt(B'(x)), and h(p) = h(1 / p). We bisect t,
geometrically, between q and m q, between which all B' lie: if B'(x(t)) < t, the upper end becomes
t, else the lower one, until the ends t1 <= t2 have t2 <= 1.1 t1. The matchings x1 and x2 found
there have B'(x1) >= t1 and B'(x2) <= t2, so that B'(x1) / t1 and t2 / B'(x2) are at least 1, and
their product is at most 1.1 m, because B'(x1) <= m q and B'(x2) >= q. The lesser of the two is at
most sqrt(1.1 m), and its root, the p of x1 or x2, at most r. At an end that never moved no matching
was found: if t2 = m q, then B'(x1) <= t2 <= 1.1 t1; if t1 = q, then t2 <= 1.1 B'(x2); either way
p <= sqrt(1.1) <= r where m > 1. With m = 1 the one matching has B' = q = t and p = 1. QED

Theorem. Let the best matching y have the couple k with its greatest b. In *branch* k all matchings
have the couple k, and q is its b. Then B'(y) = B(y), and q <= B' <= m q. So the lemma holds, and as
B >= B', in each branch a matching is found for which the right-hand side of (1), with
1 / e = h(r), is no less than the bound of the branch. The greatest of these right-hand sides is no
less than the greatest bound, which is no less than the index of y: (1) holds. Each branch takes at
most log2(log(m) / log(1.1)) + 1 exact matchings, and there are as many branches as couples.

1 / e is 1.07 for 8 players, 1.19 for 20, and exceeds sqrt(2) only from 62 players on. It grows as
m^(1/4) / 2.

Whether (1) can be met in deterministic polynomial time with the same e for all m is open for
general graphs. Take a graph with red and blue couples, b much less than 1 for red ones, 0 for blue
ones and a = 1/2 - z b, and a = b = 0 where there is no couple: with the right z the best index is
that of perfect matchings with k red couples, and (1) finds one with k / K to K k of them, K
depending on e alone. That is known for two sides, between k / 2 and 3 k / 2 (El Maalouly, 2023),
and without means of other sizes; with exactly k, from random numbers only. Patching two matchings
(Berger, Bonifaci, Grandoni and Schäfer, 2011) gives up one or two couples, that is, their means,
which no factor of the bonus pays for.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.state_fields import MEMBERS
from pairup.policies.escb.approximation import (
    BEST,
    FOUND,
    ROUNDING,
    climb,
    consider,
    copy_mates,
    index_of,
    load_weights,
    solve,
    sums_of,
)

RATIO = 1.1  # of the two ends at which a bisection stops


@kernel
def bonus_factor(couple_count):
    """Return 1 / e for matchings of at most the given number of couples."""
    root = math.sqrt(math.sqrt(RATIO * couple_count))
    return 0.5 * (root + 1.0 / root)


@outlined
def find_near_enough(search, terms, scale, bound):
    """Make the matching in the row BEST one with (1), given a bound on the best index.

    Returns a bound on the best index, with which (1) holds. Every branch is searched until its
    bound shows that BEST will do, or to the end of the bisection. Of the matchings found, that of
    the best index is played, unless (1) cannot be shown for it: then the one with the greatest
    right-hand side of (1).
    """
    wide = scale * bonus_factor(search.counters[MEMBERS] // 2)
    surest = index_of(search, terms, BEST, wide)
    if surest + ROUNDING >= bound:
        return bound
    copy_mates(search.mates[BEST], search.surest)
    greatest, slots = -np.inf, search.mates.shape[1]
    for x in range(search.counters[MEMBERS]):
        for y in range(x + 1, search.counters[MEMBERS]):
            if terms.inverse[search.players[x] * slots + search.players[y]] > 0.0:
                limit, surest = _search_branch(search, terms, scale, wide, surest, x, y)
                greatest = max(greatest, limit)
    bound = min(bound, greatest)
    climb(search, terms, scale)
    if index_of(search, terms, BEST, wide) + ROUNDING < bound:
        copy_mates(search.surest, search.mates[BEST])
    return bound


@outlined
def _search_branch(search, terms, scale, wide, surest, x, y):
    """Search the matchings with the couple at places x and y; returns a bound, and the surest."""
    slots = search.mates.shape[1]
    cap = terms.inverse[search.players[x] * slots + search.players[y]]
    low, high = math.sqrt(cap), math.sqrt(cap * (search.counters[MEMBERS] // 2))
    best, bound = index_of(search, terms, BEST, scale), np.inf
    while True:
        root = math.sqrt(low * high)  # the square root of t
        load_weights(search, terms, 0.5 * scale / root, cap)
        _force(search, x, y)
        solve(search)
        a, b = sums_of(search, terms, FOUND, cap)
        bound = min(bound, a + 0.5 * scale * (b / root + root))
        best = consider(search, terms, FOUND, scale, best)
        value = index_of(search, terms, FOUND, wide)
        if value > surest:
            surest = value
            copy_mates(search.mates[FOUND], search.surest)
        low, high = (low, root) if b < root * root else (root, high)
        near = bound <= index_of(search, terms, BEST, wide) + ROUNDING
        if near or high * high <= RATIO * low * low:
            return bound, surest


@kernel
def _force(search, x, y):
    """Forbid the players at places x and y all couples but their own."""
    weight = search.exact.weight
    for z in range(search.counters[MEMBERS]):
        if z != x and z != y:
            weight[x, z] = weight[z, x] = weight[y, z] = weight[z, y] = -np.inf
