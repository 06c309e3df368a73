"""Combinatorial Thompson sampling: the exact best matching by one posterior draw for each couple.

Draw number k of a round is that of the k-th couple of those seated, in the order (0, 1), (0, 2),
..., from a stream of the round's own.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.couple_statistics import Book, record
from pairup.kernels.exact_matching.max_matching import MaxMatching, solve_seated
from pairup.kernels.exact_matching.participants import Seated, seat_even, write_couples
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.distributions import fill_beta, fill_normal
from pairup.kernels.runtime.randomness import word

ROUND, GAUSSIAN, NUMBERS = 0, 1, 2  # where the numbers of `CombThompsonState.now` stand


class CombThompsonState(NamedTuple):
    """State of `CombThompson`: the book, the last matching, and the posteriors of all couples.

    A posterior is Beta(first, second), or normal with mean `first` and deviation `second`.
    """

    book: Book
    room: MaxMatching
    seated: Seated
    now: np.ndarray
    key: np.ndarray
    first: np.ndarray
    second: np.ndarray
    posteriors: np.ndarray  # of the couples seated, in the order of their draws
    draws: np.ndarray


def set_available(state, players):
    """See `dispatch.set_available`."""
    seat_even(state.seated, players, len(state.book.tries) - 1)


def propose(state, couples):
    """See `dispatch.propose`."""
    players = state.seated.players[: state.seated.seats[0]]
    key = word(state.key[0], state.now[ROUND])
    state.now[ROUND] += 1
    if state.now[GAUSSIAN] != 0:
        _draw_normal(state, players, key)
    else:
        _draw_beta(state, players, key)
    solve_seated(state.room, players)
    write_couples(state.room, state.seated, couples)
    return OK


def observe(state, couples, played):
    """See `dispatch.observe`."""
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.book, i, j, played[c])
        if state.now[GAUSSIAN] != 0:
            state.first[i, j] = mean
            state.second[i, j] = 0.5 / math.sqrt(state.book.tries[i, j])
        elif played[c]:
            state.first[i, j] += 1.0
        else:
            state.second[i, j] += 1.0


provide(CombThompsonState, set_available=set_available, propose=propose, observe=observe)


@kernel
def _real(state, players):
    """How many of those seated are no phantom."""
    seats, phantom = len(players), len(state.book.tries) - 1
    return seats - 1 if seats > 0 and players[seats - 1] == phantom else seats


@kernel
def _draw_normal(state, players, key):
    """Weigh the couples by normal draws; couples not seen yet have an infinite mean."""
    weight, real = state.room.weight, _real(state, players)
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
    weight, real = state.room.weight, _real(state, players)
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
    """All are worth the same with the phantom, if it is seated."""
    for phantom in range(real, len(players)):
        for a in range(real):
            state.room.weight[a, phantom] = state.room.weight[phantom, a] = 0.0
