"""PMED: rounds by a plan, which the host makes again when it is out of date.

A plan is a leader and some other matchings, each with the rounds in which it is still to be played.
When these are played, or the leader was played for as long as it can be trusted, or other players
are available, the step says so. Between two plans a round takes as long as writing a matching.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels.couple_statistics import CoupleStatistics, record
from pairup.kernels.graph_matcher import write_nobody
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, STALE, provide
from pairup.kernels.state_layout import CHANGED, COUNT, COUPLES, LAST_ROUND, ROUND, TURNS


class PMEDState(NamedTuple):
    """State of `PMED`: statistics of couples, and the plan."""

    stats: CoupleStatistics
    available: np.ndarray  # by slot
    planned_for: np.ndarray  # by slot: who was available when the plan was made
    columns: np.ndarray  # by slot: who is a column; empty on one side
    matchings: np.ndarray  # of the plan, the leader first
    plays: np.ndarray  # rounds in which each is still to be played
    now: np.ndarray


def _set_available(state, players):
    state.available[:] = False
    for i in players:
        state.available[slot(i)] = True
    state.now[CHANGED] = False
    for i in range(len(state.available)):
        state.now[CHANGED] |= state.available[i] != state.planned_for[i]


def _propose(state, couples):
    now = state.now
    if now[CHANGED] or (now[TURNS] == 0 and now[ROUND] >= now[LAST_ROUND]):
        return STALE
    choice = _most_wanted(state) if now[TURNS] > 0 else 0
    for c in range(now[COUPLES]):
        couples[c, 0] = state.matchings[choice, c, 0]
        couples[c, 1] = state.matchings[choice, c, 1]
    write_nobody(couples, now[COUPLES])
    now[ROUND] += 1
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        record(state.stats, slot(couples[c, 0]), slot(couples[c, 1]), played[c])


provide(PMEDState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def _most_wanted(state):
    """The matching that is furthest behind the plan; it is played now."""
    choice = 0
    for k in range(1, state.now[COUNT]):
        if state.plays[k] > state.plays[choice]:
            choice = k
    state.plays[choice] -= 1
    state.now[TURNS] -= 1
    return choice
