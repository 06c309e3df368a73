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

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from pairup.compiled.couples.kl_index import exploration_level, kl_index, slope_at
from pairup.compiled.couples.rows import set_members, write_mates
from pairup.compiled.couples.statistics import PHANTOM_MEAN, CoupleStatistics, record
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import log
from pairup.compiled.matchings.graph_matcher import (
    can_meet,
    is_matched,
    match_by_weights,
    set_weight,
    write_matching,
)
from pairup.compiled.matchings.max_matching import MatchingWorkspace, solve_loaded
from pairup.compiled.state_fields import (
    MEMBERS,
    OWN,
    ROUND,
    Integers,
    Reals,
    new_counters,
    new_state,
)
from pairup.compiled.steps import OK, provide
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import ExactMatchingPolicy
from pairup.policies.registry import register

# Places of counters.
(
    KL,  # the KL index, not UCB
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 2)

_MARGIN = 1e-13  # a bound nearer to its index than this is as good as the index


@register
@dataclass(frozen=True)
class CombUCB(ExactMatchingPolicy):
    """Play the matching of greatest total optimism (CombUCB1, Kveton et al., 2015).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used. Couples not seen yet come first, as many as a matching can hold.

    Parameters
    ----------
    index : {"ucb", "kl"}
        Optimistic estimate of a couple after N proposals, in round t:
        mean + sqrt(1.5 log(t - 1) / N), or the KL-UCB index at level log t + 3 log log t.

    Examples
    --------
    >>> from pairup import CombUCB, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombUCB(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    index: Literal["ucb", "kl"] = "ucb"

    name: ClassVar[str] = "comb_ucb"
    plays_on_graphs: ClassVar[bool] = True
    draws_at_random: ClassVar[bool] = False
    nominal_ns: ClassVar[int] = 200

    def nominal_cost(self) -> int:
        # The KL index takes longer than the UCB index.
        return self.nominal_ns * (2 if self.index == "kl" else 1)

    def sizes(self, context: StartContext) -> dict[str, int]:
        return super().sizes(context) | {"kl": int(self.index == "kl")}

    def start(self, context: StartContext) -> CombUCBState:
        counters = new_counters({KL: self.index == "kl"}, _COUNTERS)
        return new_state(CombUCBState, self.sizes(context), counters=counters)


class CombUCBState(NamedTuple):
    """State of `CombUCB`: statistics, the last matching, and the bounds of all couples."""

    stats: CoupleStatistics
    workspace: MatchingWorkspace
    players: np.ndarray = Integers("slots + 1")  # the first `counters[MEMBERS]` are to be matched
    counters: np.ndarray = Integers(_COUNTERS)
    # Inf for unseen couples; KL: and for those whose tangent is not known.
    base: np.ndarray = Reals(
        "slots, slots", np.inf, phantom=PHANTOM_MEAN, saved=True, least=-1, most=2, by_couple=True
    )
    slope: np.ndarray = Reals("slots, slots", saved=True, least=0, most=1, by_couple=True)
    # KL: the round in which the index was last solved.
    solved: np.ndarray = Integers("slots * kl, slots * kl")


def _propose(state, couples):
    players, x = state.players[: state.counters[MEMBERS]], _next_level(state)
    _weigh(state, players, x)
    while True:
        solve_loaded(state.workspace, players)
        if state.counters[KL] == 0 or not _refine(state, players, x):
            break
    write_mates(state.workspace.kept_mate, players, couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        if state.counters[KL] != 0:
            state.base[i, j], state.slope[i, j] = np.inf, 0.0
        else:
            state.base[i, j], state.slope[i, j] = mean, 1.0 / math.sqrt(state.stats.tries[i, j])


def _propose_on_graph(state, matcher, couples):
    x = _next_level(state)
    _weigh_on_graph(state, matcher, x)
    while True:
        match_by_weights(matcher)
        if state.counters[KL] == 0 or not _refine_on_graph(state, matcher, x):
            break
    write_matching(matcher, couples)
    return OK


provide(
    CombUCBState,
    set_available=set_members,
    propose=_propose,
    observe=_observe,
    propose_on_graph=_propose_on_graph,
)


@kernel
def _next_level(state):
    """Count the round; returns the x of its indices."""
    state.counters[ROUND] += 1
    if state.counters[KL] != 0:
        return exploration_level(state.counters[ROUND])
    return math.sqrt(1.5 * log(float(max(state.counters[ROUND] - 1, 1))))


@kernel
def _weigh(state, players, x):
    """Set the weights of the players' couples: indices, or bounds on them."""
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
            if state.solved[i, j] != state.counters[ROUND]:
                before = matcher.weights[k]
                set_weight(matcher, k, _solve(state, i, j, level))
                much |= before - matcher.weights[k] > _MARGIN
    return much


@kernel
def _solve(state, i, j, level):
    """The exact KL index of a couple; its tangent is kept for the rounds to come."""
    mean, tries = state.stats.mean[i, j], state.stats.tries[i, j]
    q = kl_index(mean, tries, level)
    state.solved[i, j] = state.counters[ROUND]
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
        if known and state.solved[i, j] != state.counters[ROUND]:
            q = _solve(state, i, j, level)
            much |= weight[a, b] - q > _MARGIN
            weight[a, b] = weight[b, a] = q
    return much
