"""ESCB on a graph: a matching with nearly the best index, from matchings of greatest weight.

With games of different worth the index of a matching is A + s sqrt(B), A the sum of worth times
mean and B that of worth squared over tries. As in `approximation`, sqrt(B) <= c B + 1 / (4 c) for
every c > 0, so that the greatest A + s c B, plus s / (4 c), is a bound on the best index. The c at
which it is least is found by steps: at a matching with the sum B it would be 1 / (2 sqrt(B)). Of
all matchings seen on the way the one with the best index is taken. With `search="budgeted"` the
search continues in branches, one per couple, as `budgeted` describes and proves.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.graph_matcher import (
    can_meet,
    match_by_weights,
    set_weight,
    write_matching,
)
from pairup.compiled.state_fields import ROUND
from pairup.compiled.steps import OK
from pairup.policies.escb.approximation import (
    BEST,
    BUDGETED,
    OLS,
    ROUNDING,
    bonus_scale,
    certify,
    copy_mates,
)
from pairup.policies.escb.budgeted import RATIO, bonus_factor

_MAX_STEPS = 6  # exact matchings per round


def propose_on_graph(state, matcher, couples):
    """The step of `ESCB` on a graph."""
    state.counters[ROUND] += 1
    if _weigh_unseen(state, matcher):
        match_by_weights(matcher)
    else:
        counters, known = state.search.counters, len(matcher.weights)
        scale = bonus_scale(counters[OLS], known, state.counters[ROUND])
        bound = _find_near_best(state, matcher, scale)
        if counters[BUDGETED] == 1:
            bound = _find_near_enough(state, matcher, scale, bound)
        index = _index(state, matcher, matcher.workspace.mate, scale)
        certify(state.search.reals, index, bound)
    write_matching(matcher, couples)
    return OK


@kernel
def _weigh_unseen(state, matcher):
    """Weigh couples so that as many unseen ones as possible are matched; False if all are seen."""
    unseen = False
    for k in range(len(matcher.weights)):
        i, j = matcher.graph.low[k], matcher.graph.high[k]
        is_new = state.stats.tries[i, j] == 0
        unseen |= is_new and matcher.worth[k] > 0.0 and can_meet(matcher, k)
        set_weight(matcher, k, np.inf if is_new else state.stats.mean[i, j])
    return unseen


@outlined
def _find_near_best(state, matcher, scale):
    """Leave the matching with nearly the best index in the workspace; bound the best index."""
    mates, found = matcher.workspace.mate, state.search.mates[BEST]
    best, bound, c = -np.inf, np.inf, 0.5
    for _ in range(_MAX_STEPS):
        _match(state, matcher, scale * c, np.inf)
        a, b = _sums(state, matcher, mates, np.inf)
        bound = min(bound, a + scale * (c * b + 0.25 / c))
        index = a + scale * math.sqrt(b)
        if index > best:
            best = index
            copy_mates(mates, found)
        if bound <= best + ROUNDING or b <= 0.0 or abs(2.0 * c * math.sqrt(b) - 1.0) < ROUNDING:
            break
        c = 0.5 / math.sqrt(b)
    copy_mates(found, mates)
    return bound


@outlined
def _find_near_enough(state, matcher, scale, bound):
    """As `budgeted.find_near_enough`, with the matching in the workspace."""
    mates, best, surest = matcher.workspace.mate, state.search.mates[BEST], state.search.surest
    wide = scale * bonus_factor(_count_most_couples(matcher))
    if _index(state, matcher, mates, wide) + ROUNDING >= bound:
        return bound
    copy_mates(mates, best)
    copy_mates(mates, surest)
    greatest = -np.inf
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k) and _spread(state, matcher, k) > 0.0:
            greatest = max(greatest, _search_branch(state, matcher, k, scale, wide))
    bound = min(bound, greatest)
    near = _index(state, matcher, best, wide) + ROUNDING >= bound
    copy_mates(best if near else surest, mates)
    return bound


@kernel
def _count_most_couples(matcher):
    """The most couples that a matching of the players available could have."""
    players = 0
    for i in range(len(matcher.available)):
        players += matcher.available[i]
    return max(players // 2, 1)


@outlined
def _search_branch(state, matcher, k, scale, wide):
    """Search the matchings with couple `k`, and return a bound on their indices."""
    search, cap, bound = state.search, _spread(state, matcher, k), np.inf
    low, high = math.sqrt(cap), math.sqrt(cap * _count_most_couples(matcher))
    while True:
        root = math.sqrt(low * high)
        _match_with(state, matcher, k, 0.5 * scale / root, cap)
        a, b = _sums(state, matcher, matcher.workspace.mate, cap)
        bound = min(bound, a + 0.5 * scale * (b / root + root))
        _keep_better(state, matcher, search.surest, wide)
        _keep_better(state, matcher, search.mates[BEST], scale)
        low, high = (low, root) if b < root * root else (root, high)
        near = bound <= _index(state, matcher, search.mates[BEST], wide) + ROUNDING
        if near or high * high <= RATIO * low * low:
            return bound


@kernel
def _match_with(state, matcher, k, slope, cap):
    """As `_match`, of the matchings with couple `k`."""
    i, j = matcher.graph.low[k], matcher.graph.high[k]
    matcher.available[i] = matcher.available[j] = False
    _match(state, matcher, slope, cap)
    matcher.available[i] = matcher.available[j] = True
    matcher.workspace.mate[i], matcher.workspace.mate[j] = j, i


@kernel
def _keep_better(state, matcher, mates, scale):
    """Copy the matching in the workspace over `mates`, if its index is the better one."""
    found = matcher.workspace.mate
    if _index(state, matcher, found, scale) > _index(state, matcher, mates, scale):
        copy_mates(found, mates)


@outlined
def _match(state, matcher, slope, cap):
    """Find the matching of greatest A + slope B, in which couples count as `cap` at most."""
    terms, slots = state.terms, len(state.round_robin.available)
    for k in range(len(matcher.weights)):
        couple, worth = matcher.graph.low[k] * slots + matcher.graph.high[k], matcher.worth[k]
        bonus = slope * worth * terms.inverse[couple]
        if _spread(state, matcher, k) > cap:
            bonus = slope * cap / worth
        set_weight(matcher, k, terms.value[couple] + bonus)
    match_by_weights(matcher)


@kernel
def _spread(state, matcher, k):
    """What couple `k` adds to B."""
    couple = matcher.graph.low[k] * len(state.round_robin.available) + matcher.graph.high[k]
    return matcher.worth[k] * matcher.worth[k] * state.terms.inverse[couple]


@kernel
def _index(state, matcher, mates, scale):
    """A + scale sqrt(B) of a matching."""
    a, b = _sums(state, matcher, mates, np.inf)
    return a + scale * math.sqrt(b)


@outlined
def _sums(state, matcher, mates, cap):
    """A and B of a matching; in B each couple counts as `cap` at most."""
    graph, slots = matcher.graph, len(state.round_robin.available)
    a = b = 0.0
    for k in range(len(matcher.weights)):
        if mates[graph.low[k]] == graph.high[k]:
            a += matcher.worth[k] * state.terms.value[graph.low[k] * slots + graph.high[k]]
            b += min(_spread(state, matcher, k), cap)
    return a, b
