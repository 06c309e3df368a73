"""Combinatorial UCB: the exact matching of greatest optimism, with the UCB or the KL index.

Every couple is kept as `base + slope * x`, over slots i < j:

- UCB: base is the mean, slope 1 / sqrt(tries), x = sqrt(1.5 log(round - 1)): the index itself.
- KL: a tangent of the index as a function of x = log round + 3 log log round, an upper bound. The
  matching is found by the bounds, then the indices of its couples are solved and take their place,
  and it is found again until its couples are worth what the bounds said. Every other matching is
  worth no more than its bounds, and those are worth no more than this one: it is the best by the
  indices too. Bounds are nearly the indices, so that mostly the first matching stands.

Unseen couples have an infinite base.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.couple_statistics import PHANTOM_MEAN, CoupleStatistics, record
from pairup.kernels.couples import set_members, write_mates
from pairup.kernels.exact_matching.max_matching import MatchingWorkspace, solve_loaded
from pairup.kernels.graph_matcher import (
    GraphMatcher,
    can_meet,
    is_matched,
    match_by_weights,
    observe_on_graph,
    set_available_on_graph,
    set_weight,
    write_matching,
)
from pairup.kernels.kl_index import exploration_level, kl_index, slope_at
from pairup.kernels.runtime.compilation import kernel, outlined, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.logarithm import log
from pairup.kernels.state_layout import KL, MEMBERS, ROUND

_MARGIN = 1e-13  # a bound nearer to its index than this is as good as the index


class CombUCBState(NamedTuple):
    """State of `CombUCB`: statistics, the last matching, and the bounds of all couples."""

    stats: CoupleStatistics
    workspace: MatchingWorkspace
    players: np.ndarray  # the first `now[MEMBERS]` are to be matched
    now: np.ndarray
    base: np.ndarray  # inf for unseen couples; KL: and for those whose tangent is not known
    slope: np.ndarray
    solved: np.ndarray  # KL: the round in which the index was last solved


class CombUCBGraphState(NamedTuple):
    """State of `CombUCB` on a graph."""

    inner: CombUCBState
    matcher: GraphMatcher


def _propose(state, couples):
    players, x = state.players[: state.now[MEMBERS]], _next_level(state)
    _weigh(state, players, x)
    while True:
        solve_loaded(state.workspace, players)
        if state.now[KL] == 0 or not _refine(state, players, x):
            break
    write_mates(state.workspace.kept_mate, players, couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        if state.now[KL] != 0:
            state.base[i, j], state.slope[i, j] = np.inf, 0.0
        else:
            state.base[i, j], state.slope[i, j] = mean, 1.0 / math.sqrt(state.stats.tries[i, j])


provide(CombUCBState, set_available=set_members, propose=_propose, observe=_observe)


def _propose_on_graph(state, couples):
    inner, matcher = state.inner, state.matcher
    x = _next_level(inner)
    _weigh_on_graph(inner, matcher, x)
    while True:
        match_by_weights(matcher)
        if inner.now[KL] == 0 or not _refine_on_graph(inner, matcher, x):
            break
    write_matching(matcher, couples)
    return OK


provide(
    CombUCBGraphState,
    set_available=set_available_on_graph,
    propose=_propose_on_graph,
    observe=observe_on_graph,
)


@kernel
def _next_level(state):
    """Count the round; returns the x of its indices."""
    state.now[ROUND] += 1
    if state.now[KL] != 0:
        return exploration_level(state.now[ROUND])
    return math.sqrt(1.5 * log(float(max(state.now[ROUND] - 1, 1))))


@kernel
def _weigh(state, players, x):
    """Give the couples of the players their weights: indices, or bounds on them."""
    weight = state.workspace.weight
    for a in range(len(players)):
        for b in range(a + 1, len(players)):
            i, j = slot(players[a]), slot(players[b])
            weight[a, b] = weight[b, a] = _bound(state, i, j, x)


@kernel
def _bound(state, i, j, x):
    """The index of a couple, or a bound on it."""
    w = state.base[i, j] + state.slope[i, j] * x
    if w == np.inf and state.stats.tries[i, j] > 0:
        w = _solve(state, i, j, x)
    return w


@outlined
def _weigh_on_graph(state, matcher, x):
    """As `_weigh`, for the couples of a graph."""
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k):
            i, j = slot(matcher.graph.low[k]), slot(matcher.graph.high[k])
            set_weight(matcher, k, _bound(state, i, j, x))


@outlined
def _refine_on_graph(state, matcher, level):
    """As `_refine`, for the couples of a graph."""
    much = False
    for k in range(len(matcher.weights)):
        i, j = matcher.graph.low[k], matcher.graph.high[k]
        if is_matched(matcher, k) and state.stats.tries[i, j] > 0:
            if state.solved[i, j] != state.now[ROUND]:
                before = matcher.weights[k]
                set_weight(matcher, k, _solve(state, i, j, level))
                much |= before - matcher.weights[k] > _MARGIN
    return much


@kernel
def _solve(state, i, j, level):
    """The exact KL index of a couple; its tangent is kept for the rounds to come."""
    mean, tries = state.stats.mean[i, j], state.stats.tries[i, j]
    q = kl_index(mean, tries, level)
    state.solved[i, j] = state.now[ROUND]
    if level > 0.0:
        slope = slope_at(mean, tries, q)
        state.base[i, j], state.slope[i, j] = q - slope * level, slope
    return q


@kernel
def _refine(state, players, level):
    """Replace the bounds of the couples matched by indices; whether one was much too high."""
    weight, much = state.workspace.weight, False
    for a in range(len(players)):
        b = state.workspace.mate[a]
        if a > b:
            continue
        i, j = players[a], players[b]
        known = state.stats.tries[i, j] > 0 and state.stats.mean[i, j] != PHANTOM_MEAN
        if known and state.solved[i, j] != state.now[ROUND]:
            q = _solve(state, i, j, level)
            much |= weight[a, b] - q > _MARGIN
            weight[a, b] = weight[b, a] = q
    return much
