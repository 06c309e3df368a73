"""The paper's policies with the KL index: play the leader, or the neighbour that looks best.

Of the four cross pairs of couples k and k + 1 of the leader (see `neighbours`) `base + slope * x`
is kept side by side: a tangent of the index as a function of x = log clock + 3 log log clock, or
another line that is nowhere below it, so that most rounds need no logarithm but the clock's.
Whatever it cannot exclude is solved exactly.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.greedy_leader import Leader
from pairup.compiled.couples.kl_index import (
    ENTRIES,
    INDEX,
    UNKNOWN,
    best_neighbour,
    exact_gain,
    exploration_level,
    kl,
    kl_index,
    lower_bound,
    lower_gain,
    lower_index,
    slope_at,
    solve_index,
    takes_lead,
    upper_gain,
    upper_index,
    upper_line,
)
from pairup.compiled.couples.leader_counts import TURN_REALS, LeaderCounts
from pairup.compiled.couples.neighbours import (
    COUPLE,
    NEIGHBOUR_PLACES,
    cross_pair,
    note_mean,
    radius,
    wins,
)
from pairup.compiled.couples.statistics import PHANTOM_MEAN, CoupleStatistics, record
from pairup.compiled.kernels import bind, kernel, slot
from pairup.compiled.state_fields import Integers, Keys, Reals
from pairup.compiled.steps import provide
from pairup.policies.unimodal import steps

_MARGIN = 1e-12  # bounds closer than this are left to the exact index, which is good to 1e-15


_BOUNDS = "(slots // 2 + 1) * by_matchings"


class UnimodalKlState(NamedTuple):
    """State of `Unimodal(index="kl")`: statistics, the leader, and what is known of its pairs."""

    stats: CoupleStatistics
    leader: Leader
    counts: LeaderCounts
    keys: np.ndarray = Keys(2)  # of ties between pairs, and of ties between neighbours
    counters: np.ndarray = Integers(NEIGHBOUR_PLACES)
    rad: np.ndarray = Reals("slots // 2 + 1")  # 1 / sqrt(tries) of each couple of the leader
    # V1: lower bounds of the indices of leader couples in this round.
    lower: np.ndarray = Reals(_BOUNDS)
    # V1: the indices of four cross pairs and a leader's couple when last solved.
    anchors: np.ndarray = Reals(f"{_BOUNDS}, 5, {ENTRIES}", UNKNOWN)
    base: np.ndarray = Reals("slots // 2 + 1, 4")  # of the cross pairs of each couple and the next
    slope: np.ndarray = Reals("slots // 2 + 1, 4")
    # Those lines of all pairs, inf when not known.
    tangent_base: np.ndarray = Reals("slots, slots", np.inf, by_couple=True)
    tangent_slope: np.ndarray = Reals("slots, slots", by_couple=True)
    reals: np.ndarray = Reals(TURN_REALS)  # CLOCK and LEVEL of the next round, most likely


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        rad = 1.0 / math.sqrt(state.stats.tries[i, j])
        state.tangent_base[i, j] = np.inf
        k, cross = note_mean(state, i, j, mean)
        if cross == COUPLE:
            state.rad[k] = rad
        elif k >= 0:
            base, slope = np.inf, 0.0
            if len(state.anchors):
                base, slope = upper_line(state.anchors[k, cross], state.stats, i, j)
                state.tangent_base[i, j], state.tangent_slope[i, j] = base, slope
            state.base[k, cross], state.slope[k, cross] = base, slope


def _load_pair(state, k, place, i, j):
    if len(state.anchors):
        state.anchors[k, place, INDEX] = UNKNOWN
    if place == COUPLE:
        state.rad[k] = radius(state.leader.mean[k], state.stats.tries[i, j])
    else:
        state.base[k, place], state.slope[k, place] = _optimism(state, i, j)


@kernel
def _optimism(state, i, j):
    """Base and slope of a pair."""
    mean, tries = state.stats.mean[i, j], state.stats.tries[i, j]
    if mean == PHANTOM_MEAN:
        return mean, 0.0
    if tries == 0:
        return np.inf, 0.0
    return state.tangent_base[i, j], state.tangent_slope[i, j]


def _level_at(state, clock):
    return exploration_level(clock)


def _by_players(state, level):
    """Criterion V2: exclude by bounds, then by one divergence, then solve."""
    leader = state.leader
    best, best_neighbour = 0.0, -1
    for k in range(leader.couple_count[0] - 1):
        mean, rad = leader.mean[k], state.rad[k]
        upper = max(  # no cross pair has an index above this
            max(_tangent(state, k, 0, level), _tangent(state, k, 1, level)),
            max(_tangent(state, k, 2, level), _tangent(state, k, 3, level)),
        )
        needed = upper + _MARGIN - best
        if needed < lower_bound(mean, rad, level):
            continue
        if needed < 1.0 and (needed <= mean or kl(mean, needed) < level * rad * rad):
            continue  # under the index of the leader's couple
        q = _leader_index(state, k, level)
        for swap in range(2):
            value = max(
                _cross_index(state, k, swap, level, q + best),
                _cross_index(state, k, 3 - swap, level, q + best),
            )
            if wins(state, value - q, 2 * k + swap, best, best_neighbour):
                best, best_neighbour = value - q, 2 * k + swap
    return best_neighbour


@kernel
def _tangent(state, k, cross, level):
    return state.base[k, cross] + state.slope[k, cross] * level


def _by_matchings(state, level):
    """Criterion V1: how many more games the neighbour could give."""
    for k in range(state.leader.couple_count[0]):
        state.lower[k] = _leader_bound(state, k, level)
    return best_neighbour(state, 2 * (state.leader.couple_count[0] - 1), level)


def _upper_gain(state, neighbour, level):
    k, swap = neighbour >> 1, neighbour & 1
    cross = _tangent(state, k, swap, level) + _tangent(state, k, 3 - swap, level)
    return cross - (state.lower[k] + state.lower[k + 1])


def _lower_gain(state, neighbour, level):
    k, swap, total = neighbour >> 1, neighbour & 1, 0.0
    for cross in (swap, 3 - swap):
        i, j = cross_pair(state.leader, k, cross)
        if not _has_index(state, i, j):
            return -np.inf
        total += lower_index(state.anchors[k, cross], state.stats, i, j, level)
    for couple in (k, k + 1):
        i, j = state.leader.order[2 * couple], state.leader.order[2 * couple + 1]
        if not _has_index(state, i, j):
            return -np.inf
        total -= upper_index(state.anchors[couple, COUPLE], state.stats, i, j, level)
    return total


def _gain(state, neighbour, level):
    k, swap = neighbour >> 1, neighbour & 1
    cross = _cross_index(state, k, swap, level, -np.inf)
    cross += _cross_index(state, k, 3 - swap, level, -np.inf)
    for couple in (k, k + 1):
        i, j = state.leader.order[2 * couple], state.leader.order[2 * couple + 1]
        state.lower[couple] = _solved_index(state, couple, COUPLE, i, j, level)
    return cross - (state.lower[k] + state.lower[k + 1])


@kernel
def _leader_bound(state, k, level):
    """A number that the index of a leader's couple does not fall below, without solving."""
    i, j = state.leader.order[2 * k], state.leader.order[2 * k + 1]
    if not _has_index(state, i, j):
        return state.leader.mean[k]
    return lower_index(state.anchors[k, COUPLE], state.stats, i, j, level)


@kernel
def _has_index(state, i, j):
    """Whether an equation gives the index: the pair was proposed, and is not the phantom's."""
    return state.stats.tries[i, j] > 0 and state.stats.mean[i, j] != PHANTOM_MEAN


@kernel
def _solved_index(state, k, place, i, j, level):
    """The exact index of a pair, from its anchor if that stands."""
    if len(state.anchors) and _has_index(state, i, j):
        return solve_index(state.anchors[k, place], state.stats, i, j, level)
    return _index(state, i, j, level)


@kernel
def _leader_index(state, k, level):
    i, j = state.leader.order[2 * k], state.leader.order[2 * k + 1]
    return _index(state, i, j, level)


@kernel
def _index(state, i, j, level):
    mean, tries = state.stats.mean[i, j], state.stats.tries[i, j]
    if mean == PHANTOM_MEAN:
        return mean
    return kl_index(mean, tries, level) if tries > 0 else np.inf


@kernel
def _cross_index(state, k, cross, level, needed):
    """The exact index of a cross pair, whose tangent is kept; -inf where it is below `needed`."""
    if _tangent(state, k, cross, level) < needed - _MARGIN:
        return -np.inf
    i, j = cross_pair(state.leader, k, cross)
    q = _solved_index(state, k, cross, i, j, level)
    if level > 0.0 and 0.0 <= q < np.inf:
        slope = slope_at(state.stats.mean[i, j], state.stats.tries[i, j], q)
        base = q - slope * level
        state.tangent_base[i, j], state.tangent_slope[i, j] = base, slope
        state.base[k, cross], state.slope[k, cross] = base, slope
    return q


provide(
    UnimodalKlState,
    set_available=steps.set_available,
    propose=steps.propose,
    observe=_observe,
)
bind(steps.load_pair, UnimodalKlState, _load_pair)
bind(steps.level_at, UnimodalKlState, _level_at)
bind(steps.best_by_players, UnimodalKlState, _by_players)
bind(steps.best_by_matchings, UnimodalKlState, _by_matchings)
bind(upper_gain, UnimodalKlState, _upper_gain)
bind(lower_gain, UnimodalKlState, _lower_gain)
bind(exact_gain, UnimodalKlState, _gain)
bind(takes_lead, UnimodalKlState, wins)
