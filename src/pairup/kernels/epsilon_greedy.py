"""Epsilon-greedy: now and then a matching drawn at random, otherwise the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import leader as leading
from pairup.kernels.book import Book, record
from pairup.kernels.compile import kernel, slot
from pairup.kernels.ends import draw_matching
from pairup.kernels.leader import Leader, note_mean
from pairup.kernels.neighbours import write
from pairup.kernels.rng import MANTISSA, mantissa, word
from pairup.kernels.steps import OK, provide

ROUND, SEATED, DECAYS, NUMBERS = 0, 1, 2, 3  # where the numbers of `EpsilonGreedyState.now` stand


class EpsilonGreedyState(NamedTuple):
    """State of `EpsilonGreedy`: the book, its leader, the seated players, and room to shuffle."""

    book: Book
    leader: Leader
    keys: np.ndarray  # of ties between pairs, of when to explore, of the matchings then drawn
    now: np.ndarray
    epsilon: np.ndarray
    players: np.ndarray
    shuffled: np.ndarray


def seat(state, players):
    """See `steps.seat`."""
    state.now[SEATED] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]
    leading.seat_players(state.leader, state.book, players, len(state.leader.place) - 1)


def propose(state, couples):
    """See `steps.propose`."""
    now = state.now
    now[ROUND] += 1
    draw = mantissa(word(state.keys[1], now[ROUND]))
    if np.float64(draw) < _share(state) * MANTISSA:
        players = state.players[: now[SEATED]]
        draw_matching(word(state.keys[2], now[ROUND]), players, state.shuffled, couples)
    else:
        leading.settle(state.leader, state.book, state.keys[0])
        write(state.leader, -1, couples)
    return OK


def observe(state, couples, played):
    """See `steps.observe`."""
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.book, i, j, played[c])
        note_mean(state.leader, state.keys[0], i, j, mean)


provide(EpsilonGreedyState, seat=seat, propose=propose, observe=observe)


@kernel
def _share(state):
    """How likely this round is to explore."""
    epsilon, now = state.epsilon[0], state.now
    if now[DECAYS]:
        return epsilon * (2 * state.leader.couples[0] - 1) / now[ROUND]
    return epsilon
