"""Learn who to pair with whom.

There are players; each accepts a proposed game with a probability that nobody knows. Every round
a policy proposes a matching, and a couple plays when both of its players accept. The fewer games
are lost against the best matching, the better.

Examples
--------
>>> from pairup import Problem
>>> problem = Problem([0.9, 0.2, 0.8, 0.3])
>>> problem.optimum
Matching(0-2, 1-3)
>>> round(problem.regret([(0, 1), (2, 3)]), 12)
0.36
"""

from pairup.errors import (
    ArchiveError,
    MatchingError,
    ObservationError,
    PairupError,
    PlayerError,
    PolicyError,
    ProblemError,
    SimulationError,
)
from pairup.matching import Matching
from pairup.policies import (
    SAM,
    Estimate,
    Learner,
    Oracle,
    Policy,
    Uniform,
    Unimodal,
    get_policy,
    policy_names,
)
from pairup.problem import Problem
from pairup.run import Run
from pairup.simulate import simulate

__all__ = [
    "SAM",
    "ArchiveError",
    "Estimate",
    "Learner",
    "Matching",
    "MatchingError",
    "ObservationError",
    "Oracle",
    "PairupError",
    "PlayerError",
    "Policy",
    "PolicyError",
    "Problem",
    "ProblemError",
    "Run",
    "SimulationError",
    "Uniform",
    "Unimodal",
    "get_policy",
    "policy_names",
    "simulate",
]
