"""Epsilon-greedy: now and then a matching drawn at random, otherwise the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader
from pairup.kernels.counters import AVAILABLE, DECAYS, ROUND
from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.greedy_leader import Leader, note_mean
from pairup.kernels.neighbours import write
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import MANTISSA, mantissa, word
from pairup.kernels.uniform import draw_matching


class EpsilonGreedyState(NamedTuple):
    """State of `EpsilonGreedy`: statistics, their leader, and the players available."""

    stats: CoupleStatistics
    leader: Leader
    keys: np.ndarray  # of ties between pairs, of when to explore, of the matchings then drawn
    now: np.ndarray
    epsilon: np.ndarray
    players: np.ndarray
    shuffled: np.ndarray


def set_available(state, players):
    """See `dispatch.set_available`."""
    state.now[AVAILABLE] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]
    greedy_leader.set_players(state.leader, state.stats, players, len(state.leader.place) - 1)


def propose(state, couples):
    """See `dispatch.propose`."""
    now = state.now
    now[ROUND] += 1
    draw = mantissa(word(state.keys[1], now[ROUND]))
    if np.float64(draw) < _share(state) * MANTISSA:
        players = state.players[: now[AVAILABLE]]
        draw_matching(word(state.keys[2], now[ROUND]), players, state.shuffled, couples)
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


def observe(state, couples, played):
    """See `dispatch.observe`."""
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        note_mean(state.leader, state.keys[0], i, j, mean)


provide(EpsilonGreedyState, set_available=set_available, propose=propose, observe=observe)


@kernel
def _share(state):
    """How likely this round is to explore."""
    epsilon, now = state.epsilon[0], state.now
    if now[DECAYS]:
        return epsilon * (2 * state.leader.couples[0] - 1) / now[ROUND]
    return epsilon
