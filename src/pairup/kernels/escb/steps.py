"""ESCB: the matching with the best sum of means plus one joint bonus.

The index of a matching is A + s sqrt(B), A the sum of its means, B the sum of 1 / tries over its
couples and s = sqrt(log(t) / 2). Whoever waits, coupled with the phantom, adds nothing to either.
To each mean belongs its couple's *luck*, a random billionth drawn once a run, which parts what
would be ties; so the best matching is a function of the book, the round and the key.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.couple_statistics import Book, record
from pairup.kernels.escb.approximation import BEST, MEMBERS, Hull, near_best, seat_hull
from pairup.kernels.escb.candidate_search import search
from pairup.kernels.escb.candidates import (
    COUPLES,
    SLOTS,
    Candidates,
    best_candidate,
    clear,
    holds,
    note_value,
)
from pairup.kernels.round_robin import UNSEEN, Cover, note_seen, play_cover, seat_cover
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.logarithm import log
from pairup.kernels.runtime.randomness import MANTISSA, mantissa, word

_LUCK = 2.0**-30 / MANTISSA


class Couples(NamedTuple):
    """What the index is made of, at i * slots + j for the couple (i, j), i < j; 0 when unseen."""

    value: np.ndarray  # the mean and its luck
    inverse: np.ndarray  # 1 / tries


class EscbState(NamedTuple):
    """State of `ESCB` with the exact search."""

    book: Book
    couples: Couples
    cover: Cover
    candidates: Candidates
    keys: np.ndarray  # of the order of the cover, and of the luck
    round: np.ndarray


class ApproximateState(NamedTuple):
    """State of `ESCB` with the approximate search."""

    book: Book
    couples: Couples
    cover: Cover
    hull: Hull
    keys: np.ndarray
    round: np.ndarray


def set_available_exact(state, players):
    """See `dispatch.set_available`."""
    seat_cover(state.cover, state.keys[0], state.book.tries, players)
    clear(state.candidates, players)


def set_available_approximate(state, players):
    """See `dispatch.set_available`."""
    seat_cover(state.cover, state.keys[0], state.book.tries, players)
    seat_hull(state.hull, players)


def propose_exact(state, couples):
    """See `dispatch.propose`."""
    if not _explore(state, couples):
        clock = state.round[0]
        best, index = best_candidate(state.candidates, state.couples, bonus_scale(clock))
        if not holds(state.candidates, index, clock):
            best = search(state.candidates, state.couples, clock)
        _write_candidate(state.candidates, best, couples)
    return OK


def propose_approximate(state, couples):
    """See `dispatch.propose`."""
    if not _explore(state, couples):
        near_best(state.hull, state.couples, bonus_scale(state.round[0]))
        _write_mates(state.hull, couples)
    return OK


def observe_exact(state, couples, played):
    """See `dispatch.observe`."""
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        old, new = _learn(state, i, j, played[c])
        note_value(state.candidates, slot(i * len(state.cover.seated) + j), old, new)


def observe_approximate(state, couples, played):
    """See `dispatch.observe`."""
    for c in range(len(played)):
        _learn(state, slot(couples[c, 0]), slot(couples[c, 1]), played[c])


provide(EscbState, set_available=set_available_exact, propose=propose_exact, observe=observe_exact)
provide(
    ApproximateState,
    set_available=set_available_approximate,
    propose=propose_approximate,
    observe=observe_approximate,
)


@kernel
def _explore(state, couples):
    """Count the round; cover the couples of those seated while some are unseen, and say so."""
    round = state.round[0]
    state.round[0] = round + 1
    unseen = state.cover.now[UNSEEN] > 0
    if unseen:
        play_cover(state.cover, state.book.tries, round, couples)
    return unseen


@kernel
def _learn(state, i, j, played):
    """Enter one outcome; returns the old value of the couple and its new one."""
    slots = len(state.cover.seated)
    mean = record(state.book, i, j, played)
    tries = state.book.tries[i, j]
    if tries == 1:
        note_seen(state.cover, i, j)
    couple, mirrored = slot(i * slots + j), slot(j * slots + i)
    old, new = state.couples.value[couple], mean + luck(state.keys[1], i, j)
    state.couples.value[couple] = state.couples.value[mirrored] = new
    state.couples.inverse[couple] = state.couples.inverse[mirrored] = 1.0 / tries
    return old, new


@kernel
def luck(key, i, j):
    """What parts couples of equal means, in [0, 2**-30)."""
    pair = (np.uint64(i) << np.uint64(32)) | np.uint64(j)
    return np.float64(mantissa(word(key, pair))) * _LUCK


@kernel
def bonus_scale(clock):
    """The factor s of sqrt(B) in proposal number `clock`; never 0, for we divide by it."""
    return math.sqrt(0.5 * log(float(max(clock, 2))))


@kernel
def _write_candidate(candidates, row, couples):
    """The couples of a candidate, less the phantom's."""
    slots, written = candidates.now[SLOTS], 0
    for x in range(candidates.now[COUPLES]):
        couple = candidates.couples[row, x]
        i, j = couple // slots, couple % slots
        if j != slots - 1:
            couples[written, 0], couples[written, 1] = i, j
            written += 1


@kernel
def _write_mates(hull, couples):
    """The couples of the best matching found, less the phantom's."""
    phantom, written = hull.mates.shape[1] - 1, 0
    for x in range(hull.now[MEMBERS]):
        i = hull.players[x]
        j = hull.mates[BEST, i]
        if i < j != phantom:
            couples[written, 0], couples[written, 1] = i, j
            written += 1
