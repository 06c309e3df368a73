"""ESCB: the matching with the best sum of means plus one joint bonus.

The index of a matching is A + s sqrt(B), A the sum of its means, B the sum of 1 / tries over its
couples and s as in `confidence`. A player who waits, coupled with the phantom, adds nothing to
either. To each mean its couple's *luck* is added, a random billionth drawn once per run, which
breaks ties; so the best matching is a function of the statistics, the round and the key.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels import round_robin
from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.couples import write_mates
from pairup.kernels.escb import approximation, candidates
from pairup.kernels.escb.approximation import BEST, ApproximateSearch, find_near_best
from pairup.kernels.escb.candidate_search import search_candidates
from pairup.kernels.escb.candidates import Candidates, best_candidate, holds, note_value, scale_at
from pairup.kernels.escb.confidence import bonus_scale
from pairup.kernels.round_robin import RoundRobin, note_seen, write_turn
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import MANTISSA, mantissa, word
from pairup.kernels.state_layout import ARMS, COUPLES, MEMBERS, OLS, ROUND, SLOTS, UNSEEN

_LUCK = 2.0**-30 / MANTISSA


class IndexTerms(NamedTuple):
    """What the index is made of, at i * slots + j for the couple (i, j), i < j; 0 when unseen."""

    value: np.ndarray  # the mean and its luck
    inverse: np.ndarray  # 1 / tries


class ExactState(NamedTuple):
    """State of `ESCB` with the exact search."""

    stats: CoupleStatistics
    terms: IndexTerms
    round_robin: RoundRobin
    candidates: Candidates
    keys: np.ndarray  # of the order in the round robin, and of the luck
    now: np.ndarray


class ApproximateState(NamedTuple):
    """State of `ESCB` with the approximate search."""

    stats: CoupleStatistics
    terms: IndexTerms
    round_robin: RoundRobin
    search: ApproximateSearch
    keys: np.ndarray
    now: np.ndarray


def _set_available_exact(state, players):
    round_robin.set_players(state.round_robin, state.keys[0], state.stats.tries, players)
    candidates.set_players(state.candidates, players)


def _set_available_approximate(state, players):
    round_robin.set_players(state.round_robin, state.keys[0], state.stats.tries, players)
    approximation.set_players(state.search, players)


def _propose_exact(state, couples):
    if not _explore(state, couples):
        clock = state.now[ROUND]
        best, index = best_candidate(
            state.candidates, state.terms, scale_at(state.candidates, clock)
        )
        if not holds(state.candidates, index, clock):
            best = search_candidates(state.candidates, state.terms, clock)
        _write_candidate(state.candidates, best, couples)
    return OK


def _propose_approximate(state, couples):
    if not _explore(state, couples):
        search = state.search
        scale = bonus_scale(search.now[OLS], search.now[ARMS], state.now[ROUND])
        find_near_best(search, state.terms, scale)
        write_mates(search.mates[BEST], search.players[: search.now[MEMBERS]], couples)
    return OK


def _observe_exact(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        old, new = _learn(state, i, j, played[c])
        note_value(state.candidates, slot(i * len(state.round_robin.available) + j), old, new)


def _observe_approximate(state, couples, played):
    for c in range(len(played)):
        _learn(state, slot(couples[c, 0]), slot(couples[c, 1]), played[c])


provide(
    ExactState, set_available=_set_available_exact, propose=_propose_exact, observe=_observe_exact
)
provide(
    ApproximateState,
    set_available=_set_available_approximate,
    propose=_propose_approximate,
    observe=_observe_approximate,
)


@kernel
def _explore(state, couples):
    """Count the round; while some couples of the players are unseen, try them, and return True."""
    round = state.now[ROUND]
    state.now[ROUND] = round + 1
    unseen = state.round_robin.now[UNSEEN] > 0
    if unseen:
        write_turn(state.round_robin, state.stats.tries, round, couples)
    return unseen


@kernel
def _learn(state, i, j, played):
    """Enter one outcome; returns the old value of the couple and its new one."""
    slots = len(state.round_robin.available)
    mean = record(state.stats, i, j, played)
    tries = state.stats.tries[i, j]
    if tries == 1:
        note_seen(state.round_robin, i, j)
    couple, mirrored = slot(i * slots + j), slot(j * slots + i)
    old, new = state.terms.value[couple], mean + luck(state.keys[1], i, j)
    state.terms.value[couple] = state.terms.value[mirrored] = new
    state.terms.inverse[couple] = state.terms.inverse[mirrored] = 1.0 / tries
    return old, new


@kernel
def luck(key, i, j):
    """What tells couples of equal means apart, in [0, 2**-30)."""
    pair = (np.uint64(i) << np.uint64(32)) | np.uint64(j)
    return np.float64(mantissa(word(key, pair))) * _LUCK


@kernel
def _write_candidate(listed, row, couples):
    """The couples of a candidate, less the phantom's."""
    slots, written = listed.now[SLOTS], 0
    for x in range(listed.now[COUPLES]):
        couple = listed.couples[row, x]
        i, j = couple // slots, couple % slots
        if j != slots - 1:
            couples[written, 0], couples[written, 1] = i, j
            written += 1
