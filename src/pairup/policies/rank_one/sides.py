"""Thompson sampling of all rates at once, on two sides.

The rates are drawn as by `policies.rank_one.steps`; then the best row meets the best column, the
second best the second best, and so on. Sorting all players sorts both sides.

On two sides outcomes show the rates of rows and of columns but for a common factor: all rows up and
all columns down by the same factor leave every product as it is. Only the prior, and the rule that
rates stay below 1, tell anything about that scale. To change it by moves of single players would
take many, each of which all others resist, so it has a move of its own: with R rows, C columns and
a Beta(a, b) prior, the factor f changes the log density of the logarithms of the rates by

    a (R - C) ln f + (b - 1) (sum over i of ln((1 - moved_i) / (1 - rate_i))).

A game adds an acceptance to a row and one to a column, so that games cancel.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.rows import write_couple
from pairup.compiled.kernels import kernel, slot
from pairup.compiled.logarithm import log
from pairup.compiled.matchings.graph_matcher import observe_within, write_nobody
from pairup.compiled.randomness import word
from pairup.compiled.stable_sort import sort_by_values
from pairup.compiled.state_fields import AVAILABLE, ROUND
from pairup.compiled.steps import OK, provide, set_available
from pairup.policies.rank_one.fading import fade_round
from pairup.policies.rank_one.moments import (
    average_draw,
    average_expected,
    learn_prior,
    start_newcomers,
)
from pairup.policies.rank_one.posterior import refresh_as_due, uniform
from pairup.policies.rank_one.state import (
    CHANGED,
    LEARNS_PRIOR,
    OUTCOMES,
    PERIOD,
    PRIOR_A,
    PRIOR_B,
    WEIGHT_GROWTH,
    RankOneState,
)
from pairup.policies.rank_one.steps import sort_by_mean

# All players are refreshed _REFRESHES / (outcomes of the player known best) times per round, within
# these limits. Rows that are seldom coupled would otherwise be refreshed in every round.
_REFRESHES, _MIN_REFRESHES, _MAX_REFRESHES = 2_000.0, 0.05, 80.0
_SCALE = 2**60  # number of the stream of scales, beyond those of all rounds
_SPREAD = 4.0  # a move goes this far, in mean distances of the scale from its bound
_MIN_RATE = 1e-30


class RankOneSidesState(NamedTuple):
    """State of `RankOneThompson` on two sides."""

    inner: RankOneState
    columns: np.ndarray  # which slots are columns
    key: np.ndarray  # of the draws of the scale


def new_sides_state(inner, columns):
    """Put a state on two sides."""
    return RankOneSidesState(inner, columns, np.array([word(inner.key[0], _SCALE)], np.uint64))


def _set_available(state, players):
    set_available(state.inner, players)


def _propose(state, couples):
    """Best with best by a draw of the rates, in between by their means."""
    inner = state.inner
    count = inner.counters[AVAILABLE]
    if draw_on_sides_if_due(inner, state.columns, state.key[0]):
        sort_by_values(inner.by_rate, inner.rates, inner.spare, count)
        couple_across(inner.by_rate[:count], state.columns, couples)
    else:
        sort_by_mean(inner)
        couple_across(inner.by_mean[:count], state.columns, couples)
    inner.counters[ROUND] += 1
    return OK


provide(
    RankOneSidesState,
    set_available=_set_available,
    propose=_propose,
    observe=observe_within,
)


@kernel
def draw_on_sides_if_due(state, columns, key):
    """Advance the chain of rates, and their scale, if it is due in this round; returns whether."""
    if state.reals[WEIGHT_GROWTH] != 1.0:
        fade_round(state)
    if state.counters[LEARNS_PRIOR] == 1:
        start_newcomers(state)
    due = state.counters[ROUND] % state.counters[PERIOD] == 0
    if due:
        _move_scale(state, columns, word(key, state.counters[ROUND]))
        _draw(state)
    return due


@kernel
def couple_across(order, columns, couples):
    """Couple the rows with the columns, both as they come in `order`, while there are both."""
    x = y = row = 0
    while True:
        while x < len(order) and columns[slot(order[x])]:
            x += 1
        while y < len(order) and not columns[slot(order[y])]:
            y += 1
        if x == len(order) or y == len(order):
            break
        write_couple(couples, row, order[x], order[y])
        x, y, row = x + 1, y + 1, row + 1
    write_nobody(couples, row)


@kernel
def _draw(state):
    """Advance the chain as far as the new information requires, and take the rates there."""
    state.key[1], state.draws[0] = word(state.key[0], state.counters[ROUND]), 0
    count, most = state.counters[AVAILABLE], 0.0
    for x in range(count):
        most = max(most, state.met[slot(state.available[x])])
    limit, outcomes = max(_MAX_REFRESHES / count, 1.0), most * state.reals[OUTCOMES]
    due = state.counters[PERIOD] * min(max(_REFRESHES / (outcomes + 1.0), _MIN_REFRESHES), limit)
    for x in range(count):
        refresh_as_due(state, slot(state.available[x]), due)
    for x in range(count):
        if state.counters[LEARNS_PRIOR] == 1:
            average_expected(state, slot(state.available[x]))
        else:
            average_draw(state, slot(state.available[x]))
    if state.counters[LEARNS_PRIOR] == 1:
        learn_prior(state)
    state.counters[CHANGED] = 1


@kernel
def _move_scale(state, columns, key):
    """A Metropolis move of all rows up and all columns down by one factor, or the other way round.

    Its reach depends on what it leaves as it is, so that the way back is as likely.
    """
    rates = state.rates
    top_row, top_column, low_row, low_column, excess = 0.0, 0.0, 1.0, 1.0, 0
    for i in range(len(columns)):
        if columns[i]:
            top_column, low_column = max(top_column, rates[i]), min(low_column, rates[i])
            excess -= 1
        else:
            top_row, low_row = max(top_row, rates[i]), min(low_row, rates[i])
            excess += 1
    weight = state.reals[PRIOR_A] * excess
    room = -log(top_row * top_column)
    far = min(room, _SPREAD / (abs(weight) + 1e-9))
    shift = far / (2.0 + far) * (2.0 * uniform(key, 0) - 1.0)
    factor = (1.0 + shift) / (1.0 - shift)
    inside = top_row * factor < 1.0 and top_column / factor < 1.0
    if not (inside and low_row * factor > _MIN_RATE and low_column / factor > _MIN_RATE):
        return
    gain, declined = weight * log(factor), state.reals[PRIOR_B] - 1.0
    if declined != 0.0:
        for i in range(len(columns)):
            moved = rates[i] / factor if columns[i] else rates[i] * factor
            gain += declined * log((1.0 - moved) / (1.0 - rates[i]))
    if gain >= 0.0 or log(uniform(key, 1)) < gain:
        for i in range(len(columns)):
            rates[i] = rates[i] / factor if columns[i] else rates[i] * factor
