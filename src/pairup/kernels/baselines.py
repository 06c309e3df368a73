"""The two ends of the scale: matchings drawn at random, and the best one."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import shuffle, word


class UniformState(NamedTuple):
    """State of `Uniform`: the seated players (the first `seated`), proposals so far, the key."""

    players: np.ndarray
    shuffled: np.ndarray
    seated: np.ndarray
    round: np.ndarray
    key: np.ndarray


class OracleState(NamedTuple):
    """State of `Oracle`: all slots from the best rate to the worst, and who is seated."""

    ranking: np.ndarray
    seated: np.ndarray


def set_available_uniform(state, players):
    """See `dispatch.set_available`."""
    state.seated[0] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]


def propose_uniform(state, couples):
    """See `dispatch.propose`."""
    players = state.players[: state.seated[0]]
    draw_matching(word(state.key[0], state.round[0]), players, state.shuffled, couples)
    state.round[0] += 1
    return OK


def set_available_oracle(state, players):
    """See `dispatch.set_available`."""
    state.seated[:] = False
    for i in players:
        state.seated[i] = True


def propose_oracle(state, couples):
    """See `dispatch.propose`: neighbours in the ranking."""
    row, waiting = 0, -1
    for i in state.ranking:
        if not state.seated[i]:
            continue
        if waiting < 0:
            waiting = i
        else:
            _write(couples, row, waiting, i)
            row, waiting = row + 1, -1
    return OK


def learn_nothing(state, couples, played):
    """See `dispatch.observe`."""


@kernel
def draw_matching(key, players, room, couples):
    """Write a matching of `players` drawn uniformly: a shuffle, cut into couples."""
    shuffled = room[: len(players)]
    for x in range(len(players)):
        shuffled[x] = players[x]
    shuffle(key, shuffled)
    for row in range(len(players) // 2):
        _write(couples, row, shuffled[2 * row], shuffled[2 * row + 1])


@kernel
def _write(couples, row, i, j):
    couples[row, 0], couples[row, 1] = min(i, j), max(i, j)


provide(
    UniformState,
    set_available=set_available_uniform,
    propose=propose_uniform,
    observe=learn_nothing,
)
provide(
    OracleState, set_available=set_available_oracle, propose=propose_oracle, observe=learn_nothing
)
