"""Learn who to pair with whom.

Each player accepts a proposed game with a probability that nobody knows. In every round a policy
proposes a matching, and a couple plays if both of its players accept. The fewer games are lost
against the best matching, the better.

The names to import, by concept:

- the problem: `Problem`, `Matching`, `best_matching`
- policies: `Unimodal`, `RankOneThompson`, `SAM` and others (`policy_names`), `get_policy`, `Policy`
- policies of your own: `PythonPolicy` to try out an idea; for compiled ones the modules
  `pairup.extending` and `pairup.testing`
- simulation: `simulate`, which returns a `Run`
- live learning: `Learner` (made by `Policy.learner`), `CoupleEstimate`, `PlayerEstimate`
- past games: `assess`, which returns an `Assessment`
- theory: `bounds`
- comparisons: `compare`, which returns `Results`, as do `run_experiment` for an `Experiment` of a
  file (`load_experiment`, `shipped_experiments`) and `load_results`; `dask_executor`
- errors: `PairupError` and the classes derived from it

Examples
--------
>>> from pairup import Problem
>>> problem = Problem([0.9, 0.2, 0.8, 0.3])
>>> problem.optimum
Matching(0-2, 1-3)
>>> round(problem.regret([(0, 1), (2, 3)]), 12)
0.36
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pairup.errors import (
    AssessmentError,
    ClientError,
    ExperimentError,
    MatchingError,
    ObservationError,
    PairupError,
    PlayerError,
    PolicyError,
    ProblemError,
    ResultsError,
    SavingError,
    ServiceError,
    SimulationError,
)

if TYPE_CHECKING:
    from pairup.public import *

__all__ = [
    "ESCB",
    "GRAB",
    "OSUB",
    "PMED",
    "SAM",
    "Assessment",
    "AssessmentError",
    "ClientError",
    "CombThompson",
    "CombUCB",
    "CoupleEstimate",
    "EpsilonGreedy",
    "Experiment",
    "ExperimentError",
    "ExploreThenCommit",
    "Fairness",
    "HierarchicalThompson",
    "Learner",
    "Matching",
    "MatchingError",
    "ObservationError",
    "Oracle",
    "PairupError",
    "PlayerError",
    "PlayerEstimate",
    "Policy",
    "PolicyError",
    "Problem",
    "ProblemError",
    "PythonPolicy",
    "RankOneThompson",
    "Results",
    "ResultsError",
    "Run",
    "SavingError",
    "ServiceError",
    "SimulationError",
    "UniRank",
    "Uniform",
    "Unimodal",
    "UnimodalThompson",
    "assess",
    "best_matching",
    "bounds",
    "compare",
    "dask_executor",
    "get_policy",
    "load_experiment",
    "load_results",
    "policy_names",
    "run_experiment",
    "shipped_experiments",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Import the public names when one is first used: a client of a service needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        public = import_module("pairup.public")
    except ModuleNotFoundError as error:
        if error.name != "pairup.public":
            raise
        raise ImportError(f"pairup-client has no {name}: pip install pairup") from None
    globals().update({each: getattr(public, each) for each in __all__ if each not in globals()})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
