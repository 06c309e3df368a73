"""A replication: the players under shuffled labels, and their acceptances.

The simulator and the environment make it here, so that a policy and an agent from elsewhere meet
the same players on the same days.
"""

from __future__ import annotations

import numpy as np

from pairup.kernels.runtime.loop import Replication
from pairup.kernels.runtime.randomness import ACCEPTANCES, LABELS, shuffle, stream_key
from pairup.problem import Problem


def new_replication(problem: Problem, seed: int, number: int) -> Replication:
    """Make one replication of a problem.

    Parameters
    ----------
    problem
        Who plays. Player i of the replication is player ``labels[i]`` of the problem, for a shuffle
        drawn from the seed and the number.
    seed, number
        Both at least 0; all draws of the replication follow from them.

    Returns
    -------
    Replication
        Rates by the players' labels, the key of their acceptances, and the best games per round.

    Examples
    --------
    >>> from pairup import Problem
    >>> problem = Problem.from_zero(4, 0.1)
    >>> replication = new_replication(problem, seed=7, number=0)
    >>> sorted(replication.rates) == sorted(problem.rates)
    True
    """
    labels = np.arange(problem.players)
    shuffle(np.uint64(stream_key(seed, number, LABELS)), labels)
    return Replication(
        rates=problem.rates[labels],
        key=np.array([stream_key(seed, number, ACCEPTANCES)], np.uint64),
        best_games=np.array([problem.best_games]),
    )
