"""The two ends of the scale: matchings drawn at random, and the best one."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.compile import kernel
from pairup.kernels.rng import shuffle, word
from pairup.kernels.steps import OK, provide


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


def seat_uniform(state, players):
    """See `steps.seat`."""
    state.seated[0] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]


def propose_uniform(state, couples):
    """See `steps.propose`."""
    players = state.players[: state.seated[0]]
    draw_matching(word(state.key[0], state.round[0]), players, state.shuffled, couples)
    state.round[0] += 1
    return OK


def seat_oracle(state, players):
    """See `steps.seat`."""
    state.seated[:] = False
    for i in players:
        state.seated[i] = True


def propose_oracle(state, couples):
    """See `steps.propose`: neighbours in the ranking."""
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
    """See `steps.observe`."""


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


provide(UniformState, seat=seat_uniform, propose=propose_uniform, observe=learn_nothing)
provide(OracleState, seat=seat_oracle, propose=propose_oracle, observe=learn_nothing)
