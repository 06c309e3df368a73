"""Combinatorial Thompson sampling: the exact best matching by one posterior draw for each couple.

Draw number k of a round is that of the k-th couple of the players available, in the order (0, 1),
(0, 2), ..., from a stream of the round's own.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.couples import set_members, write_mates
from pairup.kernels.exact_matching.max_matching import MatchingWorkspace, solve_loaded
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.distributions import fill_beta, fill_normal
from pairup.kernels.runtime.randomness import word
from pairup.kernels.state_layout import GAUSSIAN, MEMBERS, ROUND


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


def _propose(state, couples):
    players = state.players[: state.now[MEMBERS]]
    _draw_weights(state, players, word(state.key[0], state.now[ROUND]))
    state.now[ROUND] += 1
    solve_loaded(state.workspace, players)
    write_mates(state.workspace.kept_mate, players, couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        if state.now[GAUSSIAN] != 0:
            state.first[i, j] = mean
            state.second[i, j] = 0.5 / math.sqrt(state.stats.tries[i, j])
        elif played[c]:
            state.first[i, j] += 1.0
        else:
            state.second[i, j] += 1.0


provide(CombThompsonState, set_available=set_members, propose=_propose, observe=_observe)


@kernel
def _draw_weights(state, players, key):
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
    draws = state.draws[:count]
    if state.now[GAUSSIAN] != 0:
        fill_normal(key, draws)
        for k in range(count):
            draws[k] = first[k] + second[k] * draws[k]  # infinite where a couple is unseen
    else:
        fill_beta(key, first[:count], second[:count], draws)
    k = 0
    for a in range(real):
        for b in range(a + 1, real):
            weight[a, b] = weight[b, a] = draws[k]
            k += 1
        for phantom in range(real, len(players)):
            weight[a, phantom] = weight[phantom, a] = 0.0
