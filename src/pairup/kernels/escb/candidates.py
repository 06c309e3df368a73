"""The matchings that can have the best index A + s sqrt(B), as the last search listed them.

A search lists every matching whose index is within a *cushion* of the best, or becomes so within a
stretch of rounds by the growth of s alone. All others stay below the best candidate until means
have risen by the cushion: tries only ever grow, and so B only ever falls. Most rounds, then, look
at the candidates alone, and late in a run one search serves very many of them.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.escb.branch_bounds import Branches, new_branches
from pairup.kernels.runtime.compilation import kernel, slot

MOST = 256  # candidates

# Where the numbers of `Candidates.now` and `Candidates.figures` stand.
COUPLES, COUNT, LAST_ROUND, SLOTS, RAREST = 0, 1, 2, 3, 4
THRESHOLD, RISEN, CUSHION, STRETCH, SCALE, LATER, BEST = 0, 1, 2, 3, 4, 5, 6
MARGIN = 1e-12  # more than rounding moves an index or a bound
WIDEST = 0.5  # cushion
LONGEST = 1.0 / 32.0  # stretch, as a share of the rounds so far


class Candidates(NamedTuple):
    """Matchings as rows of couples (i * slots + j, ascending in i), and what holds for the rest.

    The index of any other matching of those seated is at most THRESHOLD + RISEN up to LAST_ROUND.
    """

    couples: np.ndarray
    now: np.ndarray
    figures: np.ndarray
    base: np.ndarray  # the values at the last search
    seats: np.ndarray  # the slots of those seated, ascending
    branches: Branches


def new_candidates(slots, most):
    """None yet; room for `most` players, the phantom included."""
    now, figures = np.zeros(5, np.int64), np.zeros(7)
    now[SLOTS] = slots
    return Candidates(
        couples=np.zeros((MOST, most // 2), np.int64),
        now=now,
        figures=figures,
        base=np.zeros(slots * slots),
        seats=np.zeros(most, np.int64),
        branches=new_branches(most),
    )


@kernel
def clear(candidates, players):
    """Others are seated: nothing is known of their matchings."""
    seated = len(players)
    for x in range(seated):
        candidates.seats[x] = players[x]
    if seated % 2 == 1:
        candidates.seats[seated] = candidates.now[SLOTS] - 1  # the phantom
    candidates.now[COUPLES] = (seated + 1) // 2
    candidates.now[COUNT] = 0
    candidates.figures[CUSHION], candidates.figures[STRETCH] = WIDEST, LONGEST


@kernel
def note_value(candidates, couple, old, new):
    """The value of a couple changes from `old` to `new`."""
    base = candidates.base[couple]
    candidates.figures[RISEN] += max(new - base, 0.0) - max(old - base, 0.0)


@kernel
def index_of(candidates, row, couples, scale):
    """The index of a candidate; sums run from the lowest player on, as in the search."""
    a = b = 0.0
    for x in range(candidates.now[COUPLES]):
        couple = slot(candidates.couples[row, x])
        a += couples.value[couple]
        b += couples.inverse[couple]
    return a + scale * math.sqrt(b)


@kernel
def best_candidate(candidates, couples, scale):
    """The best candidate and its index; of equals the first in the order of their couples."""
    best, best_index = 0, -np.inf
    for row in range(candidates.now[COUNT]):
        index = index_of(candidates, row, couples, scale)
        if index > best_index or (index == best_index and _precedes(candidates, row, best)):
            best, best_index = row, index
    return best, best_index


@kernel
def _precedes(candidates, row, other):
    for x in range(candidates.now[COUPLES]):
        if candidates.couples[row, x] != candidates.couples[other, x]:
            return candidates.couples[row, x] < candidates.couples[other, x]
    return False


@kernel
def holds(candidates, index, clock):
    """Whether no other matching can have an index of `index` in this round."""
    figures = candidates.figures
    others = figures[THRESHOLD] + figures[RISEN] + MARGIN
    return candidates.now[COUNT] > 0 and clock <= candidates.now[LAST_ROUND] and index > others
