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
- live learning: `Learner` (made by `Policy.learner`), `Estimate`, `Rate`
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

from pairup import bounds
from pairup.assessment import Assessment, assess
from pairup.best_matching import best_matching
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
from pairup.experiments import (
    Experiment,
    Results,
    compare,
    dask_executor,
    load_experiment,
    load_results,
    run_experiment,
    shipped_experiments,
)
from pairup.learning import Estimate, Fairness, Learner, Rate
from pairup.matching import Matching
from pairup.policies import (
    ESCB,
    GRAB,
    OSUB,
    PMED,
    SAM,
    CombThompson,
    CombUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    Oracle,
    Policy,
    PythonPolicy,
    RankOneThompson,
    Uniform,
    Unimodal,
    UnimodalThompson,
    UniRank,
    get_policy,
    policy_names,
)
from pairup.problem import Problem
from pairup.simulation.result import Run
from pairup.simulation.simulate import simulate

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
    "EpsilonGreedy",
    "Estimate",
    "Experiment",
    "ExperimentError",
    "ExploreThenCommit",
    "Fairness",
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
    "PythonPolicy",
    "RankOneThompson",
    "Rate",
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
