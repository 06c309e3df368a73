"""Prices of players that bound every matching: u[i] + u[j] >= weight of the couple (i, j).

Whatever the matching, the weights of its couples then sum to at most the prices of its players.
The least such prices are half those of an assignment in which each player meets another one, not
necessarily one who meets it back; they are found one player at a time, along shortest paths.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels.allocation import new_arrays
from pairup.kernels.runtime.compilation import kernel


class Assignment(NamedTuple):
    """Workspace for one assignment of players; index 0 of the columns is nobody."""

    row_price: np.ndarray
    row_of: np.ndarray  # which row a column is assigned to, 0: none; rows count from 1
    least: np.ndarray  # least reduced cost by which a column was reached
    way: np.ndarray  # ... and from which column
    reached: np.ndarray


def new_assignment(max_players):
    """A workspace for `max_players` players."""
    return Assignment(
        **new_arrays(("row_price", "least"), max_players + 1),
        **new_arrays(("row_of", "way"), max_players + 1, np.int64),
        reached=np.zeros(max_players + 1, np.bool_),
    )


@kernel
def price(work, weight, players, column_price, prices):
    """Write the prices of `players` players under `weight`, a symmetric table, into `prices`.

    `column_price`, modified in place, may hold anything; what it held after a similar table
    makes the paths short.
    """
    work.row_of[:] = 0
    work.row_price[:] = 0.0
    for row in range(1, players + 1):
        work.row_of[0] = row
        column = _extend(work, weight, players, column_price)
        while column != 0:
            before = work.way[column]
            work.row_of[column] = work.row_of[before]
            column = before
    for i in range(players):
        prices[i] = -0.5 * (work.row_price[i + 1] + column_price[i + 1])


@kernel
def _extend(work, weight, players, column_price):
    """Grow a shortest-path tree from the row of column 0 up to a column that is free."""
    work.least[:] = np.inf
    work.reached[:] = False
    column = 0
    while True:
        work.reached[column] = True
        row = work.row_of[column]
        delta, nearest = np.inf, 0
        for j in range(1, players + 1):
            if work.reached[j]:
                continue
            if j != row:
                cost = -weight[row - 1, j - 1] - work.row_price[row] - column_price[j]
                if cost < work.least[j]:
                    work.least[j], work.way[j] = cost, column
            if work.least[j] < delta:
                delta, nearest = work.least[j], j
        for j in range(players + 1):
            if work.reached[j]:
                work.row_price[work.row_of[j]] += delta
                column_price[j] -= delta
            else:
                work.least[j] -= delta
        column = nearest
        if work.row_of[column] == 0:
            return column
