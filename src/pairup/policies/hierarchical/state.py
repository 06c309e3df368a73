"""The state of `HierarchicalThompson`, and where its numbers stand."""

from typing import NamedTuple

import numpy as np

from pairup.compiled.matchings.max_matching import MatchingWorkspace
from pairup.compiled.matchings.sparse_matching import SparseWorkspace
from pairup.compiled.state_fields import Flags, Integers, Keys, Reals
from pairup.policies.rank_one.state import MAX_RATE, RankOneState

# fmt: off
# Places of counters.
(
    NEWS,      # outcomes since the fits
    DUE,       # ... with which they are made again
    COUNTERS,  # how many there are
) = range(3)
# fmt: on

RATES, COUPLES = range(2)  # streams of draws: of the strength and the rates, and of couples
STREAMS = 3  # with that of the scale of two sides
SCALE = 2


class FitWorkspace(NamedTuple):
    """The evidence on the rates as `fit` needs it, and a workspace.

    Where couples are kept sparse, `precision` is empty, and the rates are taken as independent.
    """

    accepted: np.ndarray = Reals("width")  # of each player alone, the prior included
    declined: np.ndarray = Reals("width")
    recency: np.ndarray = Reals("width")  # what an outcome weighs on average
    place: np.ndarray = Reals("width")  # log odds of the rates
    before: np.ndarray = Reals("width")  # the same, before a step
    step: np.ndarray = Reals("width")
    rate: np.ndarray = Reals("width")
    rest: np.ndarray = Reals("width")  # 1 - rate, without cancellation
    diagonal: np.ndarray = Reals("width")  # of the precision
    precision: np.ndarray = Reals("dense, dense")  # of the log odds, then its Cholesky factor


_COUPLES = "slots * (slots - 1) // 2"


class HierarchicalState(NamedTuple):
    """State of `HierarchicalThompson`: that of `RankOneThompson`, and what is known of deviations.

    `modes` are the most likely rates for each concentration, and `chances` how likely each is,
    both from the last fits. `log_chances` are their logarithms, less the greatest: they tell
    chances apart that are 0 to a real number.
    """

    inner: RankOneState
    matching: MatchingWorkspace
    fit: FitWorkspace
    modes: np.ndarray = Reals("grid, width", saved=True, least=1e-16, most=MAX_RATE)
    chances: np.ndarray = Reals("grid", saved=True, least=0.0, most=1.0)
    log_chances: np.ndarray = Reals("grid", saved=True, least=-1e300, most=0.0)
    concentrations: np.ndarray = Reals("grid")
    log_prior: np.ndarray = Reals("grid")
    players: np.ndarray = Integers("slots + 1")  # those available, and the phantom if they are odd
    # Of the couples available, in their order: both parameters of Beta distributions, and values.
    posteriors: np.ndarray = Reals(f"2, {_COUPLES}")
    values: np.ndarray = Reals(_COUPLES)
    counters: np.ndarray = Integers(COUNTERS, saved=(NEWS, DUE))
    keys: np.ndarray = Keys(STREAMS)


MAX_SINGLE = 1.0 - 2.0**-24  # the greatest rate below 1 in single precision
NEXT = 0  # the counter of the player available who is looked at next


class Candidates(NamedTuple):
    """Couples among whom the best matching is sought, by places in the order of rates, best first.

    Place `count`, after those of the players available, is the phantom's where they are odd.
    """

    workspace: SparseWorkspace
    free: np.ndarray = Flags("places")  # places that are matched
    end: np.ndarray = Integers("places")  # of each place's edges, while they are filled in
    low: np.ndarray = Integers("couples")
    high: np.ndarray = Integers("couples")
    # Parameters of each couple's Beta distribution, of which the values are drawn.
    posteriors: np.ndarray = Reals("2, couples")
    values: np.ndarray = Reals("couples")


class SparseHierarchicalState(NamedTuple):
    """State of `HierarchicalThompson` live, where players are many: O(players + couples met).

    The rates for each concentration are fitted player by player, when a tenth more is known of one.
    `modes` are the most likely ones, `spread` their standard deviations in log odds, and `parts`
    what each player adds to the log marginal likelihood, relative to no deviation.
    """

    inner: RankOneState
    candidates: Candidates
    modes: np.ndarray = Reals(
        "grid, width", dtype=np.float32, saved=True, least=1e-16, most=MAX_SINGLE
    )
    spread: np.ndarray = Reals("grid, width", dtype=np.float32, saved=True, least=0.0)
    parts: np.ndarray = Reals("grid, width", dtype=np.float32, saved=True)
    totals: np.ndarray = Reals("grid", saved=True)  # of the parts
    fitted: np.ndarray = Reals("width", saved=True, least=0.0)  # outcomes known at the last fit
    chances: np.ndarray = Reals("grid", saved=True, least=0.0, most=1.0)
    log_chances: np.ndarray = Reals("grid", saved=True, least=-1e300, most=0.0)
    concentrations: np.ndarray = Reals("grid")
    log_prior: np.ndarray = Reals("grid")
    # Of players available: what an outcome weighs on average, rates, and places in their order.
    recency: np.ndarray = Reals("width")
    rate: np.ndarray = Reals("width")
    rest: np.ndarray = Reals("width")  # 1 - rate, without cancellation
    place: np.ndarray = Integers("width", -1)  # -1: not available
    order: np.ndarray = Integers("width")
    # The row of a player who is fitted: the partners, and of each couple shared games and misses,
    # which both explain, then all of them.
    partners: np.ndarray = Integers("width")
    outcomes: np.ndarray = Reals("width, 4")
    counters: np.ndarray = Integers(1, saved=(NEXT,))
    keys: np.ndarray = Keys(STREAMS)
