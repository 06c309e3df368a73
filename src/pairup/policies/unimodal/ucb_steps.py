"""The paper's policies with the UCB index: play the leader, or the neighbour that looks best.

The index of a pair is `mean + x * radius`, with x = sqrt(2 log clock) and 1 / sqrt(tries) as the
radius. Both are kept side by side for the leader's couples, and for the four cross pairs of couples
k and k + 1 of the leader (see `neighbours`).
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.greedy_leader import Leader
from pairup.compiled.couples.leader_counts import TURN_REALS, LeaderCounts
from pairup.compiled.couples.neighbours import COUPLE, NEIGHBOUR_PLACES, note_mean, radius, wins
from pairup.compiled.couples.statistics import PHANTOM_MEAN, CoupleStatistics, record
from pairup.compiled.kernels import bind, kernel, slot
from pairup.compiled.logarithm import log
from pairup.compiled.state_fields import Integers, Keys, Reals
from pairup.compiled.steps import provide
from pairup.policies.unimodal import steps


class UnimodalUcbState(NamedTuple):
    """State of `Unimodal(index="ucb")`: statistics, the leader, and the indices of its pairs."""

    stats: CoupleStatistics
    leader: Leader
    counts: LeaderCounts
    keys: np.ndarray = Keys(2)  # of ties between pairs, and of ties between neighbours
    counters: np.ndarray = Integers(NEIGHBOUR_PLACES)
    # Radius of each couple of the leader, whose mean the leader has.
    rad: np.ndarray = Reals("slots // 2 + 1")
    # Of the cross pairs of each couple and the next.
    cross_mean: np.ndarray = Reals("slots // 2 + 1, 4")
    cross_rad: np.ndarray = Reals("slots // 2 + 1, 4")
    # CLOCK of the next round, most likely, and its x as LEVEL.
    reals: np.ndarray = Reals(TURN_REALS)


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        rad = 1.0 / math.sqrt(state.stats.tries[i, j])
        k, cross = note_mean(state, i, j, mean)
        if cross == COUPLE:
            state.rad[k] = rad
        elif k >= 0:
            state.cross_mean[k, cross], state.cross_rad[k, cross] = mean, rad


def _load_pair(state, k, place, i, j):
    mean, tries = state.stats.mean[i, j], state.stats.tries[i, j]
    if place == COUPLE:
        state.rad[k] = radius(mean, tries)
    elif tries == 0 and mean != PHANTOM_MEAN:
        state.cross_mean[k, place], state.cross_rad[k, place] = np.inf, 0.0
    else:
        state.cross_mean[k, place], state.cross_rad[k, place] = mean, radius(mean, tries)


def _level_at(state, clock):
    """How many radii the index is above the mean."""
    return math.sqrt(2.0 * log(float(clock)))


@kernel
def _couple_index(state, k, x):
    return state.leader.mean[k] + x * state.rad[k]


@kernel
def _cross_index(state, k, cross, x):
    return state.cross_mean[k, cross] + x * state.cross_rad[k, cross]


def _by_players(state, x):
    """Criterion V2: how much better a cross pair could be than the better couple."""
    best, best_neighbour = 0.0, -1
    for k in range(state.leader.couple_count[0] - 1):
        q = _couple_index(state, k, x)
        swap0 = max(_cross_index(state, k, 0, x), _cross_index(state, k, 3, x))
        swap1 = max(_cross_index(state, k, 1, x), _cross_index(state, k, 2, x))
        if max(swap0, swap1) > q:
            if wins(state, swap0 - q, 2 * k, best, best_neighbour):
                best, best_neighbour = swap0 - q, 2 * k
            if wins(state, swap1 - q, 2 * k + 1, best, best_neighbour):
                best, best_neighbour = swap1 - q, 2 * k + 1
    return best_neighbour


def _by_matchings(state, x):
    """Criterion V1: how many more games the neighbour could give."""
    best, best_neighbour, tied = 0.0, np.int64(-1), np.int64(0)
    for k in range(state.leader.couple_count[0] - 1):
        gain0, gain1 = _gains(state, k, x)
        gain = max(gain0, gain1)
        # Arithmetic, no branches: which neighbour is the best is hard to guess.
        higher, neighbour = np.int64(gain > best), 2 * k + np.int64(gain1 > gain0)
        tied = (tied & (higher - 1)) | (higher & np.int64(gain0 == gain1)) | np.int64(gain == best)
        best_neighbour += higher * (neighbour - best_neighbour)
        best = max(best, gain)
    return _luckiest_by_matchings(state, x) if tied and best_neighbour >= 0 else best_neighbour


@kernel
def _luckiest_by_matchings(state, x):
    """As `_by_matchings`, where several neighbours are the best."""
    best, best_neighbour = 0.0, -1
    for k in range(state.leader.couple_count[0] - 1):
        gain0, gain1 = _gains(state, k, x)
        if wins(state, gain0, 2 * k, best, best_neighbour):
            best, best_neighbour = gain0, 2 * k
        if wins(state, gain1, 2 * k + 1, best, best_neighbour):
            best, best_neighbour = gain1, 2 * k + 1
    return best_neighbour


@kernel
def _gains(state, k, x):
    """How many more games the two neighbours of `k` could give."""
    both = _couple_index(state, k, x) + _couple_index(state, k + 1, x)
    swap0 = _cross_index(state, k, 0, x) + _cross_index(state, k, 3, x)
    swap1 = _cross_index(state, k, 1, x) + _cross_index(state, k, 2, x)
    return swap0 - both, swap1 - both


provide(
    UnimodalUcbState,
    set_available=steps.set_available,
    propose=steps.propose,
    observe=_observe,
)
bind(steps.load_pair, UnimodalUcbState, _load_pair)
bind(steps.level_at, UnimodalUcbState, _level_at)
bind(steps.best_by_players, UnimodalUcbState, _by_players)
bind(steps.best_by_matchings, UnimodalUcbState, _by_matchings)
