"""Combinatorial Thompson sampling: the exact best matching by one posterior draw for each couple.

Draw number k of a round is that of the k-th couple of the players available, in the order (0, 1),
(0, 2), ..., from a stream of the round's own.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.counters import GAUSSIAN, ROUND
from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.exact_matching.max_matching import MatchingWorkspace, solve_loaded
from pairup.kernels.exact_matching.participants import Participants, set_participants, write_couples
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.distributions import fill_beta, fill_normal
from pairup.kernels.runtime.randomness import word


class CombThompsonState(NamedTuple):
    """State of `CombThompson`: statistics, the last matching, and the posteriors of all couples.

    A posterior is Beta(first, second), or normal with mean `first` and deviation `second`.
    """

    stats: CoupleStatistics
    workspace: MatchingWorkspace
    participants: Participants
    now: np.ndarray
    key: np.ndarray
    first: np.ndarray
    second: np.ndarray
    posteriors: np.ndarray  # of the couples available, in the order of their draws
    draws: np.ndarray


def set_available(state, players):
    """See `dispatch.set_available`."""
    set_participants(state.participants, players, len(state.stats.tries) - 1)


def propose(state, couples):
    """See `dispatch.propose`."""
    players = state.participants.players[: state.participants.size[0]]
    key = word(state.key[0], state.now[ROUND])
    state.now[ROUND] += 1
    if state.now[GAUSSIAN] != 0:
        _draw_normal(state, players, key)
    else:
        _draw_beta(state, players, key)
    solve_loaded(state.workspace, players)
    write_couples(state.workspace, state.participants, couples)
    return OK


def observe(state, couples, played):
    """See `dispatch.observe`."""
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


provide(CombThompsonState, set_available=set_available, propose=propose, observe=observe)


@kernel
def _real(state, players):
    """How many of the participants are real, not the phantom."""
    count, phantom = len(players), len(state.stats.tries) - 1
    return count - 1 if count > 0 and players[count - 1] == phantom else count


@kernel
def _draw_normal(state, players, key):
    """Weigh the couples by normal draws; couples not seen yet have an infinite mean."""
    weight, real = state.workspace.weight, _real(state, players)
    draws = state.draws[: real * (real - 1) // 2]
    fill_normal(key, draws)
    k = 0
    for a in range(real):
        for b in range(a + 1, real):
            i, j = slot(players[a]), slot(players[b])
            weight[a, b] = weight[b, a] = state.first[i, j] + state.second[i, j] * draws[k]
            k += 1
    _weigh_phantom(state, players, real)


@kernel
def _draw_beta(state, players, key):
    """Weigh the couples by Beta draws."""
    weight, real = state.workspace.weight, _real(state, players)
    count, k = real * (real - 1) // 2, 0
    for a in range(real):
        for b in range(a + 1, real):
            i, j = slot(players[a]), slot(players[b])
            state.posteriors[0, k], state.posteriors[1, k] = state.first[i, j], state.second[i, j]
            k += 1
    draws = state.draws[:count]
    fill_beta(key, state.posteriors[0, :count], state.posteriors[1, :count], draws)
    k = 0
    for a in range(real):
        for b in range(a + 1, real):
            weight[a, b] = weight[b, a] = draws[k]
            k += 1
    _weigh_phantom(state, players, real)


@kernel
def _weigh_phantom(state, players, real):
    """All are worth the same with the phantom, if it takes part."""
    for phantom in range(real, len(players)):
        for a in range(real):
            state.workspace.weight[a, phantom] = state.workspace.weight[phantom, a] = 0.0
