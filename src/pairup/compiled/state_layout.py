"""Where each number stands in the arrays `now` and `figures` of states.

Compiled steps can change arrays only, so counters, sizes and switches stand together in one array
of integers, `now`, and a few real numbers in `figures`. The places are the same for all policies;
each uses those it needs.
"""

import numpy as np

# fmt: off
(
    # Any policy.
    ROUND,            # proposals so far
    PRESENT,          # players present
    AVAILABLE,        # players available
    MEMBERS,          # ... and the phantom, where they are odd
    # Options.
    BY_PLAYERS,       # compare players (V2), not matchings (V1)
    KL,               # the KL index, not UCB
    CLOCK_IS_ROUND,   # exploration grows with the rounds, not with how often the leader led
    PERIOD,
    DECAYS,           # epsilon-greedy: epsilon decays with the rounds
    POSTERIOR,        # CombThompson: one of its kinds of posteriors
    COMMON,           # CombThompson: one draw for all couples
    OLS,              # ESCB: the confidence of OLS-UCB
    ENUMERATED,       # ESCB: players up to whom all matchings are looked at
    HORIZON,          # rounds to come, 0 if not known
    # Neighbours of the leader.
    CELL,             # the leader's cell in the table of counts
    # OSUB.
    ARMS,             # arms entered; ESCB: couples of the players available
    MAX_ARMS,
    TOP,              # the arm with the best mean
    # Round robins.
    TURN,             # turns played
    TURNS,            # turns to play
    UNSEEN,           # couples among the players available that are unseen
    # SAM.
    CLUSTERS,
    AWAY,             # members who are not available, the phantom included
    # RankOneThompson.
    ANSWERED,         # whether any player's answer was ever observed
    TOLD,             # of the outcomes last not played, those of which answers were told
    UNTOLD,           # ... and those of which it is not known who declined
    LEARNS_PRIOR,     # whether the prior is learned
    FADED,            # whether evidence has ever faded
    COUNTED,          # players whose draws the learned prior has counted
    OWED,             # draws of rounds in which others proposed
    # UniRank.
    ITEMS,            # items available
    POSITIONS,        # positions available
    BLOCKS,           # of the leader
    LISTED,           # items in the blocks that were proposed
    # ESCB, RankOneThompson.
    CHANGED,          # the players available, or their values, changed since the last search
    # PMED.
    COUPLES,          # couples of a matching
    COUNT,            # matchings of the plan
    LAST_ROUND,       # for which the plan is made
    COUNTERS,         # how many counters there are
) = range(39)

(
    # Unimodal.
    CLOCK,            # of the next round, most likely
    LEVEL,            # ... and its exploration level
    # UniRank.
    SCALE,            # margin at which the leader must be found again
    # ESCB.
    CERTIFIED,        # sum of certified ratios
    WORST,            # the least of them
    CERTIFICATES,     # their number
    # RankOneThompson.
    WEIGHT,           # of a new outcome: as it grows, what was observed before fades
    OUTCOMES,         # 1 / WEIGHT: turns weights into numbers of new outcomes
    WEIGHT_GROWTH,    # per round
    EXPLORING,        # share of a round of exploration that is due
    PRIOR_A,          # the Beta law of a player of whom nothing is known
    PRIOR_B,
    LAW_WEIGHT,       # draws in the moments of the players' law
    LAW_MEAN,
    LAW_SQUARE,
    FIGURES,          # how many figures there are
) = range(16)
# fmt: on


def new_counters(values=None):
    """Zeros, but for the counters that the mapping `values` has."""
    return _filled(np.zeros(COUNTERS, np.int64), values)


def new_figures(values=None):
    """Zeros, but for the figures that the mapping `values` has."""
    return _filled(np.zeros(FIGURES), values)


def _filled(array, values):
    for place, value in (values or {}).items():
        array[place] = value
    return array


def new_arrays(names, shape, dtype=np.float64, value=0):
    """Arrays by their names, all filled with `value`.

    The names are strings of their own, because texts with spaces do not count in the digest of what
    sources compute.
    """
    if value == 0:  # zeros take no memory until they are written
        return {name: np.zeros(shape, dtype) for name in names}
    return {name: np.full(shape, value, dtype) for name in names}
