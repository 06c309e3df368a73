"""The world of a replication: the players under shuffled labels, and their acceptances.

The simulator and the environment make it here, so that whoever proposes, a policy or an agent from
elsewhere, meets the same players on the same days.
"""

from __future__ import annotations

import numpy as np

from pairup.kernels.runtime.loop import World
from pairup.kernels.runtime.randomness import ACCEPTANCES, LABELS, shuffle, stream_key
from pairup.problem import Problem


def new_world(problem: Problem, seed: int, replication: int) -> World:
    """Make the world of one replication.

    Parameters
    ----------
    problem
        Who plays. Player i of the world is player ``labels[i]`` of the problem, for a shuffle
        drawn from the seed and the replication.
    seed, replication
        Both at least 0; all draws of the world follow from them.

    Returns
    -------
    World
        Rates by the players' labels, the key of their acceptances, and the best games of a round.

    Examples
    --------
    >>> from pairup import Problem
    >>> problem = Problem.from_zero(4, 0.1)
    >>> world = new_world(problem, seed=7, replication=0)
    >>> sorted(world.rates) == sorted(problem.rates)
    True
    """
    labels = np.arange(problem.players)
    shuffle(np.uint64(stream_key(seed, replication, LABELS)), labels)
    return World(
        rates=problem.rates[labels],
        key=np.array([stream_key(seed, replication, ACCEPTANCES)], np.uint64),
        best_games=np.array([problem.best_games]),
    )
