"""Groups: players who may all meet each other, for the same worth, and nobody else.

A graph of such groups, for example regions, is a problem for each group, played side by side: what
is explored in one of them costs the others nothing, and tells nothing about them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pairup.problem.meeting_graph import MeetingGraph


class Group(NamedTuple):
    """The players of a group, ascending, and the worth of a game between any two of them."""

    players: NDArray[np.int64]
    worth: float


def find_groups(graph: MeetingGraph) -> list[Group] | None:
    """List the groups of which a graph consists, None if it does not consist of groups.

    Examples
    --------
    >>> [group.players.tolist() for group in find_groups(MeetingGraph(5, [(0, 2), (1, 4)]))]
    [[0, 2], [1, 4], [3]]
    >>> find_groups(MeetingGraph(3, [(0, 1), (1, 2)])) is None
    True
    """
    edges = coo_array(
        (np.ones(len(graph.low)), (graph.low, graph.high)), shape=(graph.players,) * 2
    )
    count, label = connected_components(edges, directed=False)
    groups = []
    for group in range(count):
        players, inside = np.flatnonzero(label == group), label[graph.low] == group
        worth = graph.worth[inside]
        complete = len(worth) == len(players) * (len(players) - 1) // 2
        if not complete or np.any(worth != worth[:1]):
            return None
        groups.append(Group(players, float(worth[0]) if len(worth) else 0.0))
    return groups
