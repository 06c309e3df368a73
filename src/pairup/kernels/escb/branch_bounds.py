"""Bounds on the index A + s sqrt(B) of all matchings that contain some couples.

For every c > 0 and every B in a range, s sqrt(B) <= s c B + s (z - c z^2), where z is 1 / (2 c) or
the end of the range of sqrt(B) that is nearest to it. So prices of the players that suffice for
the weights value + s c / tries bound the index of every matching; and once some couples are
chosen, what they fall short of their prices is lost to all matchings that contain them.

With prices for several c at once, the bound at every c between two of them follows: prices that
suffice for two tables of weights suffice, mixed, for the tables mixed alike. Hence A + s c B is
bounded by straight lines between the c of the grid, and the best c on a line is found by one
square root.

Such bounds take couples in part, and would take a quarter of a couple that was hardly ever tried:
its bonus, under the root, is half of the whole. So matchings are searched by their least tried
couple, from the least tried of all on, with prices for couples that were tried at least about as
often.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.allocation import new_arrays
from pairup.kernels.escb.prices import Assignment, new_assignment, price
from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.state_layout import CAP, MIN_INVERSE, new_figures

GRID = 5  # values of c: one more than a power of two, since ratios are split by square roots
_FORBIDDEN = -1e3  # weight of a couple that was tried too little


class SearchTree(NamedTuple):
    """Workspace of the search: the tree by depth, and tables over the players, ascending."""

    partner: np.ndarray  # of each player, or NOBODY
    order: np.ndarray  # in which players seek partners
    turn: np.ndarray  # at each depth, a place in `order`
    first: np.ndarray  # ... the player whose partner is sought
    cursor: np.ndarray  # ... the next partner to try, a place in `choices`
    sums: np.ndarray  # ... the sum of inverses so far
    line: np.ndarray  # ... bounds on A + s c B, for each c
    choices: np.ndarray  # partners of each player that are worth a look
    choice_counts: np.ndarray  # ... and how many
    value: np.ndarray  # of each couple, both ways
    inverse: np.ndarray
    short: np.ndarray  # the prices of a couple less its weight, for each c
    weight: np.ndarray
    column_price: np.ndarray  # kept from search to search
    prices: np.ndarray
    c: np.ndarray  # ascending
    peak: np.ndarray  # for each c, the most of s (z - c z^2)
    hint: np.ndarray  # a c to try first
    figures: np.ndarray
    assignment: Assignment


NOBODY = -1


def new_search_tree(max_players):
    """A workspace for `max_players` players, the phantom included."""
    depth = max_players // 2 + 1
    return SearchTree(
        partner=np.full(max_players, NOBODY, np.int64),
        **new_arrays(("order", "choice_counts"), max_players, np.int64),
        **new_arrays(("turn", "first", "cursor"), depth, np.int64),
        sums=np.zeros(depth),
        line=np.zeros((depth, GRID)),
        choices=np.zeros((max_players, max_players), np.int64),
        **new_arrays(("value", "inverse", "weight"), (max_players, max_players)),
        short=np.zeros((max_players, max_players, GRID)),
        column_price=np.zeros((GRID, max_players + 1)),
        prices=np.zeros(max_players),
        **new_arrays(("c", "peak"), GRID),
        hint=np.zeros(1, np.int64),
        figures=new_figures(),
        assignment=new_assignment(max_players),
    )


@kernel
def set_prices(tree, players, scale, threshold):
    """Find the prices for each c, and what each couple falls short of them.

    False when no matching can reach the threshold.
    """
    figures = tree.figures
    low = math.sqrt(0.5 * figures[CAP] + (players // 2 - 1) * figures[MIN_INVERSE])
    high = math.sqrt(players // 2 * figures[CAP])
    _spread(tree, low, high)
    tree.sums[0] = 0.0
    for x in range(GRID):
        k = (3 * x + GRID // 2) % GRID  # from the middle on, which refuses most
        c = tree.c[k]
        total = _price(tree, players, scale * c, k)
        z = min(max(0.5 / c, low), high)
        if total + scale * (z - c * z * z) < threshold:
            return False
        tree.line[0, k], tree.peak[k] = total, 0.25 * scale / c
    return True


@kernel
def _spread(tree, low, high):
    """Spread c evenly, in log scale, over those that are tangent between `low` and `high`."""
    ratio, parts = max(high / low, 1.0 + 1e-6), GRID - 1
    while parts > 1:
        ratio, parts = math.sqrt(ratio), parts // 2
    tree.c[0] = 0.5 / high
    for k in range(1, GRID):
        tree.c[k] = tree.c[k - 1] * ratio


@kernel
def _price(tree, players, slope, k):
    weight, prices = tree.weight, tree.prices
    for i in range(players):
        for j in range(players):
            allowed = tree.inverse[i, j] <= tree.figures[CAP]
            value = tree.value[i, j] + slope * tree.inverse[i, j]
            weight[i, j] = value if allowed else _FORBIDDEN
    price(tree.assignment, weight, players, tree.column_price[k], prices)
    total = 0.0
    for i in range(players):
        total += prices[i]
        for j in range(players):
            tree.short[i, j, k] = prices[i] + prices[j] - weight[i, j]
    return total


@kernel
def is_promising(tree, depth, couple, left, scale, threshold):
    """Whether a matching with this couple may reach the threshold; notes its bounds if so.

    There are `left` couples to choose after this one.
    """
    i, j = couple
    k = tree.hint[0]  # what refused the last one likely refuses this one too
    if tree.line[depth, k] - tree.short[i, j, k] + tree.peak[k] < threshold:
        return False
    total = tree.sums[depth] + tree.inverse[i, j]
    low = math.sqrt(total + left * tree.figures[MIN_INVERSE])
    high = math.sqrt(total + left * tree.figures[CAP])
    before = 0.0
    for k in range(GRID):
        c = tree.c[k]
        z = min(max(0.5 / c, low), high)
        line = tree.line[depth, k] - tree.short[i, j, k]
        if line + scale * (z - c * z * z) < threshold:
            tree.hint[0] = k
            return False
        if k > 0:
            last = tree.c[k - 1]
            slope = (line - before) / (c - last)
            if slope * last * last < 0.25 * scale < slope * c * c:  # the best c lies between
                if before - slope * last + math.sqrt(scale * slope) < threshold:
                    return False
        tree.line[depth + 1, k] = before = line
    tree.sums[depth + 1] = total
    return True
