"""Matchings on a graph: each couple that is allowed gets a weight, and the best matching is taken.

A policy that plays on a graph has a state of two parts: the state with which it plays on a complete
graph, and a `GraphMatcher`. What is learnt lies in the first part, which knows nothing of the
graph, so that the graph may change from one proposal to the next. Its step `propose_on_graph` gives
couples their weights.

To each weight the *luck* of its couple is added, a random billionth that breaks ties: so the best
matching is a function of the weights alone, and not of the matching from which its search started.
It also lets players meet whose game seems worth nothing, where that costs nothing.

Rows of a proposal that no couple needs, because players must wait, come last and hold NOBODY.
"""

from typing import Any, NamedTuple

import numpy as np

from pairup.compiled.couples.rows import luck, mark_available
from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.matchings.assignment import Assignment, assign_seekers, new_assignment
from pairup.compiled.matchings.sparse_matching import NOBODY as NOBODY
from pairup.compiled.matchings.sparse_matching import (
    CoupleGraph,
    SparseWorkspace,
    new_sparse_workspace,
    solve_graph,
)
from pairup.compiled.randomness import shuffle
from pairup.compiled.steps import observe, propose_on_graph, provide, set_available_on_graph


class GraphMatcher(NamedTuple):
    """A graph, who is available, and the weights of this round.

    On two sides, whose couples across are all allowed, matchings are assignments, which are found
    several times faster.
    """

    graph: CoupleGraph
    worth: np.ndarray  # of a game of each couple, at most 1
    luck: np.ndarray
    weights: np.ndarray
    available: np.ndarray
    degree: np.ndarray  # the most players whom one may meet: rounds in which all could
    order: np.ndarray  # workspace: numbers of couples
    workspace: SparseWorkspace
    columns: np.ndarray  # which slots are columns; empty but on two sides
    slots: np.ndarray  # those available on each side: rows, then columns
    place: np.ndarray  # of each of them on its side
    assignment: Assignment


def new_graph_matcher(graph, worth, columns=None):
    """Nobody is available yet."""
    slots, couples = len(graph.start) - 1, len(graph.low)
    columns = np.zeros(0, np.bool_) if columns is None else columns
    width = int(columns.sum())
    matcher = GraphMatcher(
        graph=graph,
        worth=worth,
        luck=np.zeros(couples),
        weights=np.zeros(couples),
        available=np.zeros(slots, np.bool_),
        degree=np.array([np.diff(graph.start).max(initial=1)]),
        order=np.zeros(couples, np.int64),
        workspace=new_sparse_workspace(slots, couples),
        columns=columns,
        slots=np.zeros((2, len(columns)), np.int64),
        place=np.zeros(len(columns), np.int64),
        assignment=new_assignment(len(columns) - width, width),
    )
    _fill_luck(matcher)
    return matcher


@outlined
def _fill_luck(matcher):
    """Draw a number in [0, 2**-30) for each couple, from the slots of its players."""
    for k in range(len(matcher.luck)):
        matcher.luck[k] = luck(np.uint64(0), matcher.graph.low[k], matcher.graph.high[k])


class GraphState(NamedTuple):
    """A policy's state on a graph."""

    inner: Any  # which learns
    matcher: GraphMatcher


def _set_available(state, players):
    mark_available(state.matcher, players)
    set_available_on_graph(state.inner, state.matcher, players)


def _propose(state, couples):
    return propose_on_graph(state.inner, state.matcher, couples)


def observe_within(state, couples, played):
    """The step `observe` of states with an `inner` state, which learns."""
    observe(state.inner, couples, played)


provide(GraphState, set_available=_set_available, propose=_propose, observe=observe_within)


@kernel
def can_meet(matcher, k):
    """Whether both players of couple `k` are available."""
    return matcher.available[matcher.graph.low[k]] and matcher.available[matcher.graph.high[k]]


@kernel
def set_weight(matcher, k, value):
    """Weigh couple `k` by the worth of a game times `value`; infinite values come first."""
    worth = matcher.worth[k]
    matcher.weights[k] = (worth * max(value, 0.0) if worth > 0.0 else 0.0) + matcher.luck[k]


@kernel
def set_weights_by_players(matcher, values):
    """Weigh all couples by the worth of a game times the values of both players."""
    graph = matcher.graph
    for k in range(len(matcher.weights)):
        set_weight(matcher, k, values[graph.low[k]] * values[graph.high[k]])


@kernel
def set_weights_by_couples(matcher, values):
    """Weigh all couples by the worth of a game times the entry of a table by slots."""
    graph = matcher.graph
    for k in range(len(matcher.weights)):
        set_weight(matcher, k, values[graph.low[k], graph.high[k]])


@outlined
def match_by_weights(matcher):
    """Find the matching of greatest weight."""
    weights, greatest = matcher.weights, 0.0
    for k in range(len(weights)):
        greatest = max(greatest, weights[k]) if weights[k] < np.inf else greatest
    first = (len(matcher.available) // 2 + 1) * (greatest + 1.0)  # outweighs a matching of others
    for k in range(len(weights)):
        weights[k] = first + matcher.luck[k] if weights[k] == np.inf else weights[k]
    if len(matcher.columns):
        _assign_by_weights(matcher)
    else:
        solve_graph(matcher.workspace, matcher.graph, matcher.weights, matcher.available, False)


@outlined
def _assign_by_weights(matcher):
    """Find the matching of greatest weight between two sides."""
    graph, columns, work, mate = (
        matcher.graph,
        matcher.columns,
        matcher.assignment,
        matcher.workspace.mate,
    )
    rows = width = 0
    for i in range(len(mate)):
        mate[i] = NOBODY
        if matcher.available[i] and columns[i]:
            matcher.place[i], matcher.slots[1, width] = width, i
            width += 1
        elif matcher.available[i]:
            matcher.place[i], matcher.slots[0, rows] = rows, i
            rows += 1
    columns_seek = width < rows
    for k in range(len(matcher.weights)):
        i, j = graph.low[k], graph.high[k]
        if matcher.available[i] and matcher.available[j]:
            seeker, offer = (i, j) if columns[i] == columns_seek else (j, i)
            work.weight[matcher.place[seeker], matcher.place[offer]] = matcher.weights[k]
    assign_seekers(work, min(rows, width), max(rows, width))
    for x in range(min(rows, width)):
        if columns_seek:
            i, j = matcher.slots[0, work.offer[x]], matcher.slots[1, x]
        else:
            i, j = matcher.slots[0, x], matcher.slots[1, work.offer[x]]
        mate[i], mate[j] = j, i


@kernel
def is_matched(matcher, k):
    """Whether couple `k` is in the last matching found."""
    return matcher.workspace.mate[matcher.graph.low[k]] == matcher.graph.high[k]


@kernel
def write_matching(matcher, couples):
    """Write the last matching found, and NOBODY into the rows left."""
    mate, row = matcher.workspace.mate, 0
    for i in range(len(mate)):
        if i < mate[i]:
            couples[row, 0], couples[row, 1] = i, mate[i]
            row += 1
    write_nobody(couples, row)


@kernel
def write_nobody(couples, row):
    """Leave the rows from `row` on without a couple."""
    for rest in range(row, len(couples)):
        couples[rest, 0] = couples[rest, 1] = NOBODY


@kernel
def count_rows(couples):
    """How many rows of a proposal have a couple: all of them, if the last one has."""
    rows = len(couples)
    while rows > 0 and couples[rows - 1, 0] == NOBODY:
        rows -= 1
    return rows


@outlined
def draw_graph_matching(key, matcher, couples):
    """Write a matching to which no couple can be added, by taking the couples in a random order.

    If all couples are allowed, it is drawn uniformly. Modifies the mates of the last matching.
    """
    graph, mate, count = matcher.graph, matcher.workspace.mate, 0
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k):
            matcher.order[count] = k
            count += 1
    shuffle(key, matcher.order[:count])
    mate[:] = NOBODY
    for x in range(count):
        k = matcher.order[x]
        i, j = graph.low[k], graph.high[k]
        if mate[i] == NOBODY and mate[j] == NOBODY:
            mate[i], mate[j] = j, i
    write_matching(matcher, couples)
