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
from pairup.kernels.kl_index import exploration_level, kl_index, slope_at
from pairup.kernels.runtime.compilation import kernel, slot
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


def _propose(state, couples):
    state.now[ROUND] += 1
    players = state.players[: state.now[MEMBERS]]
    if state.now[KL] != 0:
        x = exploration_level(state.now[ROUND])
    else:
        x = math.sqrt(1.5 * log(float(max(state.now[ROUND] - 1, 1))))
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


@kernel
def _weigh(state, players, x):
    """Give the couples of the players their weights: indices, or bounds on them."""
    weight = state.workspace.weight
    for a in range(len(players)):
        for b in range(a + 1, len(players)):
            i, j = slot(players[a]), slot(players[b])
            w = state.base[i, j] + state.slope[i, j] * x
            if w == np.inf and state.stats.tries[i, j] > 0:
                w = _solve(state, i, j, x)
            weight[a, b] = weight[b, a] = w


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
