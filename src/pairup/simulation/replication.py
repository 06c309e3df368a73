"""A replication, as the simulator and the environment for agents from elsewhere play it."""

import numpy as np

from pairup.kernels.runtime.randomness import ACCEPTANCES, LABELS, shuffle, stream_key
from pairup.kernels.simulation_loop import Replication
from pairup.problem import Problem


def new_replication(problem: Problem, seed: int, number: int) -> Replication:
    """Make one replication of a problem; all its draws follow from the seed and the number.

    Player i is player ``labels[i]`` of the problem, for a shuffle that is drawn from them too. The
    replications of the pieces of a problem whose rates change share the labels and the draws.
    """
    labels = np.arange(problem.players)
    shuffle(np.uint64(stream_key(seed, number, LABELS)), labels)
    key = np.array([stream_key(seed, number, ACCEPTANCES)], np.uint64)
    best_games = np.array([problem.best_games])
    if problem.has_player_rates:
        return Replication(problem.rates[labels], key, best_games)
    couple_rates = np.ascontiguousarray(problem.couple_rates[np.ix_(labels, labels)])
    return Replication(np.zeros(0), key, best_games, couple_rates)
