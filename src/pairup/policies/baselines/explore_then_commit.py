"""Explore-then-commit, the simplest policy that learns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pairup.compiled.couples import greedy_leader
from pairup.compiled.couples.greedy_leader import Leader, learn
from pairup.compiled.couples.neighbours import write
from pairup.compiled.couples.round_robin import write_meetings
from pairup.compiled.couples.rows import fill_members
from pairup.compiled.couples.statistics import CoupleStatistics
from pairup.compiled.kernels import kernel
from pairup.compiled.matchings.graph_matcher import (
    GraphMatcher,
    GraphState,
    match_by_weights,
    set_weights_by_couples,
    write_matching,
)
from pairup.compiled.randomness import shuffle
from pairup.compiled.state_fields import (
    MEMBERS,
    OWN,
    PRESENT,
    Integers,
    Keys,
    new_counters,
    new_state,
)
from pairup.compiled.steps import OK, provide
from pairup.errors import PolicyError
from pairup.policies.contract import Slots, StartContext, check_integer_option
from pairup.policies.couple_policies import GreedyLeaderPolicy
from pairup.policies.registry import register

# Places of counters.
(
    HORIZON,  # rounds to come, 0 if not known
    TURN,  # turns played
    TURNS,  # turns to play
    GRAPH_TURNS,  # ... on the graph
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 5)


@register
@dataclass(frozen=True)
class ExploreThenCommit(GreedyLeaderPolicy):
    """Make all players meet in round robins, then propose the leader.

    The leader is the greedy matching by empirical means, as for `Unimodal`. What is seen after the
    exploration still counts, so that a leader that disappoints can be replaced.

    Parameters
    ----------
    cycles : int, optional
        Round robins of 2L - 1 rounds to explore, at least 1. By default
        (horizon / (2L - 1))^(2/3) log(horizon)^(1/3), rounded up, which balances what exploration
        and a wrong commitment may cost.
    horizon : int, optional
        Number of rounds to come, at least 2, needed where `cycles` is not given. A simulation tells
        its own; a live learner needs it.

    Notes
    -----
    When players join or leave, exploration begins again, with past games counted. When not everyone
    is available, those who are play a turn of a round robin of their own.

    Examples
    --------
    >>> from pairup import ExploreThenCommit, Problem, simulate
    >>> problem = Problem([0.9, 0.9, 0.1, 0.1])
    >>> run = simulate(problem, ExploreThenCommit(cycles=20), rounds=2_000, replications=4)
    >>> run.mean()[-1].round(6)  # of 60 rounds, 40 cost 0.64
    np.float64(25.6)
    """

    cycles: int | None = None
    horizon: int | None = None

    name: ClassVar[str] = "explore_then_commit"
    plays_on_graphs: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 10
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({"cycles": 2},)

    def __post_init__(self) -> None:
        if self.cycles is not None:
            check_integer_option(self, "cycles", 1)
        if self.horizon is not None:
            check_integer_option(self, "horizon", 2, "give the number of rounds you expect")

    def needs(self) -> tuple[str, ...]:
        return ("horizon",) if self.horizon is None and self.cycles is None else ()

    def start(self, context: StartContext) -> ExploreThenCommitState:
        horizon = self.horizon or context.horizon
        if horizon is None and self.cycles is None:
            raise PolicyError(
                "explore_then_commit needs cycles or a horizon, got neither: give the number of "
                "rounds to come, ExploreThenCommit(horizon=1_000_000)"
            )
        return new_state(
            ExploreThenCommitState,
            self.sizes(context),
            keys=context.keys(2),
            counters=new_counters({HORIZON: horizon or 0}, _COUNTERS),
        )

    def set_present(self, state: Any, present: Slots) -> None:
        # Exploration begins again.
        cycle = max(2 * ((len(present) + 1) // 2) - 1, 1)
        state.counters[TURN], state.counters[TURNS] = 0, self._turns(state, cycle)
        state.counters[PRESENT] = len(present)

    def on_graph(self, state: Any, matcher: GraphMatcher, context: StartContext) -> GraphState:
        # A player can meet all others in as many rounds as there are.
        state.counters[GRAPH_TURNS] = self._turns(state, int(matcher.degree[0]))
        return super().on_graph(state, matcher, context)

    def _turns(self, state: Any, cycle: int) -> int:
        """Return for how many turns to explore, if all couples can meet in `cycle` of them."""
        horizon = max(int(state.counters[HORIZON]), 2)
        balanced = math.ceil((horizon / cycle) ** (2 / 3) * math.log(horizon) ** (1 / 3))
        return (self.cycles or balanced) * cycle

    def catch_up(self, state: Any, rounds: int) -> Any:
        # Exploration continues after the round robins in which every couple was seen.
        players, tries = int(state.counters[PRESENT]), state.stats.tries
        seen = tries[tries > 0]
        least = int(seen.min()) if len(seen) and len(seen) == players * (players - 1) // 2 else 0
        turn = least * max(2 * ((players + 1) // 2) - 1, 1)
        state.counters[TURN] = max(state.counters[TURN], min(turn, state.counters[TURNS]))
        return state


class ExploreThenCommitState(NamedTuple):
    """State of `ExploreThenCommit`: statistics, their leader, players in a random order."""

    stats: CoupleStatistics
    leader: Leader
    keys: np.ndarray = Keys(2)  # of ties between pairs, and of the order in the tournament
    counters: np.ndarray = Integers(_COUNTERS, saved=(TURN,))
    members: np.ndarray = Integers("slots + 1")


def _set_available(state, players):
    phantom = len(state.leader.place) - 1
    state.counters[MEMBERS] = fill_members(state.members, players, phantom)
    shuffle(state.keys[1], state.members[: len(players)])
    greedy_leader.set_players(state.leader, state.stats, players)


def _propose(state, couples):
    if state.counters[TURN] < state.counters[TURNS]:
        members, phantom = state.members[: state.counters[MEMBERS]], len(state.leader.place) - 1
        write_meetings(members, state.counters[TURN], phantom, couples)
        state.counters[TURN] += 1
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


def _propose_on_graph(state, matcher, couples):
    """Couples that met least, then the best by what was seen."""
    if state.counters[TURN] < state.counters[GRAPH_TURNS]:
        _weigh_rarest(state, matcher)
        state.counters[TURN] += 1
    else:
        set_weights_by_couples(matcher, state.stats.mean)
    match_by_weights(matcher)
    write_matching(matcher, couples)
    return OK


provide(
    ExploreThenCommitState,
    set_available=_set_available,
    propose=_propose,
    observe=learn,  # what is seen after the commitment counts too
    propose_on_graph=_propose_on_graph,
)


@kernel
def _weigh_rarest(state, matcher):
    """Weigh couples by 1 / (1 + tries), and the luck that tells equals apart."""
    for k in range(len(matcher.weights)):
        i, j = matcher.graph.low[k], matcher.graph.high[k]
        matcher.weights[k] = 1.0 / (1.0 + state.stats.tries[i, j]) + matcher.luck[k]
