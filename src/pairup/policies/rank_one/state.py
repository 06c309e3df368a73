"""The state of `RankOneThompson`, and where its numbers stand."""

from typing import NamedTuple

import numpy as np

from pairup.compiled.state_fields import MAX_COUNT, OWN, ROUND, Flags, Integers, Keys, Reals
from pairup.policies.rank_one.couple_layouts import DenseCouples, SparseCouples

# fmt: off
# Places of counters.
(
    PERIOD,
    ANSWERED,       # whether any player's answer was ever observed
    TOLD,           # of the outcomes last not played, those with answers
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
    PRIOR_A,        # the Beta distribution of a player of whom nothing is known
    PRIOR_B,
    MOMENTS_WEIGHT, # draws in the moments of the players' rates
    MOMENT,         # mean of their rates
    SECOND_MOMENT,
    REALS,          # how many there are
) = range(10)
# fmt: on


FROZEN_RATES = 16  # an even grid, of the rates of players who left
MAX_RATE = 1.0 - 2.0**-53
MAX_DRAWS = 32  # with which the chain catches up: the means are then over several draws
MIN_PRIOR, MAX_PRIOR = 0.05, 1_000_000.0  # of each parameter
_RATE = {"saved": True, "least": 0.0, "most": MAX_RATE}
_SHARE = {"saved": True, "least": 0.0, "most": 1.0}
_WEIGHT = {"saved": True, "least": 0.0}


class RankOneState(NamedTuple):
    """State of `RankOneThompson`.

    What was observed is counted in weights; see `fading`. Slots beyond the
    players' fill the last four lanes and have no couples. Of arrays of equal size a GPU has fast
    memory for the first: what the moves of the chain use most.
    """

    couples: DenseCouples | SparseCouples
    rates: np.ndarray = Reals("width", **_RATE)  # where the chain is
    terms: np.ndarray = Reals("width")  # workspace for a sum over couples
    accepted: np.ndarray = Reals("width", least=0.0)  # of each player, games included
    declined: np.ndarray = Reals("width", least=0.0)
    met: np.ndarray = Reals("width", least=0.0)  # outcomes known of each player
    gone: np.ndarray = Reals("width", least=0.0)  # ... with players who left
    # Of those what was missed, by the frozen rate of the other.
    frozen_missed: np.ndarray = Reals(f"width, {FROZEN_RATES}", dtype=np.float32)
    unsure: np.ndarray = Reals("width", **_WEIGHT)  # total missed
    # The partner met most, of several the lowest slot, or -1.
    usual: np.ndarray = Integers("width", -1)
    mean: np.ndarray = Reals("width", **_RATE)
    square: np.ndarray = Reals("width", **_SHARE)  # mean of squares
    drawn: np.ndarray = Reals("width", **_WEIGHT)  # number of draws in the means
    credit: np.ndarray = Reals("width", **_SHARE)  # refreshes due
    reach: np.ndarray = Reals("width", **_RATE)  # of a move of the player alone
    couple_reach: np.ndarray = Reals("width", **_RATE)  # of a move against its usual partner
    # With how many outcomes the reach is to be fitted next.
    fitted: np.ndarray = Reals("width", **_WEIGHT)
    # Whether the learned prior has counted the player.
    counted: np.ndarray = Flags("width", saved=True)
    available: np.ndarray = Integers("width")  # the players available, by slot
    by_rate: np.ndarray = Integers("width")  # the same, best first
    by_mean: np.ndarray = Integers("width")
    spare: np.ndarray = Integers("width")  # workspace: who was refreshed, and for an order
    counters: np.ndarray = Integers(
        COUNTERS,
        saved=(ROUND, TOLD, UNTOLD, COUNTED, OWED),
        most=(MAX_COUNT, MAX_COUNT, MAX_COUNT, MAX_COUNT, MAX_DRAWS),
    )
    reals: np.ndarray = Reals(
        REALS,
        saved=(EXPLORING, PRIOR_A, PRIOR_B, MOMENTS_WEIGHT, MOMENT, SECOND_MOMENT),
        least=(0.0, MIN_PRIOR, MIN_PRIOR, 0.0, 0.0, 0.0),
        most=(1.0, MAX_PRIOR, MAX_PRIOR, np.inf, 1.0, 1.0),
    )
    key: np.ndarray = Keys(2)  # of all draws, and of this round's
    draws: np.ndarray = Integers(1)  # made in this round
