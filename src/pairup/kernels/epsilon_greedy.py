"""Epsilon-greedy: now and then a matching drawn at random, otherwise the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader
from pairup.kernels.couple_statistics import CoupleStatistics
from pairup.kernels.greedy_leader import Leader, learn
from pairup.kernels.neighbours import write
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import MANTISSA, mantissa, word
from pairup.kernels.state_layout import AVAILABLE, DECAYS, ROUND
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


def _set_available(state, players):
    state.now[AVAILABLE] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]
    greedy_leader.set_players(state.leader, state.stats, players)


def _propose(state, couples):
    now, share = state.now, state.epsilon[0]
    now[ROUND] += 1
    if now[DECAYS]:
        share = share * (2 * state.leader.couples[0] - 1) / now[ROUND]
    draw = mantissa(word(state.keys[1], now[ROUND]))
    if np.float64(draw) < share * MANTISSA:
        players = state.players[: now[AVAILABLE]]
        draw_matching(word(state.keys[2], now[ROUND]), players, state.shuffled, couples)
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


provide(EpsilonGreedyState, set_available=_set_available, propose=_propose, observe=learn)
