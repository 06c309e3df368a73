"""Explore, then commit: round robins of all players, and then the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader
from pairup.kernels.couple_statistics import CoupleStatistics
from pairup.kernels.couples import fill_members
from pairup.kernels.graph_matcher import (
    GraphMatcher,
    match_by_weights,
    observe_on_graph,
    set_available_on_graph,
    set_weights_by_couples,
    write_matching,
)
from pairup.kernels.greedy_leader import Leader, learn
from pairup.kernels.neighbours import write
from pairup.kernels.round_robin import write_meetings
from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import shuffle
from pairup.kernels.state_layout import MEMBERS, TURN, TURNS


class ExploreThenCommitState(NamedTuple):
    """State of `ExploreThenCommit`: statistics, their leader, players in a random order."""

    stats: CoupleStatistics
    leader: Leader
    keys: np.ndarray  # of ties between pairs, and of the order in the tournament
    now: np.ndarray
    members: np.ndarray


class ExploreThenCommitGraphState(NamedTuple):
    """State of `ExploreThenCommit` on a graph."""

    inner: ExploreThenCommitState
    matcher: GraphMatcher
    turns: np.ndarray  # of exploration


def _set_available(state, players):
    phantom = len(state.leader.place) - 1
    state.now[MEMBERS] = fill_members(state.members, players, phantom)
    shuffle(state.keys[1], state.members[: len(players)])
    greedy_leader.set_players(state.leader, state.stats, players)


def _propose(state, couples):
    if state.now[TURN] < state.now[TURNS]:
        members, phantom = state.members[: state.now[MEMBERS]], len(state.leader.place) - 1
        write_meetings(members, state.now[TURN], phantom, couples)
        state.now[TURN] += 1
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


# What is seen after the commitment counts too.
provide(ExploreThenCommitState, set_available=_set_available, propose=_propose, observe=learn)


def _propose_on_graph(state, couples):
    """Couples that met least, then the best by what was seen."""
    inner, matcher = state.inner, state.matcher
    if inner.now[TURN] < state.turns[0]:
        _weigh_rarest(inner, matcher)
        inner.now[TURN] += 1
    else:
        set_weights_by_couples(matcher, inner.stats.mean)
    match_by_weights(matcher)
    write_matching(matcher, couples)
    return OK


provide(
    ExploreThenCommitGraphState,
    set_available=set_available_on_graph,
    propose=_propose_on_graph,
    observe=observe_on_graph,
)


@kernel
def _weigh_rarest(state, matcher):
    """Weigh couples by 1 / (1 + tries), and the luck that tells equals apart."""
    for k in range(len(matcher.weights)):
        i, j = matcher.graph.low[k], matcher.graph.high[k]
        matcher.weights[k] = 1.0 / (1.0 + state.stats.tries[i, j]) + matcher.luck[k]
