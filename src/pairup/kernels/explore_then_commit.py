"""Explore, then commit: round robins of all players, and then the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader
from pairup.kernels.couple_statistics import CoupleStatistics
from pairup.kernels.couples import fill_members
from pairup.kernels.greedy_leader import Leader, learn
from pairup.kernels.neighbours import write
from pairup.kernels.round_robin import write_meetings
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
