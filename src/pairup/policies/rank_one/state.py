"""The state of `RankOneThompson`, and where its numbers stand."""

from typing import NamedTuple

import numpy as np

from pairup.compiled.state_fields import Flags, Integers, Keys, Reals
from pairup.compiled.state_layout import OWN
from pairup.policies.rank_one.couple_layouts import DenseCouples, SparseCouples

# fmt: off
# Places of counters.
(
    PERIOD,
    ANSWERED,       # whether any player's answer was ever observed
    TOLD,           # of the outcomes last not played, those of which answers were told
    UNTOLD,         # ... and those of which it is not known who declined
    LEARNS_PRIOR,   # whether the prior is learned
    FADED,          # whether evidence has ever faded
    COUNTED,        # players whose draws the learned prior has counted
    OWED,           # draws of rounds in which others proposed
    CHANGED,        # the players available, or their means, changed since the last order
    COUNTERS,       # how many there are
) = range(OWN, OWN + 10)

# Places of real numbers.
(
    WEIGHT,         # of a new outcome: as it grows, what was observed before fades
    OUTCOMES,       # 1 / WEIGHT: turns weights into numbers of new outcomes
    WEIGHT_GROWTH,  # per round
    EXPLORING,      # share of a round of exploration that is due
    PRIOR_A,        # the Beta law of a player of whom nothing is known
    PRIOR_B,
    LAW_WEIGHT,     # draws in the moments of the players' law
    LAW_MEAN,
    LAW_SQUARE,
    REALS,          # how many there are
) = range(10)
# fmt: on


FROZEN_RATES = 16  # an even grid, of the rates of players who left


class RankOneState(NamedTuple):
    """State of `RankOneThompson`.

    What was observed is counted in weights; see `fading`. Slots beyond the
    players' fill the last four lanes and have no couples. Of arrays of equal size a GPU has fast
    memory for the first: what the moves of the chain use most.
    """

    couples: DenseCouples | SparseCouples
    rates: np.ndarray = Reals("width")  # where the chain is
    terms: np.ndarray = Reals("width")  # workspace for a sum over couples
    accepted: np.ndarray = Reals("width")  # of each player, games included
    declined: np.ndarray = Reals("width")
    met: np.ndarray = Reals("width")  # outcomes known of each player
    gone: np.ndarray = Reals("width")  # ... with players who left
    # Of those what was missed, by the frozen rate of the other.
    frozen_missed: np.ndarray = Reals(f"width, {FROZEN_RATES}", dtype=np.float32)
    unsure: np.ndarray = Reals("width")  # missed in all
    # The partner met most, of several the lowest slot, or -1.
    usual: np.ndarray = Integers("width", -1)
    mean: np.ndarray = Reals("width")
    square: np.ndarray = Reals("width")  # mean of squares
    drawn: np.ndarray = Reals("width")  # number of draws in the means
    credit: np.ndarray = Reals("width")  # refreshes due
    reach: np.ndarray = Reals("width")  # of a move of the player alone
    couple_reach: np.ndarray = Reals("width")  # of a move against its usual partner
    fitted: np.ndarray = Reals("width")  # with how many outcomes the reach is to be fitted next
    counted: np.ndarray = Flags("width")  # whether the players' law has counted the player
    available: np.ndarray = Integers("width")  # the players available, by slot
    by_rate: np.ndarray = Integers("width")  # the same, best first
    by_mean: np.ndarray = Integers("width")
    spare: np.ndarray = Integers("width")  # workspace: who was refreshed, and for an order
    counters: np.ndarray = Integers(COUNTERS)
    reals: np.ndarray = Reals(REALS)
    key: np.ndarray = Keys(2)  # of all draws, and of this round's
    draws: np.ndarray = Integers(1)  # made in this round
