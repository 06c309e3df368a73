"""Unimodal Thompson sampling: play the leader, or the neighbour that looks best in a draw.

Every couple in sight, of the leader or of a neighbour, draws its rate from its posterior, once per
round. The draws stand side by side: at 5 k that of couple k of the leader, then those of the four
cross pairs of k and k + 1 (see `neighbours`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from pairup.compiled.couples import neighbours
from pairup.compiled.couples.greedy_leader import Leader, learn
from pairup.compiled.couples.leader_counts import LeaderCounts, times_led
from pairup.compiled.couples.neighbours import (
    BY_PLAYERS,
    NEIGHBOUR_PLACES,
    cross_pair,
    set_players,
    write,
)
from pairup.compiled.couples.statistics import PHANTOM_MEAN, CoupleStatistics
from pairup.compiled.distributions import fill_beta
from pairup.compiled.kernels import kernel, slot
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import ROUND, Integers, Keys, Reals, new_counters, new_state
from pairup.compiled.steps import FULL, OK, provide
from pairup.policies.contract import StartContext, check_integer_option
from pairup.policies.couple_policies import GreedyNeighbourPolicy
from pairup.policies.registry import register

# Places of counters.
(
    PERIOD,  # times as leader between two plays of it
    _COUNTERS,  # how many there are
) = range(NEIGHBOUR_PLACES, NEIGHBOUR_PLACES + 2)


@register
@dataclass(frozen=True)
class UnimodalThompson(GreedyNeighbourPolicy):
    """Play the leader or the neighbour that is best in a draw from the posterior.

    As `Unimodal`, but with draws in place of optimistic indices (after Trinh et al., 2020): each
    couple of the leader and of its neighbours draws a rate from Beta(1 + games, 1 + proposals
    without a game) once per round. The leader is played every `period`-th time that it leads, and
    whenever no neighbour draws better.

    Parameters
    ----------
    compare : {"players", "matchings"}
        As for `Unimodal`: whether a swapped player draws better than the one it replaces (the
        paper's V2), or the neighbour's number of games against the leader's (V1).
    period : int
        How often a leader is played without a look at its neighbours, at least 2.

    Notes
    -----
    No regret bound is known for matchings; where one arm is played per round, the rule is
    asymptotically optimal for every period.

    Examples
    --------
    >>> from pairup import Problem, UnimodalThompson, simulate
    >>> problem = Problem.around(0.5, 4, 0.1)
    >>> run = simulate(problem, UnimodalThompson(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 100
    np.True_
    """

    compare: Literal["players", "matchings"] = "players"
    period: int = 2

    name: ClassVar[str] = "unimodal_thompson"
    nominal_ns: ClassVar[int] = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer_option(self, "period", minimum=2)

    def start(self, context: StartContext) -> UnimodalThompsonState:
        options = {BY_PLAYERS: self.compare == "players", PERIOD: self.period}
        return new_state(
            UnimodalThompsonState,
            self.sizes(context),
            keys=context.keys(2),
            counters=new_counters(options, _COUNTERS),
        )


_DRAWS = "5 * (slots // 2 + 1)"  # of each couple of the leader and its cross pairs


class UnimodalThompsonState(NamedTuple):
    """State of `UnimodalThompson`: statistics, the leader, and a workspace for a round's draws."""

    stats: CoupleStatistics
    leader: Leader
    counts: LeaderCounts
    keys: np.ndarray = Keys(2)  # of ties between pairs, and of the draws
    counters: np.ndarray = Integers(_COUNTERS)
    alpha: np.ndarray = Reals(_DRAWS, 1)  # 1 + games of each couple that draws
    beta: np.ndarray = Reals(_DRAWS, 1)  # 1 + proposals without a game
    draw: np.ndarray = Reals(_DRAWS)


def _propose(state, couples):
    neighbours.update_leader(state)
    led = times_led(state)
    if led < 0:
        return FULL
    neighbour = -1
    if (led + 1) % state.counters[PERIOD] != 0:
        neighbour = _best_neighbour(state)
    write(state.leader, neighbour, couples)
    return OK


provide(UnimodalThompsonState, set_available=set_players, propose=_propose, observe=learn)


@kernel
def _best_neighbour(state):
    """The neighbour to play, or -1 for the leader itself, which wins its ties.

    By players (V2): how much better a new couple is than the better couple it undoes. By matchings
    (V1): how many more games the neighbour gives.
    """
    _draw_all(state)
    players = state.counters[BY_PLAYERS] != 0
    best, best_neighbour = 0.0, -1
    for k in range(state.leader.couple_count[0] - 1):
        draw = state.draw[5 * k :]
        for swap in range(2):
            new, other = draw[1 + swap], draw[4 - swap]
            gain = max(new, other) - draw[0] if players else new + other - (draw[0] + draw[5])
            if gain > best:
                best, best_neighbour = gain, 2 * k + swap
    return best_neighbour


@kernel
def _draw_all(state):
    """Draw the rates of all couples in sight; the phantom's is known."""
    leader, last = state.leader, state.leader.couple_count[0] - 1
    for k in range(last + 1):
        _prepare(state, 5 * k, leader.order[2 * k], leader.order[2 * k + 1])
        if k < last:
            for cross in range(4):
                i, j = cross_pair(leader, k, cross)
                _prepare(state, 5 * k + 1 + cross, i, j)
    draws = 5 * last + 1
    key = word(state.keys[1], state.counters[ROUND])
    fill_beta(key, state.alpha[:draws], state.beta[:draws], state.draw[:draws])
    phantom = len(leader.place) - 1
    if leader.place[phantom] >= 0:  # it is in the last couple, and in cross pairs with that before
        state.draw[5 * last] = PHANTOM_MEAN
        for cross in range(4 if last > 0 else 0):
            if cross_pair(leader, last - 1, cross)[1] == phantom:
                state.draw[5 * last - 4 + cross] = PHANTOM_MEAN


@kernel
def _prepare(state, x, i, j):
    """Write the posterior of couple (i, j), i < j, at place `x`."""
    tries, games = state.stats.tries[slot(i), slot(j)], state.stats.games[slot(i), slot(j)]
    state.alpha[slot(x)] = 1.0 + games
    state.beta[slot(x)] = 1.0 + (tries - games)
