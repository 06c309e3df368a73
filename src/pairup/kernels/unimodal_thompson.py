"""Unimodal Thompson sampling: play the leader, or the neighbour that looks best in a draw.

Every couple in sight, of the leader or of a neighbour, draws its rate from its posterior, once per
round. The draws stand side by side: at 5 k that of couple k of the leader, then those of the four
cross pairs of k and k + 1 (see `neighbours`).
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels import neighbours
from pairup.kernels.couple_statistics import PHANTOM_MEAN, CoupleStatistics
from pairup.kernels.greedy_leader import Leader, learn
from pairup.kernels.leader_counts import LeaderCounts
from pairup.kernels.neighbours import cross_pair, set_players, times_led, write
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import FULL, OK, provide
from pairup.kernels.runtime.distributions import fill_beta
from pairup.kernels.runtime.randomness import word
from pairup.kernels.state_layout import BY_PLAYERS, PERIOD, ROUND


class UnimodalThompsonState(NamedTuple):
    """State of `UnimodalThompson`: statistics, the leader, and a workspace for a round's draws."""

    stats: CoupleStatistics
    leader: Leader
    counts: LeaderCounts
    keys: np.ndarray  # of ties between pairs, and of the draws
    now: np.ndarray
    alpha: np.ndarray  # 1 + games of each couple that draws
    beta: np.ndarray  # 1 + proposals without a game
    draw: np.ndarray


def _propose(state, couples):
    neighbours.update_leader(state)
    led = times_led(state)
    if led < 0:
        return FULL
    neighbour = -1
    if (led + 1) % state.now[PERIOD] != 0:
        neighbour = _best_neighbour(state)
    write(state.leader, neighbour, couples)
    return OK


provide(UnimodalThompsonState, set_available=set_players, propose=_propose, observe=learn)


@kernel
def _best_neighbour(state):
    """The neighbour to play, or -1 for the leader itself, which wins its ties.

    By players (V2): how much better a new couple is than the better couple it undoes. By matchings
    (V1): how many more games the neighbour gives.
    """
    _draw_all(state)
    players = state.now[BY_PLAYERS] != 0
    best, best_neighbour = 0.0, -1
    for k in range(state.leader.couples[0] - 1):
        draw = state.draw[5 * k :]
        for swap in range(2):
            new, other = draw[1 + swap], draw[4 - swap]
            gain = max(new, other) - draw[0] if players else new + other - (draw[0] + draw[5])
            if gain > best:
                best, best_neighbour = gain, 2 * k + swap
    return best_neighbour


@kernel
def _draw_all(state):
    """Draw the rates of all couples in sight; the phantom's is known."""
    leader, last = state.leader, state.leader.couples[0] - 1
    for k in range(last + 1):
        _prepare(state, 5 * k, leader.order[2 * k], leader.order[2 * k + 1])
        if k < last:
            for cross in range(4):
                i, j = cross_pair(leader, k, cross)
                _prepare(state, 5 * k + 1 + cross, i, j)
    draws = 5 * last + 1
    key = word(state.keys[1], state.now[ROUND])
    fill_beta(key, state.alpha[:draws], state.beta[:draws], state.draw[:draws])
    phantom = len(leader.place) - 1
    if leader.place[phantom] >= 0:  # it is in the last couple, and in cross pairs with that before
        state.draw[5 * last] = PHANTOM_MEAN
        for cross in range(4 if last > 0 else 0):
            if cross_pair(leader, last - 1, cross)[1] == phantom:
                state.draw[5 * last - 4 + cross] = PHANTOM_MEAN


@kernel
def _prepare(state, x, i, j):
    """Write the posterior of couple (i, j), i < j, at place `x`."""
    tries, games = state.stats.tries[slot(i), slot(j)], state.stats.games[slot(i), slot(j)]
    state.alpha[slot(x)] = 1.0 + games
    state.beta[slot(x)] = 1.0 + (tries - games)
