"""Meetings: who may meet whom in a proposal, and what a game is worth, as callers say it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import is_number
from pairup.errors import MatchingError
from pairup.learning.roster import Couples, Roster, Slots
from pairup.matching import Couple
from pairup.problem.meeting_graph import MAX_WORTH, MeetingGraph, find_sorted, is_rows

Rows: TypeAlias = (
    NDArray[np.integer[Any]] | tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
)
AllowedMeetings: TypeAlias = Rows | NDArray[np.bool_] | Iterable[Iterable[Hashable]] | None
Worth: TypeAlias = ArrayLike | Mapping[Couple, float] | None


class Meetings(NamedTuple):
    """The rules of one proposal, by slots.

    With a graph the couples `apart` are not in it. Without one all other couples may meet, for the
    same worth.
    """

    order: Slots  # the players available, as they were given
    apart: Couples
    graph: MeetingGraph | None

    @property
    def slots(self) -> Slots:
        """The players available, ascending."""
        return np.sort(self.order)


def read_meetings(
    roster: Roster,
    order: Slots,
    capacity: int,
    *,
    apart: Iterable[Iterable[Hashable]] = (),
    allowed: AllowedMeetings = None,
    worth: Worth = None,
) -> Meetings:
    """Read the rules for the players in the slots `order`, in whose order arrays are.

    Couples of players who are present but not available are left out. There are `capacity` slots.
    """
    excluded = roster.couples("apart", apart)
    if allowed is None and worth is None:
        return Meetings(order, excluded, None)
    graph = _read_graph(roster, order, allowed, worth)
    if graph.is_complete:
        return Meetings(order, excluded, None)
    low, high = order[graph.low], order[graph.high]
    kept = ~are_among(low, high, excluded, capacity)
    graph = MeetingGraph.of_couples(capacity, low[kept], high[kept], graph.worth[kept])
    return Meetings(order, excluded, graph)


def as_rows(couples: object) -> NDArray[np.integer[Any]] | None:
    """Return couples of places that were given as arrays in rows; None if they were not.

    Examples
    --------
    >>> as_rows((np.array([0, 1]), np.array([2, 3]))).tolist()
    [[0, 2], [1, 3]]
    """
    if isinstance(couples, tuple) and len(couples) == 2:
        is_columns = all(isinstance(each, np.ndarray) and each.ndim == 1 for each in couples)
        if is_columns and len(couples[0]) == len(couples[1]):
            couples = np.stack(couples, axis=1)
    return couples if is_rows(couples) else None


def _read_graph(
    roster: Roster, order: Slots, allowed: AllowedMeetings, worth: Worth
) -> MeetingGraph:
    """Read couples and their worth; the players of the graph are the places in `order`."""
    rows = as_rows(allowed)
    if rows is not None:
        values = np.asarray(worth) if worth is not None and not isinstance(worth, Mapping) else None
        if values is not None and values.ndim == 1:
            return MeetingGraph.of_rows(len(order), rows, values)
        graph = MeetingGraph.of_rows(len(order), rows)
    elif allowed is None or (isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_):
        graph = MeetingGraph(len(order), allowed)
    else:
        graph = _read_names(roster, order, allowed)
    if worth is None:
        return graph
    if isinstance(worth, Mapping):
        return _with_worth_of_names(graph, roster, order, worth)
    return graph.with_worth(worth)


def _read_names(
    roster: Roster, order: Slots, allowed: Iterable[Iterable[Hashable]]
) -> MeetingGraph:
    place = np.full(len(roster.names), -1)
    place[order] = np.arange(len(order))
    places = place[roster.couples("allowed", allowed)]
    return MeetingGraph.of_rows(len(order), places[(places >= 0).all(axis=1)])


def _with_worth_of_names(
    graph: MeetingGraph, roster: Roster, order: Slots, worth: Mapping[Couple, float]
) -> MeetingGraph:
    couples = roster.couples("worth", list(worth))
    values = np.array([_checked(couple, each) for couple, each in worth.items()], np.float64)
    size = len(roster.names)
    numbers = couples[:, 0] * size + couples[:, 1]
    known, last = np.unique(numbers[::-1], return_index=True)  # of a couple given twice the last
    low, high = np.sort(order[np.stack([graph.low, graph.high])], axis=0)
    place, found = find_sorted(low * size + high, known)
    given = np.ones(len(graph.low))
    given[found] = values[::-1][last][place[found]]
    return graph.times(given)


def are_among(low: Slots, high: Slots, couples: Couples, size: int) -> NDArray[np.bool_]:
    """Return which of the couples (low[k], high[k]), in either order, are in rows of `couples`."""
    if not len(couples):
        return np.zeros(len(low), np.bool_)
    known = np.unique(couples[:, 0] * size + couples[:, 1])
    return find_sorted(np.minimum(low, high) * size + np.maximum(low, high), known)[1]


def _checked(couple: Any, worth: object) -> float:
    if not is_number(worth) or not 0 <= worth <= MAX_WORTH:
        raise MatchingError(
            f"the worth of a game must be a number of at least 0, got {worth!r} for {couple!r}: "
            "give 0 for a game that is worth nothing"
        )
    return float(worth)
