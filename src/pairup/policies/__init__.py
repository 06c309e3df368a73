"""Policies, each in a file or a folder of its own, and the registry that finds them by name."""

from pairup.policies.baselines.epsilon_greedy import EpsilonGreedy
from pairup.policies.baselines.explore_then_commit import ExploreThenCommit
from pairup.policies.baselines.oracle import Oracle
from pairup.policies.baselines.uniform import Uniform
from pairup.policies.comb_thompson import CombThompson
from pairup.policies.comb_ucb import CombUCB
from pairup.policies.contract import Policy
from pairup.policies.escb.escb import ESCB
from pairup.policies.hierarchical.hierarchical_thompson import HierarchicalThompson
from pairup.policies.osub import OSUB
from pairup.policies.pmed.pmed import PMED
from pairup.policies.python_policy import PythonPolicy
from pairup.policies.rank_one.rank_one_thompson import RankOneThompson
from pairup.policies.rankings.grab import GRAB
from pairup.policies.rankings.unirank import UniRank
from pairup.policies.registry import (
    describe_policies,
    get_known_policy,
    get_policy,
    import_policy,
    policy_names,
    register,
)
from pairup.policies.sam import SAM
from pairup.policies.unimodal.unimodal import Unimodal
from pairup.policies.unimodal_thompson import UnimodalThompson

__all__ = [
    "ESCB",
    "GRAB",
    "OSUB",
    "PMED",
    "SAM",
    "CombThompson",
    "CombUCB",
    "EpsilonGreedy",
    "ExploreThenCommit",
    "HierarchicalThompson",
    "Oracle",
    "Policy",
    "PythonPolicy",
    "RankOneThompson",
    "UniRank",
    "Uniform",
    "Unimodal",
    "UnimodalThompson",
    "describe_policies",
    "get_known_policy",
    "get_policy",
    "import_policy",
    "policy_names",
    "register",
]
