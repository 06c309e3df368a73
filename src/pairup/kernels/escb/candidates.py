"""The matchings that can have the best index A + s sqrt(B), as the last search listed them.

A search lists every matching whose index is within a *cushion* of the best, or becomes so within a
stretch of rounds by the growth of s alone. All others stay below the best candidate until means
have risen by the cushion: tries only ever grow, and so B only ever falls. Most rounds, then, look
at the candidates alone, and late in a run one search serves very many of them.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels import state_layout as at
from pairup.kernels.couples import count_couples, fill_members
from pairup.kernels.escb.branch_bounds import SearchTree, new_search_tree
from pairup.kernels.escb.confidence import bonus_scale
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.state_layout import new_counters, new_figures

MAX_CANDIDATES = 256
MARGIN = 1e-12  # more than rounding moves an index or a bound
MAX_CUSHION = 0.5
MAX_STRETCH = 1.0 / 32.0  # as a share of the rounds so far


class Candidates(NamedTuple):
    """Matchings as rows of couples (i * slots + j, ascending in i), and what holds for the rest.

    The index of any other matching of these players is at most THRESHOLD + RISEN up to LAST_ROUND.
    """

    couples: np.ndarray
    now: np.ndarray
    figures: np.ndarray
    base: np.ndarray  # the values at the last search
    players: np.ndarray  # the slots of those available, ascending, the phantom included
    tree: SearchTree


def new_candidates(slots, max_players, by_least_squares):
    """None yet, of at most `max_players` players, the phantom included."""
    return Candidates(
        couples=np.zeros((MAX_CANDIDATES, max_players // 2), np.int64),
        now=new_counters({at.SLOTS: slots, at.OLS: by_least_squares}),
        figures=new_figures(),
        base=np.zeros(slots * slots),
        players=np.zeros(max_players, np.int64),
        tree=new_search_tree(max_players),
    )


@kernel
def set_players(candidates, players):
    """Match `players` from now on: nothing is known of their matchings."""
    phantom = candidates.now[at.SLOTS] - 1
    candidates.now[at.COUPLES] = fill_members(candidates.players, players, phantom) // 2
    candidates.now[at.ARMS] = count_couples(players)
    candidates.now[at.COUNT] = 0
    candidates.figures[at.CUSHION], candidates.figures[at.STRETCH] = MAX_CUSHION, MAX_STRETCH


@kernel
def scale_at(candidates, clock):
    """The factor of sqrt(B) in proposal number `clock`."""
    return bonus_scale(candidates.now[at.OLS], candidates.now[at.ARMS], clock)


@kernel
def note_value(candidates, couple, old, new):
    """The value of a couple changes from `old` to `new`."""
    base = candidates.base[couple]
    candidates.figures[at.RISEN] += max(new - base, 0.0) - max(old - base, 0.0)


@kernel
def index_of(candidates, row, terms, scale):
    """The index of a candidate; sums run from the lowest player on, as in the search."""
    a = b = 0.0
    for x in range(candidates.now[at.COUPLES]):
        couple = slot(candidates.couples[row, x])
        a += terms.value[couple]
        b += terms.inverse[couple]
    return a + scale * math.sqrt(b)


@kernel
def best_candidate(candidates, terms, scale):
    """The best candidate and its index; of equals the first in the order of their couples."""
    best, best_index = 0, -np.inf
    for row in range(candidates.now[at.COUNT]):
        index = index_of(candidates, row, terms, scale)
        if index > best_index or (index == best_index and _precedes(candidates, row, best)):
            best, best_index = row, index
    return best, best_index


@kernel
def _precedes(candidates, row, other):
    for x in range(candidates.now[at.COUPLES]):
        if candidates.couples[row, x] != candidates.couples[other, x]:
            return candidates.couples[row, x] < candidates.couples[other, x]
    return False


@kernel
def holds(candidates, index, clock):
    """Whether no other matching can have an index of `index` in this round."""
    figures = candidates.figures
    others = figures[at.THRESHOLD] + figures[at.RISEN] + MARGIN
    return (
        candidates.now[at.COUNT] > 0 and clock <= candidates.now[at.LAST_ROUND] and index > others
    )
