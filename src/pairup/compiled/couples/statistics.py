"""Statistics of couples: how often each was proposed, how often it played."""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel, slot
from pairup.compiled.state_fields import Integers, Reals, new_state

PHANTOM_MEAN = -1.0  # below every real mean: a greedy leader couples the phantom last


class CoupleStatistics(NamedTuple):
    """Statistics of the couples (i, j) of n slots, as n x n arrays.

    `tries` and `games` are kept for i < j; `mean` (games / tries, 0 when unseen) is symmetric so
    that a player's row can be scanned. The last slot is the *phantom*: with an odd number of
    players available, the player who is coupled with it stays waiting.
    """

    tries: np.ndarray = Integers("slots, slots", by_couple=True)
    games: np.ndarray = Integers("slots, slots", by_couple=True)
    mean: np.ndarray = Reals("slots, slots", phantom=PHANTOM_MEAN, by_couple=True)


def new_couple_statistics(slots):
    """Nothing is known yet of `slots` slots, the phantom's included."""
    return new_state(CoupleStatistics, {"slots": slots})


@kernel
def record(stats, i, j, played):
    """Enter one outcome of the couple (i, j), i < j; returns its new mean."""
    tries, games = stats.tries[i, j] + 1, stats.games[i, j] + played
    mean = games / tries
    stats.mean[i, j] = stats.mean[j, i] = mean
    stats.games[i, j] = games
    stats.tries[i, j] = tries  # the last, so that a caller who reads it next has it at hand
    return mean


def count_outcomes(state, couples, played):
    """The step `observe` of states with `stats`, which is all that they learn."""
    for c in range(len(played)):
        record(state.stats, slot(couples[c, 0]), slot(couples[c, 1]), played[c])
