"""GRAB: play the leader, the best assignment, or the neighbour that looks best optimistically.

With R items, C positions and the places of the leader ranked by means, there are R - 1 neighbours:
number n < C - 1 swaps the items of the ranks n and n + 1, and number C - 1 + h puts hidden item
number h into the last rank; -1 is the leader itself.

A neighbour's gain is a sum of indices less those of the leader's couples. KL indices are bounded
from both sides without a logarithm (see `kl_index`), which mostly tells the best neighbour
from the others; where it does not, they are solved exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples.kl_index import (
    ENTRIES,
    UNKNOWN,
    best_neighbour,
    exact_gain,
    exploration_level,
    lower_gain,
    lower_index,
    solve_index,
    takes_lead,
    upper_gain,
    upper_index,
)
from pairup.compiled.couples.leader_counts import (
    CELL,
    LEVEL,
    NO_CELL,
    TURN_PLACES,
    TURN_REALS,
    LeaderCounts,
    times_led,
)
from pairup.compiled.couples.statistics import CoupleStatistics, record
from pairup.compiled.kernels import bind, kernel, slot
from pairup.compiled.logarithm import log
from pairup.compiled.matchings.graph_matcher import write_nobody
from pairup.compiled.randomness import shuffle, word
from pairup.compiled.state_fields import (
    AVAILABLE,
    ROUND,
    Flags,
    Integers,
    Keys,
    Reals,
    new_counters,
    new_reals,
    new_state,
)
from pairup.compiled.steps import FULL, OK, provide
from pairup.errors import PolicyError
from pairup.policies.contract import StartContext, check_integer_option
from pairup.policies.couple_policies import LeaderCountingPolicy
from pairup.policies.rankings.assigned_leader import (
    AssignedLeader,
    assign,
    note_mean,
    rank_places,
    update,
)
from pairup.policies.registry import register

# Places of counters.
(
    HORIZON,  # rounds to come, if the clock is the horizon
    KL,  # the KL index, not UCB
    PERIOD,  # times as leader between two plays of it, 0: as many as items
    _COUNTERS,  # how many there are
) = range(TURN_PLACES, TURN_PLACES + 4)

_BELOW, _EXACT, _ABOVE = range(3)  # where a number stands to an index: a bound, or the index itself


@register
@dataclass(frozen=True)
class GRAB(LeaderCountingPolicy):
    """Play the best assignment or the most promising of its neighbours (Gauthier et al., 2021).

    For two sides: *items*, the longer side, are assigned to *positions*, the shorter one. The
    leader is the assignment with the greatest sum of empirical means. With its positions in the
    order of their means, its neighbours swap the items of two successive positions, or put an
    item that is not displayed into the last position. Each leader is played itself the first time
    and every `period`-th time that it leads; otherwise the neighbour with the greatest sum of
    optimistic indices is played, and the leader when none promises more than it. The paper's
    V1, ``Unimodal(compare="matchings")``, is this policy carried over to one side.

    Parameters
    ----------
    period : int, optional
        Number of times that a leader leads between two rounds in which it is played itself, at
        least 1. The number of items if not given, as in the authors' experiments.
    index : {"kl", "ucb"}
        Optimistic estimate of a couple: KL-UCB as its authors have it, or
        mean + sqrt(2 log(clock) / tries). Unseen couples are at 1 (KL) or at infinity.
    clock : {"leader", "horizon"}
        What the exploration grows with: how often this leader has led, as in the article (the KL
        level is log n + 3 log log n); or the number of rounds to come, as in the authors' code
        (the level is log T from the first round on).
    horizon : int, optional
        Number of rounds to come, at least 2, for that clock. A simulation supplies its own when
        this is not given.

    Notes
    -----
    Of several assignments that are the best, the leader stays what it was.

    Examples
    --------
    >>> from pairup import GRAB, Problem, simulate
    >>> problem = Problem.two_sided([0.9, 0.6, 0.3, 0.1], [1.0, 0.5])
    >>> run = simulate(problem, GRAB(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 200  # of the 1,150 that matchings drawn at random lose
    np.True_
    """

    period: int | None = None
    index: Literal["kl", "ucb"] = "kl"
    clock: Literal["leader", "horizon"] = "leader"
    horizon: int | None = None

    name: ClassVar[str] = "grab"
    needs_sides: ClassVar[bool] = True
    serves_pools: ClassVar[bool] = False  # the players of a pool are on one side
    nominal_ns: ClassVar[int] = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period is not None:
            check_integer_option(self, "period", 1, "give a number of rounds")
        if self.horizon is not None:
            check_integer_option(self, "horizon", 2, "give the number of rounds you expect")

    def needs(self) -> tuple[str, ...]:
        return ("horizon",) if self.clock == "horizon" and self.horizon is None else ()

    def sizes(self, context: StartContext) -> dict[str, int]:
        assert context.columns is not None  # check_sides() saw to it
        few, many = sorted(np.bincount(context.columns, minlength=2).tolist())
        return super().sizes(context) | {"few": few, "many": many, "kl": int(self.index == "kl")}

    def start(self, context: StartContext) -> GrabState:
        level = 0.0
        horizon = self.horizon or context.horizon if self.clock == "horizon" else 0
        if horizon is None:
            raise PolicyError(
                'grab needs to know its horizon, got none: give GRAB(clock="horizon", '
                'horizon=1_000_000), the number of rounds to come, or clock="leader"'
            )
        if horizon:
            level = math.log(max(horizon, 2))
            level = level if self.index == "kl" else math.sqrt(2 * level)
        options = {PERIOD: self.period or 0, KL: self.index == "kl", HORIZON: horizon}
        assert context.columns is not None
        return new_state(
            GrabState,
            self.sizes(context),
            keys=context.keys(3),
            counters=new_counters(options, _COUNTERS),
            reals=new_reals({LEVEL: level}, TURN_REALS),
            is_row=np.append(~context.columns, False),
        )

    def leader(self, state: Any) -> NDArray[np.int64]:
        update_leader(state)
        rank_places(state.leader, state.keys[0])
        couples: NDArray[np.int64] = state.leader.order[: 2 * state.leader.couple_count[0]]
        return couples.reshape(-1, 2)[state.leader.ranked[: state.leader.couple_count[0]]]


class GrabState(NamedTuple):
    """State of `GRAB`."""

    stats: CoupleStatistics
    leader: AssignedLeader
    counts: LeaderCounts
    # Of ties between couples, of ties between neighbours, of the items' order.
    keys: np.ndarray = Keys(3)
    counters: np.ndarray = Integers(_COUNTERS)
    reals: np.ndarray = Reals(TURN_REALS)  # LEVEL, where the clock is the horizon
    is_row: np.ndarray = Flags("slots")  # by slot
    # KL: the indices that were solved last, by slots.
    anchors: np.ndarray = Reals(f"slots * kl, slots * kl, {ENTRIES}", UNKNOWN, by_couple=True)
    # Bounds of the indices of the leader's couples in this round, by place.
    lower: np.ndarray = Reals("slots")


def _set_available(state, players):
    leader, rows = state.leader, 0
    for i in players:
        rows += state.is_row[i]
    items_are_rows = 2 * rows >= len(players)
    leader.place[:] = -1
    leader.item_count[0] = leader.couple_count[0] = 0
    for i in players:
        leader.is_position[i] = state.is_row[i] != items_are_rows
        if leader.is_position[i]:
            leader.positions[leader.couple_count[0]] = i
            leader.place[i] = leader.couple_count[0]
            leader.couple_count[0] += 1
        else:
            leader.items[leader.item_count[0]] = i
            leader.item_count[0] += 1
    shuffle(state.keys[2], leader.items[: leader.item_count[0]])
    state.counters[AVAILABLE] = len(players)
    state.counters[CELL] = NO_CELL
    assign(leader, state.stats.mean)


def _propose(state, couples):
    update_leader(state)
    rank_places(state.leader, state.keys[0])
    led = times_led(state)
    if led < 0:
        return FULL
    period = state.counters[PERIOD] if state.counters[PERIOD] > 0 else state.leader.item_count[0]
    neighbour = -1
    if led % period != 0:
        level = _level(state, led + 1)
        for k in range(state.leader.couple_count[0]):
            item, position = state.leader.item[k], state.leader.positions[k]
            state.lower[k] = _index(state, item, position, level, _BELOW)
        neighbour = best_neighbour(state, state.leader.item_count[0] - 1, level)
    _write(state.leader, neighbour, couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        note_mean(state.leader, i, j, record(state.stats, i, j, played[c]))


provide(GrabState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def update_leader(state):
    """Update the leader by the statistics."""
    if update(state.leader, state.stats.mean):
        state.counters[CELL] = NO_CELL


@kernel
def _level(state, clock):
    """By what indices exceed means: the level of the KL index, or the factor of the UCB radius."""
    if state.counters[HORIZON] > 0:
        return state.reals[LEVEL]
    return exploration_level(clock) if state.counters[KL] else math.sqrt(2.0 * log(float(clock)))


def _upper_gain(state, neighbour, level):
    leader, last = state.leader, state.leader.couple_count[0] - 1
    if neighbour >= last:
        k, hidden = leader.ranked[last], leader.hidden[neighbour - last]
        return _index(state, hidden, leader.positions[k], level, _ABOVE) - state.lower[k]
    k, other = leader.ranked[neighbour], leader.ranked[neighbour + 1]
    swapped = _index(state, leader.item[other], leader.positions[k], level, _ABOVE)
    swapped += _index(state, leader.item[k], leader.positions[other], level, _ABOVE)
    return swapped - (state.lower[k] + state.lower[other])


def _lower_gain(state, neighbour, level):
    return _gain(state, neighbour, level, False)


def _exact_gain(state, neighbour, level):
    return _gain(state, neighbour, level, True)


@kernel
def _gain(state, neighbour, level, exact):
    """How much more the neighbour gives, by exact indices, or at least, by bounds on them."""
    leader, last = state.leader, state.leader.couple_count[0] - 1
    lost, won = (_EXACT, _EXACT) if exact else (_ABOVE, _BELOW)
    k = leader.ranked[min(neighbour, last)]
    given_up = _index(state, leader.item[k], leader.positions[k], level, lost)
    if neighbour >= last:
        hidden = leader.hidden[neighbour - last]
        return _index(state, hidden, leader.positions[k], level, won) - given_up
    other = leader.ranked[neighbour + 1]
    given_up += _index(state, leader.item[other], leader.positions[other], level, lost)
    swapped = _index(state, leader.item[other], leader.positions[k], level, won)
    swapped += _index(state, leader.item[k], leader.positions[other], level, won)
    return swapped - given_up


def _takes_lead(state, value, neighbour, best, best_neighbour):
    """Ties are random, but the leader wins its own."""
    if value != best or best_neighbour < 0:
        return value > best
    key = word(state.keys[1], state.counters[ROUND])
    return word(key, _label(state, neighbour)) > word(key, _label(state, best_neighbour))


@kernel
def _label(state, neighbour):
    """A number of the neighbour that does not depend on the order of hidden items."""
    last = state.leader.couple_count[0] - 1
    return neighbour if neighbour < last else last + state.leader.hidden[neighbour - last]


@kernel
def _index(state, item, position, level, side):
    """The index of a couple, or a number from which it differs on one side only."""
    i, j = min(item, position), max(item, position)
    tries = state.stats.tries[i, j]
    if state.counters[KL] == 0:
        return state.stats.mean[i, j] + level / math.sqrt(tries) if tries > 0 else np.inf
    if side == _ABOVE:
        return upper_index(state.anchors[i, j], state.stats, i, j, level)
    if side == _BELOW:
        return lower_index(state.anchors[i, j], state.stats, i, j, level)
    return solve_index(state.anchors[i, j], state.stats, i, j, level) if tries > 0 else 1.0


@kernel
def _write(leader, neighbour, couples):
    """Write a neighbour of the leader into `couples`, in the order of the leader's ranks."""
    count, last = leader.couple_count[0], leader.couple_count[0] - 1
    for x in range(count):
        taken = x
        if 0 <= neighbour < last and (x == neighbour or x == neighbour + 1):
            taken = 2 * neighbour + 1 - x
        item, position = leader.item[leader.ranked[taken]], leader.positions[leader.ranked[x]]
        if x == last and neighbour >= last:
            item = leader.hidden[neighbour - last]
        couples[x, 0], couples[x, 1] = min(item, position), max(item, position)
    write_nobody(couples, count)


bind(upper_gain, GrabState, _upper_gain)
bind(lower_gain, GrabState, _lower_gain)
bind(exact_gain, GrabState, _exact_gain)
bind(takes_lead, GrabState, _takes_lead)
