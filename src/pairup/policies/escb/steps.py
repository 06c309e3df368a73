"""ESCB: the matching with the best sum of means plus one joint bonus.

The index of a matching is A + s sqrt(B), A the sum of its means, B the sum of 1 / tries over its
couples and s as in `approximation.bonus_scale`. A player who waits, coupled with the phantom, adds
nothing to either. To each mean its couple's *luck* is added, a random billionth drawn once per run,
which breaks ties; so the best matching is a function of the statistics, the round and the key.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.couples import round_robin
from pairup.compiled.couples.round_robin import UNSEEN, RoundRobin, note_seen, write_turn
from pairup.compiled.couples.rows import write_mates
from pairup.compiled.couples.statistics import CoupleStatistics, record
from pairup.compiled.kernels import kernel, slot
from pairup.compiled.randomness import MANTISSA, mantissa, word
from pairup.compiled.state_fields import Integers, Keys, Reals
from pairup.compiled.state_layout import MEMBERS, OWN, ROUND
from pairup.compiled.steps import OK, provide
from pairup.policies.escb import approximation
from pairup.policies.escb.approximation import (
    BEST,
    COUPLES,
    ENUMERATED,
    OLS,
    ApproximateSearch,
    bonus_scale,
    find_near_best,
)
from pairup.policies.escb.enumeration import find_best
from pairup.policies.escb.graph_search import propose_on_graph

_LUCK = 2.0**-30 / MANTISSA


class IndexTerms(NamedTuple):
    """What the index is made of, at i * slots + j for the couple (i, j), i < j; 0 when unseen."""

    value: np.ndarray = Reals("slots * slots")  # the mean and its luck
    inverse: np.ndarray = Reals("slots * slots")  # 1 / tries


class ESCBState(NamedTuple):
    """State of `ESCB`."""

    stats: CoupleStatistics
    terms: IndexTerms
    round_robin: RoundRobin
    search: ApproximateSearch
    keys: np.ndarray = Keys(2)  # of the order in the round robin, and of the luck
    counters: np.ndarray = Integers(OWN)


def _set_available(state, players):
    round_robin.set_players(state.round_robin, state.keys[0], state.stats.tries, players)
    approximation.set_players(state.search, players)


def _propose(state, couples):
    if not _explore(state, couples):
        search = state.search
        members = search.counters[MEMBERS]
        scale = bonus_scale(search.counters[OLS], search.counters[COUPLES], state.counters[ROUND])
        if members <= search.counters[ENUMERATED]:
            find_best(search, state.terms, scale)
        else:
            find_near_best(search, state.terms, scale)
        write_mates(search.mates[BEST], search.players[:members], couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        _learn(state, slot(couples[c, 0]), slot(couples[c, 1]), played[c])


provide(
    ESCBState,
    set_available=_set_available,
    propose=_propose,
    observe=_observe,
    propose_on_graph=propose_on_graph,
)


@kernel
def _explore(state, couples):
    """Count the round; while some couples of the players are unseen, try them, and return True."""
    round = state.counters[ROUND]
    state.counters[ROUND] = round + 1
    unseen = state.round_robin.counters[UNSEEN] > 0
    if unseen:
        write_turn(state.round_robin, state.stats.tries, round, couples)
    return unseen


@kernel
def _learn(state, i, j, played):
    """Enter one outcome."""
    slots = len(state.round_robin.available)
    mean = record(state.stats, i, j, played)
    tries = state.stats.tries[i, j]
    if tries == 1:
        note_seen(state.round_robin, i, j)
    couple, mirrored = slot(i * slots + j), slot(j * slots + i)
    state.terms.value[couple] = state.terms.value[mirrored] = mean + luck(state.keys[1], i, j)
    state.terms.inverse[couple] = state.terms.inverse[mirrored] = 1.0 / tries


@kernel
def luck(key, i, j):
    """What tells couples of equal means apart, in [0, 2**-30)."""
    pair = (np.uint64(i) << np.uint64(32)) | np.uint64(j)
    return np.float64(mantissa(word(key, pair))) * _LUCK
