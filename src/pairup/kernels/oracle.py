"""The best matching: neighbours in the ranking of all players by their rates."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.couples import couple_in_order
from pairup.kernels.runtime.dispatch import OK, provide


class OracleState(NamedTuple):
    """State of `Oracle`: all slots from the best rate to the worst, and which are available."""

    ranking: np.ndarray
    available: np.ndarray


def set_available(state, players):
    """See `dispatch.set_available`."""
    state.available[:] = False
    for i in players:
        state.available[i] = True


def propose(state, couples):
    """See `dispatch.propose`."""
    couple_in_order(state.ranking, state.available, couples)
    return OK


def observe(state, couples, played):
    """See `dispatch.observe`: nothing is learnt."""


provide(OracleState, set_available=set_available, propose=propose, observe=observe)
