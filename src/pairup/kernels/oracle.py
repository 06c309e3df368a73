"""The best matching: neighbours in the ranking of all players by their rates."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.couples import couple_in_order, mark_available
from pairup.kernels.graph_matcher import (
    GraphMatcher,
    match_by_weights,
    set_available_on_graph,
    write_matching,
)
from pairup.kernels.runtime.dispatch import OK, learn_nothing, provide


class OracleState(NamedTuple):
    """State of `Oracle`: all slots from the best rate to the worst, and their rates."""

    ranking: np.ndarray
    available: np.ndarray
    rates: np.ndarray  # of each slot, 0 where it is not known


def _propose(state, couples):
    couple_in_order(state.ranking, state.available, couples)
    return OK


provide(OracleState, set_available=mark_available, propose=_propose, observe=learn_nothing)


class OracleGraphState(NamedTuple):
    """State of `Oracle` on a graph; the weights of its matcher are what couples are worth."""

    inner: OracleState
    matcher: GraphMatcher


def _set_available_on_graph(state, players):
    set_available_on_graph(state, players)
    match_by_weights(state.matcher)


def _propose_on_graph(state, couples):
    write_matching(state.matcher, couples)
    return OK


provide(
    OracleGraphState,
    set_available=_set_available_on_graph,
    propose=_propose_on_graph,
    observe=learn_nothing,
)
