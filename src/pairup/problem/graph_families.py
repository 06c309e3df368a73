"""Families of meeting graphs: random couples, a line with a window, groups, two sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairup.checks import check_number, checked_integer
from pairup.errors import ProblemError
from pairup.problem.meeting_graph import MeetingGraph

_STREAM = 1  # apart from the draws of rates by the same seed


def random_graph(players: int, density: float, seed: int, random_worth: bool) -> MeetingGraph:
    """Allow each couple with the probability `density`; the worth is 1, or uniform in [0, 1]."""
    _check_players(players)
    check_number("density", density, ProblemError, advice="try 0.5")
    if not 0 <= density <= 1:
        raise ProblemError(f"density must lie in [0, 1], got {density!r}: try 0.5")
    low, high = np.triu_indices(players, 1)
    random = _random(seed)
    drawn, worth = random.random((2, len(low)))
    allowed = drawn < density
    values = worth if random_worth else np.ones(len(low))
    return MeetingGraph.of_couples(players, low[allowed], high[allowed], values[allowed])


def line_graph(players: int, window: float, seed: int) -> MeetingGraph:
    """Allow couples within `window` of each other on a line, worth 1 less their share of it."""
    _check_players(players)
    check_number("window", window, ProblemError, advice="try 0.1")
    if not 0 < window < np.inf:
        raise ProblemError(f"window must be a positive number, got {window!r}: try 0.1")
    positions = _random(seed).random(players)
    low, high = np.triu_indices(players, 1)
    distance = np.abs(positions[low] - positions[high])
    near = distance <= window
    return MeetingGraph.of_couples(players, low[near], high[near], 1.0 - distance[near] / window)


def group_graph(players: int, groups: int) -> MeetingGraph:
    """Allow couples of players whose numbers leave the same remainder by `groups`."""
    _check_players(players)
    checked_integer("groups", groups, ProblemError, minimum=1)
    low, high = np.triu_indices(players, 1)
    same = low % groups == high % groups
    return MeetingGraph.of_couples(players, low[same], high[same], np.ones(int(same.sum())))


def side_graph(columns: NDArray[np.bool_]) -> MeetingGraph:
    """Allow the couples of a row and a column, of players of whom some are `columns`."""
    row, column = np.meshgrid(np.flatnonzero(~columns), np.flatnonzero(columns), indexing="ij")
    return MeetingGraph.of_couples(
        len(columns), row.ravel(), column.ravel(), np.ones(row.size, np.float64)
    )


def _check_players(players: int) -> None:
    checked_integer("players", players, ProblemError, minimum=2)


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng([_STREAM, checked_integer("seed", seed, ProblemError, minimum=0)])
