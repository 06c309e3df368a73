"""What is true of simulated histories."""

import numpy as np

from pairup.assessment.outlook import pair_at_random, pair_best


def true_gain(players, seed, distribution=(2.0, 3.0)):
    """Return what the best matching of the players of a simulated history gains, without churn.

    The rates are the first numbers that the simulation draws.
    """
    rates = np.random.default_rng(seed).beta(*distribution, players)
    return pair_best(rates) - pair_at_random(rates)
