"""Matchings drawn uniformly at random."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.couples import write_couple
from pairup.kernels.graph_matcher import GraphMatcher, draw_graph_matching, set_available_on_graph
from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.runtime.dispatch import OK, learn_nothing, provide
from pairup.kernels.runtime.randomness import shuffle, word
from pairup.kernels.state_layout import AVAILABLE, ROUND


class UniformState(NamedTuple):
    """State of `Uniform`: the players available (the first of `players`), and their shuffle."""

    players: np.ndarray
    shuffled: np.ndarray
    now: np.ndarray
    key: np.ndarray


class UniformGraphState(NamedTuple):
    """State of `Uniform` on a graph."""

    inner: UniformState
    matcher: GraphMatcher


def _set_available(state, players):
    state.now[AVAILABLE] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]


def _propose(state, couples):
    players = state.players[: state.now[AVAILABLE]]
    draw_matching(word(state.key[0], state.now[ROUND]), players, state.shuffled, couples)
    state.now[ROUND] += 1
    return OK


provide(UniformState, set_available=_set_available, propose=_propose, observe=learn_nothing)


def _propose_on_graph(state, couples):
    inner = state.inner
    draw_graph_matching(word(inner.key[0], inner.now[ROUND]), state.matcher, couples)
    inner.now[ROUND] += 1
    return OK


provide(
    UniformGraphState,
    set_available=set_available_on_graph,
    propose=_propose_on_graph,
    observe=learn_nothing,
)


@kernel
def draw_matching(key, players, workspace, couples):
    """Write a matching of `players` drawn uniformly: a shuffle, cut into couples."""
    shuffled = workspace[: len(players)]
    for x in range(len(players)):
        shuffled[x] = players[x]
    shuffle(key, shuffled)
    for row in range(len(players) // 2):
        write_couple(couples, row, shuffled[2 * row], shuffled[2 * row + 1])
