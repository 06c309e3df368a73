"""OSUB with whole matchings as arms: optimism about the leader and its neighbours.

An arm knows only the rounds in which all of it was played. It is entered when it is proposed. When
the table is full, the arm that was neither played nor leader for longest is forgotten; should it
come into sight again, it is an arm never tried. The leader and its neighbours stay in use, so
that they stay known, and the state is O(n^2) however long it plays.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader, leader_counts
from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.greedy_leader import Leader, beats, note_mean
from pairup.kernels.kl_index import exploration_level, kl, kl_index
from pairup.kernels.leader_counts import LeaderCounts
from pairup.kernels.neighbours import cross_pair, write
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import below, word
from pairup.kernels.state_layout import ARMS, AVAILABLE, MAX_ARMS, PRESENT, ROUND, TOP

UNKNOWN = -1  # which arm has the best mean must be looked up
UNTRIED = -1.0  # the mean of an arm without outcomes
_NONE = -1
_MARGIN = 1e-12  # indices closer than this are left to be solved, which is good to 1e-15
_EMPTY, _LAST_BIT = np.uint64(0), np.uint64(1)


class Arms(NamedTuple):
    """The arms entered, the first `now[ARMS]` of each array."""

    table: LeaderCounts  # from fingerprints to numbers of arms
    key: np.ndarray  # fingerprint: the sum of what its couples add
    order: np.ndarray  # couples side by side
    tries: np.ndarray
    games: np.ndarray
    mean: np.ndarray  # games / (tries * couples)
    led: np.ndarray  # how often it was the leader
    used: np.ndarray  # when it was last played or leader, by a clock


class OsubState(NamedTuple):
    """State of `OSUB`."""

    stats: CoupleStatistics
    greedy: Leader  # by couples: the first arm, and the leader when not all are available
    front: Leader  # the leader among arms, its couples in the order of their means
    arms: Arms
    keys: np.ndarray  # of ties between pairs, between neighbours, and between arms
    now: np.ndarray
    present: np.ndarray  # the players of every arm, the first `now[PRESENT]`


def _set_available(state, players):
    state.now[AVAILABLE] = len(players)
    greedy_leader.set_players(state.greedy, state.stats, players)


def _propose(state, couples):
    now, arms = state.now, state.arms
    now[ROUND] += 1
    if now[AVAILABLE] != now[PRESENT]:
        greedy_leader.update(state.greedy, state.stats, state.keys[0])
        write(state.greedy, _random_neighbour(state), couples)
        return OK
    sort_leader(state)
    top = now[TOP] if now[ARMS] > 0 else _enter(state, -1)
    arms.used[top] = 2 * now[ROUND]
    led = arms.led[top]
    arms.led[top] = led + 1
    neighbour = -1
    if led % (2 * state.front.couples[0] - 1) != 0:
        neighbour = _most_promising(state, led + 1)
    if neighbour >= 0:
        arms.used[_enter(state, neighbour)] = 2 * now[ROUND] + 1
    write(state.front, neighbour, couples)
    return OK


def _observe(state, couples, played):
    key, games = _EMPTY, 0
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        note_mean(state.greedy, state.keys[0], i, j, mean)
        key += _pair_key(state, couples[c, 0], couples[c, 1])
        games += played[c]
    arm = _arm_of(state, key)
    if arm != _NONE:
        _reward(state, arm, games, len(played))


provide(OsubState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def _random_neighbour(state):
    """When not all are available: now and then a neighbour of the greedy leader, at random."""
    choices = 2 * state.greedy.couples[0] - 2
    if choices == 0 or state.now[ROUND] % (choices + 1) != 0:
        return -1
    return below(word(state.keys[1], state.now[ROUND]), choices)


@kernel
def _pair_key(state, i, j):
    """What a couple adds to the fingerprint of a matching; the phantom's adds nothing."""
    if j == len(state.greedy.place) - 1:
        return _EMPTY
    return word(_EMPTY, (np.int64(i) << 32) | np.int64(j))


@kernel
def _arm_of(state, key):
    """The number of the arm with a fingerprint."""
    table = state.arms.table
    cell = leader_counts.seek(table, key | _LAST_BIT)
    return table.counts[cell] if table.keys[cell] != _EMPTY else _NONE


@kernel
def _reward(state, arm, games, couples):
    """Enter what a round brought to an arm, and see whether it is the best now."""
    arms, now = state.arms, state.now
    before = arms.mean[arm]
    arms.tries[arm] += 1
    arms.games[arm] += games
    arms.mean[arm] = arms.games[arm] / (arms.tries[arm] * couples)
    if now[TOP] == arm:
        if arms.mean[arm] < before:
            now[TOP] = UNKNOWN
    elif now[TOP] != UNKNOWN and _is_better(state, arm, now[TOP]):
        now[TOP] = arm


@kernel
def _is_better(state, arm, rival):
    mean, rival_mean = state.arms.mean[arm], state.arms.mean[rival]
    if mean != rival_mean:
        return mean > rival_mean
    key, rival_key = state.arms.key[arm], state.arms.key[rival]
    return word(state.keys[2], key) > word(state.keys[2], rival_key)


@kernel
def sort_leader(state):
    """Put the leader's couples in the order of their means into `front`."""
    front, now, greedy = state.front, state.now, state.greedy.order
    front.couples[0] = (now[PRESENT] + 1) // 2
    if now[ARMS] == 0:
        greedy_leader.update(state.greedy, state.stats, state.keys[0])
        for k in range(front.couples[0]):
            _insert(state, k, greedy[2 * k], greedy[2 * k + 1])
        return
    if now[TOP] == UNKNOWN:
        now[TOP] = 0
        for arm in range(1, now[ARMS]):
            if _is_better(state, arm, now[TOP]):
                now[TOP] = arm
    order = state.arms.order[now[TOP]]
    for k in range(front.couples[0]):
        _insert(state, k, np.int64(order[2 * k]), np.int64(order[2 * k + 1]))


@kernel
def _insert(state, k, i, j):
    """Sort the couple (i, j) into the first `k` couples of `front`."""
    front, mean = state.front, state.stats.mean[i, j]
    while k > 0:
        rival_i, rival_j = front.order[2 * k - 2], front.order[2 * k - 1]
        if beats(state.keys[0], front.mean[k - 1], rival_i, rival_j, mean, i, j):
            break
        front.order[2 * k], front.order[2 * k + 1] = rival_i, rival_j
        front.mean[k] = front.mean[k - 1]
        k -= 1
    front.order[2 * k], front.order[2 * k + 1] = i, j
    front.mean[k] = mean


@kernel
def _most_promising(state, clock):
    """The neighbour with the best index, or -1 for the leader, which wins its ties."""
    level, luck = exploration_level(clock), word(state.keys[1], state.now[ROUND])
    top = state.now[TOP]
    best, best_neighbour = _index(state, top, level, 0.0), -1
    for neighbour in range(2 * state.front.couples[0] - 2):
        key = _neighbour_key(state, state.arms.key[top], neighbour)
        value = _index(state, _arm_of(state, key), level, best)
        tied = value == best and best_neighbour >= 0
        if value > best or (tied and word(luck, neighbour) > word(luck, best_neighbour)):
            best, best_neighbour = value, neighbour
    return best_neighbour


@kernel
def _index(state, arm, level, needed):
    """The KL index of an arm, 1 if it is untried; or 0 where it surely stays below `needed`."""
    if arm == _NONE or state.arms.tries[arm] == 0:
        return 1.0
    mean, tries = state.arms.mean[arm], state.arms.tries[arm]
    needed -= _MARGIN
    if mean < needed and tries * kl(mean, needed) > level:
        return 0.0  # one divergence in place of the four or so that solve for the index
    return kl_index(mean, tries, level)


@kernel
def _neighbour_key(state, key, neighbour):
    """The fingerprint of a neighbour of the leader, whose own is `key`."""
    if neighbour >= 0:
        k, swap, order = neighbour >> 1, neighbour & 1, state.front.order
        pair, other = cross_pair(state.front, k, swap), cross_pair(state.front, k, 3 - swap)
        key -= _pair_key(state, order[2 * k], order[2 * k + 1])
        key -= _pair_key(state, order[2 * k + 2], order[2 * k + 3])
        key += _pair_key(state, pair[0], pair[1])
        key += _pair_key(state, other[0], other[1])
    return key


@kernel
def _matching_key(state, order):
    """The fingerprint of the matching with these couples."""
    key = _EMPTY
    for k in range((state.now[PRESENT] + 1) // 2):
        key += _pair_key(state, order[2 * k], order[2 * k + 1])
    return key


@kernel
def _enter(state, neighbour):
    """The arm of a neighbour of the leader, or of the leader; it is made if it is new."""
    arms, now = state.arms, state.now
    key = _neighbour_key(state, _matching_key(state, state.front.order), neighbour)
    arm = _arm_of(state, key)
    if arm == _NONE:
        arm = _new_number(state)
        arms.table.counts[leader_counts.find(arms.table, key | _LAST_BIT)] = arm
        arms.key[arm], arms.mean[arm] = key, UNTRIED
        arms.tries[arm] = arms.games[arm] = arms.led[arm] = 0
        order, front = arms.order[arm], state.front
        for x in range(2 * front.couples[0]):
            order[x] = front.order[x]
        if neighbour >= 0:
            k, swap = neighbour >> 1, neighbour & 1
            order[2 * k], order[2 * k + 1] = cross_pair(front, k, swap)
            order[2 * k + 2], order[2 * k + 3] = cross_pair(front, k, 3 - swap)
        if now[TOP] == UNKNOWN or _is_better(state, arm, now[TOP]):
            now[TOP] = arm
    return arm


@kernel
def _new_number(state):
    """A number for a new arm: the next, or that of the arm unused for longest, now forgotten."""
    arms, now = state.arms, state.now
    if now[ARMS] < now[MAX_ARMS]:
        now[ARMS] += 1
        return now[ARMS] - 1
    oldest = 0
    for arm in range(1, now[ARMS]):
        if arms.used[arm] < arms.used[oldest]:
            oldest = arm
    leader_counts.remove(arms.table, arms.key[oldest] | _LAST_BIT)
    return oldest


@kernel
def enter_all(state):
    """Enter the arms that `order`, `tries` and `games` hold; whether no two are the same."""
    arms, now = state.arms, state.now
    couples = now[PRESENT] // 2
    leader_counts.clear(arms.table)
    now[TOP] = UNKNOWN
    for arm in range(now[ARMS]):
        arms.key[arm] = _matching_key(state, arms.order[arm])
        if _arm_of(state, arms.key[arm]) != _NONE:
            return False
        arms.table.counts[leader_counts.find(arms.table, arms.key[arm] | _LAST_BIT)] = arm
        tries = arms.tries[arm]
        arms.mean[arm] = arms.games[arm] / (tries * couples) if tries > 0 else UNTRIED
    return True
