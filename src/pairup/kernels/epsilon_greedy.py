"""Epsilon-greedy: now and then a matching drawn at random, otherwise the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader
from pairup.kernels.couple_statistics import CoupleStatistics
from pairup.kernels.graph_matcher import (
    GraphMatcher,
    draw_graph_matching,
    match_by_weights,
    observe_on_graph,
    set_available_on_graph,
    set_weights_by_couples,
    write_matching,
)
from pairup.kernels.greedy_leader import Leader, learn
from pairup.kernels.neighbours import write
from pairup.kernels.runtime.compilation import kernel
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


class EpsilonGreedyGraphState(NamedTuple):
    """State of `EpsilonGreedy` on a graph."""

    inner: EpsilonGreedyState
    matcher: GraphMatcher
    degree: np.ndarray  # the most players whom one may meet: rounds in which all could


def _set_available(state, players):
    state.now[AVAILABLE] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]
    greedy_leader.set_players(state.leader, state.stats, players)


def _propose(state, couples):
    now = state.now
    if _explores(state, 2 * state.leader.couples[0] - 1):
        players = state.players[: now[AVAILABLE]]
        draw_matching(word(state.keys[2], now[ROUND]), players, state.shuffled, couples)
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


provide(EpsilonGreedyState, set_available=_set_available, propose=_propose, observe=learn)


def _propose_on_graph(state, couples):
    inner, matcher = state.inner, state.matcher
    if _explores(inner, state.degree[0]):
        draw_graph_matching(word(inner.keys[2], inner.now[ROUND]), matcher, couples)
    else:
        set_weights_by_couples(matcher, inner.stats.mean)
        match_by_weights(matcher)
        write_matching(matcher, couples)
    return OK


provide(
    EpsilonGreedyGraphState,
    set_available=set_available_on_graph,
    propose=_propose_on_graph,
    observe=observe_on_graph,
)


@kernel
def _explores(state, cycle):
    """Count the round, and draw whether it explores; all couples can meet in `cycle` rounds."""
    now, share = state.now, state.epsilon[0]
    now[ROUND] += 1
    if now[DECAYS]:
        share = share * cycle / now[ROUND]
    draw = mantissa(word(state.keys[1], now[ROUND]))
    return np.float64(draw) < share * MANTISSA
