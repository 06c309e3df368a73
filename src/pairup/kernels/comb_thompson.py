"""Combinatorial Thompson sampling: the exact best matching by one posterior draw for each couple.

Draw number k of a round is that of the k-th couple of the players available, in the order (0, 1),
(0, 2), ..., from a stream of the round's own; or the first draw is that of all couples.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.couples import set_members, write_mates
from pairup.kernels.exact_matching.max_matching import MatchingWorkspace, solve_loaded
from pairup.kernels.graph_matcher import (
    GraphMatcher,
    can_meet,
    match_by_weights,
    observe_on_graph,
    set_available_on_graph,
    set_weight,
    write_matching,
)
from pairup.kernels.runtime.compilation import kernel, outlined, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.distributions import fill_beta, fill_normal, normal
from pairup.kernels.runtime.logarithm import log
from pairup.kernels.runtime.randomness import word
from pairup.kernels.state_layout import COMMON, MEMBERS, POSTERIOR, ROUND

BETA, GAUSSIAN, CLIPPED, BOOSTED = range(4)  # kinds of posteriors

_FIRST_ROUND = 3  # log log t is positive from here on
_BOOST = 0.01  # called lambda by the authors of BG-CTS, whose value it is
_BOOST_PER_COUPLE = 0.5 * math.log(1.0 + math.e / _BOOST)


class CombThompsonState(NamedTuple):
    """State of `CombThompson`: statistics, the last matching, and the posteriors of all couples.

    A posterior is Beta(first, second), or normal with mean `first` and deviation `second`.
    """

    stats: CoupleStatistics
    workspace: MatchingWorkspace
    players: np.ndarray  # the first `now[MEMBERS]` are to be matched
    now: np.ndarray
    key: np.ndarray
    first: np.ndarray
    second: np.ndarray
    posteriors: np.ndarray  # of the couples available, in the order of their draws
    draws: np.ndarray


class CombThompsonGraphState(NamedTuple):
    """State of `CombThompson` on a graph."""

    inner: CombThompsonState
    matcher: GraphMatcher


def _propose(state, couples):
    players = state.players[: state.now[MEMBERS]]
    _draw_weights(state, players)
    state.now[ROUND] += 1
    solve_loaded(state.workspace, players)
    write_mates(state.workspace.kept_mate, players, couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        if state.now[POSTERIOR] != BETA:
            state.first[i, j] = mean
            state.second[i, j] = 0.5 / math.sqrt(state.stats.tries[i, j])
        elif played[c]:
            state.first[i, j] += 1.0
        else:
            state.second[i, j] += 1.0


provide(CombThompsonState, set_available=set_members, propose=_propose, observe=_observe)


def _propose_on_graph(state, couples):
    inner = state.inner
    _draw_weights_on_graph(state, len(couples))
    inner.now[ROUND] += 1
    match_by_weights(state.matcher)
    write_matching(state.matcher, couples)
    return OK


provide(
    CombThompsonGraphState,
    set_available=set_available_on_graph,
    propose=_propose_on_graph,
    observe=observe_on_graph,
)


@kernel
def _draw_weights(state, players):
    """Weigh the couples by a draw from each posterior; all are worth the same with the phantom."""
    weight, first, second = state.workspace.weight, state.posteriors[0], state.posteriors[1]
    real, count = len(players), 0
    if real > 0 and players[real - 1] == len(state.stats.tries) - 1:
        real -= 1
    for a in range(real):
        for b in range(a + 1, real):
            i, j = slot(players[a]), slot(players[b])
            first[count], second[count] = state.first[i, j], state.second[i, j]
            count += 1
    _draw(state, count, real // 2)
    k, draws = 0, state.draws
    for a in range(real):
        for b in range(a + 1, real):
            weight[a, b] = weight[b, a] = draws[k]
            k += 1
        for phantom in range(real, len(players)):
            weight[a, phantom] = weight[phantom, a] = 0.0


@kernel
def _draw(state, count, matched):
    """Fill `state.draws` with draws from the first `count` of `state.posteriors`.

    A matching has `matched` couples.
    """
    first, second, draws = state.posteriors[0], state.posteriors[1], state.draws[:count]
    key = word(state.key[0], state.now[ROUND])
    if state.now[POSTERIOR] == BETA:
        fill_beta(key, first[:count], second[:count], draws)
        return
    if state.now[COMMON] != 0:
        draws[:] = normal(word(key, 0))
    else:
        fill_normal(key, draws)
    if state.now[POSTERIOR] != GAUSSIAN:
        _reshape(state, draws, matched)
    for k in range(count):
        draws[k] = first[k] + second[k] * draws[k]  # infinite where a couple is unseen


@outlined
def _reshape(state, draws, matched):
    """Make standard normal draws wider, or cut them off below 0 and above."""
    level = log(float(max(state.now[ROUND] + 1, _FIRST_ROUND)))
    if state.now[POSTERIOR] == BOOSTED:
        more = (matched + 2) * log(level) + matched * _BOOST_PER_COUPLE
        wider = math.sqrt(2.0 * (1.0 + _BOOST) * (level + more) / level)
        for k in range(len(draws)):
            draws[k] *= wider
    else:
        most = math.sqrt(2.0 * (level + 3.0 * log(level)))
        for k in range(len(draws)):
            draws[k] = min(max(draws[k], 0.0), most)


@outlined
def _draw_weights_on_graph(state, matched):
    """Weigh the couples that can meet by a draw from each posterior, in their order."""
    inner, matcher, count = state.inner, state.matcher, 0
    first, second, numbers = inner.posteriors[0], inner.posteriors[1], matcher.order
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k):
            i, j = slot(matcher.graph.low[k]), slot(matcher.graph.high[k])
            first[count], second[count] = inner.first[i, j], inner.second[i, j]
            numbers[count] = k
            count += 1
    _draw(inner, count, matched)
    for x in range(count):
        set_weight(matcher, numbers[x], inner.draws[x])
