"""Matchings drawn uniformly at random."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.couples import write_couple
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


@kernel
def draw_matching(key, players, workspace, couples):
    """Write a matching of `players` drawn uniformly: a shuffle, cut into couples."""
    shuffled = workspace[: len(players)]
    for x in range(len(players)):
        shuffled[x] = players[x]
    shuffle(key, shuffled)
    for row in range(len(players) // 2):
        write_couple(couples, row, shuffled[2 * row], shuffled[2 * row + 1])
