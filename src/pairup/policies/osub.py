"""OSUB with whole matchings as arms: optimism about the leader and its neighbours.

An arm knows only the rounds in which all of it was played. It is entered when it is proposed. When
the table is full, the arm that was neither played nor leader for longest is forgotten; should it
come into sight again, it is an arm never tried. The leader and its neighbours stay in use, so
that they stay known, and the state is O(n^2) however long it plays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples import greedy_leader, leader_counts
from pairup.compiled.couples.greedy_leader import Leader, beats, note_mean
from pairup.compiled.couples.kl_index import exploration_level, kl, kl_index
from pairup.compiled.couples.neighbours import cross_pair, write
from pairup.compiled.couples.rows import packed
from pairup.compiled.couples.statistics import CoupleStatistics, record
from pairup.compiled.kernels import kernel, slot
from pairup.compiled.randomness import below, word
from pairup.compiled.state_fields import (
    AVAILABLE,
    OWN,
    PRESENT,
    ROUND,
    Integers,
    Keys,
    Players,
    Reals,
    new_counters,
    new_state,
)
from pairup.compiled.steps import OK, provide
from pairup.policies.contract import Slots, StartContext
from pairup.policies.couple_policies import CouplePolicy, couples_of
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, require

# Places of counters.
(
    ARMS,  # arms entered
    MAX_ARMS,
    TOP,  # the arm with the best mean
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 4)

UNKNOWN = -1  # which arm has the best mean must be looked up
UNTRIED = -1.0  # the mean of an arm without outcomes
_NONE = -1
_MARGIN = 1e-12  # indices closer than this are left to be solved, which is good to 1e-15
_EMPTY, _LAST_BIT = np.uint64(0), np.uint64(1)
_ALL_OF_EIGHT = 105  # matchings of eight players
_MEMORY = 8  # arms kept of more players, in neighbourhoods of 2L - 1 arms


@register
@dataclass(frozen=True)
class OSUB(CouplePolicy):
    """Optimism about whole matchings around the leader (Combes and Proutiere, 2014).

    Each matching is an arm that knows its own rounds alone: how often it was played, and the mean
    share of its couples that played. The leader is the arm with the best mean. It is played every
    (2L - 1)-th time that it leads; otherwise, of the leader and its neighbours in the paper's
    graph, the arm with the best KL index. `Unimodal(compare="matchings")` is the same rule with
    what is known of each couple shared by all matchings that have it.

    Notes
    -----
    It remembers all matchings of up to eight players, and of more the 8 (2L - 1) matchings used
    last, so that its memory is O(L^2); one forgotten is an arm never tried. Only outcomes of a
    whole matching that are observed together count for it: others only tell how to order the
    couples of the leader. When players join or leave, all matchings change, and it starts from
    the greedy matching by what is known of the couples. When not everyone is available, that greedy
    matching is proposed, or now and then one of its neighbours.

    Examples
    --------
    >>> from pairup import OSUB, Problem, simulate
    >>> problem = Problem.around(0.5, 2, 0.4)
    >>> run = simulate(problem, OSUB(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 120  # of the 213 that matchings drawn at random lose
    np.True_
    """

    name: ClassVar[str] = "osub"
    nominal_ns: ClassVar[int] = 200

    def sizes(self, context: StartContext) -> dict[str, int]:
        arms = max(_max_arms(context.capacity), _ALL_OF_EIGHT)
        return super().sizes(context) | {"arms": arms, "leaders": 1 << (2 * arms).bit_length()}

    def start(self, context: StartContext) -> OsubState:
        counters = new_counters({TOP: UNKNOWN}, _COUNTERS)
        return new_state(OsubState, self.sizes(context), keys=context.keys(3), counters=counters)

    def set_present(self, state: Any, present: Slots) -> None:
        # Matchings of other players are dropped.
        state.counters[PRESENT] = len(present)
        state.counters[MAX_ARMS] = _max_arms(len(present))
        state.counters[ARMS], state.counters[TOP] = 0, UNKNOWN
        leader_counts.clear(state.arms.table)
        arms = state.arms
        for saved in (arms.order, arms.tries, arms.games, arms.led, arms.used):
            saved[:] = 0
        state.present[: len(present)] = present

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        # Of the arms those that were entered: there is room for many more.
        saved, count = super().saved(state), state.counters[ARMS]
        return {
            name: array[:count] if name.startswith("state.arms.") else array
            for name, array in saved.items()
        }

    def load(self, state: Any, arrays: Arrays) -> OsubState:
        state = super().load(state, arrays)
        arms, count, present = state.arms, state.counters[ARMS], state.counters[PRESENT]
        require(count <= state.counters[MAX_ARMS], "it has more arms than it keeps")
        most = arms.tries[:count] * (present // 2)
        require(np.all(arms.games[:count] <= most), "its arms have more games than proposals")
        self._check_matchings(state, arms.order[:count, : present + present % 2])
        require(enter_all(state), "two of its arms are the same")
        return state

    @staticmethod
    def _check_matchings(state: Any, order: NDArray[np.int64]) -> None:
        """Refuse arms that are not matchings of the players present, couples in ascending order."""
        players = state.present[: state.counters[PRESENT]]
        if len(players) % 2:
            players = np.append(players, len(state.greedy.place) - 1)
        require(np.all(np.sort(order, axis=1) == players), "its arms are of other players")
        require(np.all(order[:, ::2] < order[:, 1::2]), "its arms have couples out of order")

    def leader(self, state: Any) -> NDArray[np.int64]:
        # For some of the players, who have no arms, the greedy one.
        if state.counters[AVAILABLE] != state.counters[PRESENT]:
            greedy_leader.update(state.greedy, state.stats, state.keys[0])
            return couples_of(state.greedy)
        sort_leader(state)
        return couples_of(state.front)


def _max_arms(players: int) -> int:
    return _ALL_OF_EIGHT if players <= 8 else _MEMORY * (2 * ((players + 1) // 2) - 1)


class ArmNumbers(NamedTuple):
    """The numbers of arms, by their fingerprints: a table as `LeaderCounts` is one."""

    keys: np.ndarray = Keys("leaders")
    counts: np.ndarray = Integers("leaders")
    used: np.ndarray = Integers(1)


class Arms(NamedTuple):
    """The arms entered, the first `counters[ARMS]` of each array."""

    table: ArmNumbers
    fingerprint: np.ndarray = Keys("arms")  # the sum of what its couples add
    # Couples side by side.
    order: np.ndarray = Players("arms, slots + 1", dtype=np.int32, saved=True)
    tries: np.ndarray = Integers("arms", saved=True)
    games: np.ndarray = Integers("arms", saved=True)
    mean: np.ndarray = Reals("arms")  # games / (tries * couples)
    led: np.ndarray = Integers("arms", saved=True)  # how often it was the leader
    # When it was last played or leader, by a clock.
    used: np.ndarray = Integers("arms", saved=True, most=2**55)


class OsubState(NamedTuple):
    """State of `OSUB`."""

    stats: CoupleStatistics
    greedy: Leader  # by couples: the first arm, and the leader when not all are available
    front: Leader  # the leader among arms, its couples in the order of their means
    arms: Arms
    keys: np.ndarray = Keys(3)  # of ties between pairs, between neighbours, and between arms
    counters: np.ndarray = Integers(_COUNTERS, saved=(ARMS,))
    # The players of every arm, the first `counters[PRESENT]`.
    present: np.ndarray = Integers("slots")


def _set_available(state, players):
    state.counters[AVAILABLE] = len(players)
    greedy_leader.set_players(state.greedy, state.stats, players)


def _propose(state, couples):
    counters, arms = state.counters, state.arms
    counters[ROUND] += 1
    if counters[AVAILABLE] != counters[PRESENT]:
        greedy_leader.update(state.greedy, state.stats, state.keys[0])
        write(state.greedy, _random_neighbour(state), couples)
        return OK
    sort_leader(state)
    top = counters[TOP] if counters[ARMS] > 0 else _enter(state, -1)
    arms.used[top] = 2 * counters[ROUND]
    led = arms.led[top]
    arms.led[top] = led + 1
    neighbour = -1
    if led % (2 * state.front.couple_count[0] - 1) != 0:
        neighbour = _most_promising(state, led + 1)
    if neighbour >= 0:
        arms.used[_enter(state, neighbour)] = 2 * counters[ROUND] + 1
    write(state.front, neighbour, couples)
    return OK


def _observe(state, couples, played):
    fingerprint, games = _EMPTY, 0
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        note_mean(state.greedy, state.keys[0], i, j, mean)
        fingerprint += _pair_fingerprint(state, couples[c, 0], couples[c, 1])
        games += played[c]
    arm = _arm_of(state, fingerprint)
    if arm != _NONE:
        _reward(state, arm, games, len(played))


provide(OsubState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def _random_neighbour(state):
    """When not all are available: now and then a neighbour of the greedy leader, at random."""
    choices = 2 * state.greedy.couple_count[0] - 2
    if choices == 0 or state.counters[ROUND] % (choices + 1) != 0:
        return -1
    return below(word(state.keys[1], state.counters[ROUND]), choices)


@kernel
def _pair_fingerprint(state, i, j):
    """What a couple adds to the fingerprint of a matching; the phantom's adds nothing."""
    if j == len(state.greedy.place) - 1:
        return _EMPTY
    return word(_EMPTY, packed(i, j))


@kernel
def _arm_of(state, fingerprint):
    """The number of the arm with a fingerprint."""
    table = state.arms.table
    cell = leader_counts.seek(table, fingerprint | _LAST_BIT)
    return table.counts[cell] if table.keys[cell] != _EMPTY else _NONE


@kernel
def _reward(state, arm, games, couple_count):
    """Enter what a round brought to an arm, and see whether it is the best now."""
    arms, counters = state.arms, state.counters
    before = arms.mean[arm]
    arms.tries[arm] += 1
    arms.games[arm] += games
    arms.mean[arm] = arms.games[arm] / (arms.tries[arm] * couple_count)
    if counters[TOP] == arm:
        if arms.mean[arm] < before:
            counters[TOP] = UNKNOWN
    elif counters[TOP] != UNKNOWN and _is_better(state, arm, counters[TOP]):
        counters[TOP] = arm


@kernel
def _is_better(state, arm, rival):
    mean, rival_mean = state.arms.mean[arm], state.arms.mean[rival]
    if mean != rival_mean:
        return mean > rival_mean
    one, other = state.arms.fingerprint[arm], state.arms.fingerprint[rival]
    return word(state.keys[2], one) > word(state.keys[2], other)


@kernel
def sort_leader(state):
    """Put the leader's couples in the order of their means into `front`."""
    front, counters, greedy = state.front, state.counters, state.greedy.order
    front.couple_count[0] = (counters[PRESENT] + 1) // 2
    if counters[ARMS] == 0:
        greedy_leader.update(state.greedy, state.stats, state.keys[0])
        for k in range(front.couple_count[0]):
            _insert(state, k, greedy[2 * k], greedy[2 * k + 1])
        return
    if counters[TOP] == UNKNOWN:
        counters[TOP] = 0
        for arm in range(1, counters[ARMS]):
            if _is_better(state, arm, counters[TOP]):
                counters[TOP] = arm
    order = state.arms.order[counters[TOP]]
    for k in range(front.couple_count[0]):
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
    level, luck = exploration_level(clock), word(state.keys[1], state.counters[ROUND])
    top = state.counters[TOP]
    best, best_neighbour = _index(state, top, level, 0.0), -1
    for neighbour in range(2 * state.front.couple_count[0] - 2):
        fingerprint = _neighbour_fingerprint(state, state.arms.fingerprint[top], neighbour)
        value = _index(state, _arm_of(state, fingerprint), level, best)
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
def _neighbour_fingerprint(state, fingerprint, neighbour):
    """The fingerprint of a neighbour of the leader, whose own is `fingerprint`."""
    if neighbour >= 0:
        k, swap, order = neighbour >> 1, neighbour & 1, state.front.order
        pair, other = cross_pair(state.front, k, swap), cross_pair(state.front, k, 3 - swap)
        fingerprint -= _pair_fingerprint(state, order[2 * k], order[2 * k + 1])
        fingerprint -= _pair_fingerprint(state, order[2 * k + 2], order[2 * k + 3])
        fingerprint += _pair_fingerprint(state, pair[0], pair[1])
        fingerprint += _pair_fingerprint(state, other[0], other[1])
    return fingerprint


@kernel
def _matching_fingerprint(state, order):
    """The fingerprint of the matching with these couples."""
    fingerprint = _EMPTY
    for k in range((state.counters[PRESENT] + 1) // 2):
        fingerprint += _pair_fingerprint(state, order[2 * k], order[2 * k + 1])
    return fingerprint


@kernel
def _enter(state, neighbour):
    """The arm of a neighbour of the leader, or of the leader; it is made if it is new."""
    arms, counters = state.arms, state.counters
    fingerprint = _neighbour_fingerprint(
        state, _matching_fingerprint(state, state.front.order), neighbour
    )
    arm = _arm_of(state, fingerprint)
    if arm == _NONE:
        arm = _new_number(state)
        arms.table.counts[leader_counts.find(arms.table, fingerprint | _LAST_BIT)] = arm
        arms.fingerprint[arm], arms.mean[arm] = fingerprint, UNTRIED
        arms.tries[arm] = arms.games[arm] = arms.led[arm] = 0
        order, front = arms.order[arm], state.front
        for x in range(2 * front.couple_count[0]):
            order[x] = front.order[x]
        if neighbour >= 0:
            k, swap = neighbour >> 1, neighbour & 1
            order[2 * k], order[2 * k + 1] = cross_pair(front, k, swap)
            order[2 * k + 2], order[2 * k + 3] = cross_pair(front, k, 3 - swap)
        if counters[TOP] == UNKNOWN or _is_better(state, arm, counters[TOP]):
            counters[TOP] = arm
    return arm


@kernel
def _new_number(state):
    """A number for a new arm: the next, or that of the arm unused for longest, now forgotten."""
    arms, counters = state.arms, state.counters
    if counters[ARMS] < counters[MAX_ARMS]:
        counters[ARMS] += 1
        return counters[ARMS] - 1
    oldest = 0
    for arm in range(1, counters[ARMS]):
        if arms.used[arm] < arms.used[oldest]:
            oldest = arm
    leader_counts.remove(arms.table, arms.fingerprint[oldest] | _LAST_BIT)
    return oldest


@kernel
def enter_all(state):
    """Enter the arms that `order`, `tries` and `games` hold; whether no two are the same."""
    arms, counters = state.arms, state.counters
    couple_count = counters[PRESENT] // 2
    leader_counts.clear(arms.table)
    counters[TOP] = UNKNOWN
    for arm in range(counters[ARMS]):
        arms.fingerprint[arm] = _matching_fingerprint(state, arms.order[arm])
        if _arm_of(state, arms.fingerprint[arm]) != _NONE:
            return False
        arms.table.counts[leader_counts.find(arms.table, arms.fingerprint[arm] | _LAST_BIT)] = arm
        tries = arms.tries[arm]
        arms.mean[arm] = arms.games[arm] / (tries * couple_count) if tries > 0 else UNTRIED
    return True
