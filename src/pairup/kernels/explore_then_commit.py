"""Explore, then commit: round robins of all players, and then the leader."""

from typing import NamedTuple

import numpy as np

from pairup.kernels import greedy_leader
from pairup.kernels.counters import MEMBERS, TURN, TURNS
from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.greedy_leader import Leader, note_mean
from pairup.kernels.neighbours import write
from pairup.kernels.round_robin import next_meeting
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import shuffle


class ExploreThenCommitState(NamedTuple):
    """State of `ExploreThenCommit`: statistics, their leader, players in a random order."""

    stats: CoupleStatistics
    leader: Leader
    keys: np.ndarray  # of ties between pairs, and of the order in the tournament
    now: np.ndarray
    members: np.ndarray


def set_available(state, players):
    """See `dispatch.set_available`."""
    phantom, available = len(state.leader.place) - 1, len(players)
    state.now[MEMBERS] = available + available % 2
    state.members[available] = phantom
    for x in range(available):
        state.members[x] = players[x]
    shuffle(state.keys[1], state.members[:available])
    greedy_leader.set_players(state.leader, state.stats, players, phantom)


def propose(state, couples):
    """See `dispatch.propose`."""
    if state.now[TURN] < state.now[TURNS]:
        _play_turn(state, couples)
        state.now[TURN] += 1
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


def observe(state, couples, played):
    """See `dispatch.observe`: all that is seen counts, after the commitment too."""
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        mean = record(state.stats, i, j, played[c])
        note_mean(state.leader, state.keys[0], i, j, mean)


provide(ExploreThenCommitState, set_available=set_available, propose=propose, observe=observe)


@kernel
def _play_turn(state, couples):
    """Write the meetings of this turn, less the phantom's."""
    members, last = state.members, state.now[MEMBERS] - 1
    phantom, row = len(state.leader.place) - 1, 0
    up = down = state.now[TURN] % last
    partner = last
    for _ in range((last + 1) // 2):
        i, j = min(members[up], members[partner]), max(members[up], members[partner])
        if j != phantom:
            couples[row, 0], couples[row, 1] = i, j
            row += 1
        up, down = next_meeting(up, down, last)
        partner = down
