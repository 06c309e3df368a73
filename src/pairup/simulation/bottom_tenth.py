"""The bottom tenth: what a policy leaves to the players who are least likely to play."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.simulation.playthrough import Playthrough

_LOOKS = 200  # rounds that are looked at


class BottomTenth(NamedTuple):
    """Expected games per round of each of the players with the lowest chances."""

    games: float
    at_random: float  # if couples who may meet were paired at random

    @property
    def share(self) -> float:
        """Games as a share of random pairing's, 1 if nobody of them can play."""
        return self.games / self.at_random if self.at_random > 0.0 else 1.0


def measure_bottom_tenth(
    problem: Problem, policy: Policy, rounds: int, seed: int = 0, number: int = 0
) -> BottomTenth:
    """Measure what is left to the tenth of the players with the lowest chances of a game.

    A replication is played; 200 rounds of its second half, evenly spaced, are looked at. Chances
    are compared as random pairing would give them, and at least one player counts.

    Parameters
    ----------
    problem, policy, rounds, seed
        As for `simulate`.
    number
        Number of the replication.

    Examples
    --------
    >>> from pairup import Oracle, Problem
    >>> measure_bottom_tenth(Problem([0.9, 0.8, 0.2, 0.1]), Oracle(), rounds=100).share.__round__(3)
    0.316
    """
    playthrough, looks = Playthrough(problem, policy, rounds, seed, number), []
    for round in np.unique(np.linspace(rounds // 2 + 1, rounds, _LOOKS).astype(int)).tolist():
        playthrough.play_to(round)
        chances, random = playthrough.last_chances()
        bottom = np.argsort(random, kind="stable")[: max(len(random) // 10, 1)]
        looks.append((chances[bottom].mean(), random[bottom].mean()))
    games, at_random = np.mean(looks, axis=0)
    return BottomTenth(float(games), float(at_random))
