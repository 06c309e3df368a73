"""ESCB on a graph: a matching with nearly the best index, from matchings of greatest weight.

With games of different worth the index of a matching is A + s sqrt(B), A the sum of worth times
mean and B that of worth squared over tries. As in `approximation`, sqrt(B) <= c B + 1 / (4 c) for
every c > 0, so that the greatest A + s c B, plus s / (4 c), is a bound on the best index. The c at
which it is least is found by steps: at a matching with the sum B it would be 1 / (2 sqrt(B)). Of
all matchings seen on the way the one with the best index is taken.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.graph_matcher import (
    can_meet,
    is_matched,
    match_by_weights,
    set_weight,
    write_matching,
)
from pairup.compiled.state_fields import ROUND
from pairup.compiled.steps import OK
from pairup.policies.escb.approximation import BEST, OLS, bonus_scale, certify

_MAX_STEPS = 6  # exact matchings per round
_ROUNDING = 1e-13  # a smaller difference of indices is rounding


def propose_on_graph(state, matcher, couples):
    """The step of `ESCB` on a graph."""
    state.counters[ROUND] += 1
    if _weigh_unseen(state, matcher):
        match_by_weights(matcher)
    else:
        by_least_squares, known = state.search.counters[OLS], len(matcher.weights)
        _find_near_best(state, matcher, bonus_scale(by_least_squares, known, state.counters[ROUND]))
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
    """Leave the matching with nearly the best index in the workspace, and certify its ratio."""
    mates, found = matcher.workspace.mate, state.search.mates[BEST]
    best, bound, c = -np.inf, np.inf, 0.5
    for _ in range(_MAX_STEPS):
        a, b = _match(state, matcher, scale * c)
        bound = min(bound, a + scale * (c * b + 0.25 / c))
        index = a + scale * math.sqrt(b)
        if index > best:
            best = index
            _copy(mates, found, len(mates))
        if bound <= best + _ROUNDING or b <= 0.0 or abs(2.0 * c * math.sqrt(b) - 1.0) < _ROUNDING:
            break
        c = 0.5 / math.sqrt(b)
    _copy(found, mates, len(mates))
    certify(state.search.reals, best, bound)


@kernel
def _match(state, matcher, slope):
    """Find the matching of greatest A + slope B; returns its A and B."""
    terms, slots = state.terms, len(state.round_robin.available)
    for k in range(len(matcher.weights)):
        couple = matcher.graph.low[k] * slots + matcher.graph.high[k]
        bonus = slope * matcher.worth[k] * terms.inverse[couple]
        set_weight(matcher, k, terms.value[couple] + bonus)
    match_by_weights(matcher)
    a = b = 0.0
    for k in range(len(matcher.weights)):
        if is_matched(matcher, k):
            couple, worth = matcher.graph.low[k] * slots + matcher.graph.high[k], matcher.worth[k]
            a += worth * terms.value[couple]
            b += worth * worth * terms.inverse[couple]
    return a, b


@kernel
def _copy(mates, others, slots):
    for i in range(slots):
        others[i] = mates[i]
