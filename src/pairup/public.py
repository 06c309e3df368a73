"""The public names of pairup but its errors, imported together when one is first used."""

from pairup import bounds
from pairup.assessment import Assessment, assess
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
from pairup.learning import CoupleEstimate, Fairness, Learner, PlayerEstimate
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
    HierarchicalThompson,
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
from pairup.weighted_matching import best_matching
