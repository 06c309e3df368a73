"""Policies, one per file, and the registry that finds them by name."""

from pairup.policies.base import Policy
from pairup.policies.comb_thompson import CombThompson
from pairup.policies.comb_ucb import CombUCB
from pairup.policies.epsilon_greedy import EpsilonGreedy
from pairup.policies.escb import ESCB
from pairup.policies.explore_then_commit import ExploreThenCommit
from pairup.policies.grab import GRAB
from pairup.policies.oracle import Oracle
from pairup.policies.osub import OSUB
from pairup.policies.pmed import PMED
from pairup.policies.rank_one_thompson import RankOneThompson
from pairup.policies.registry import (
    describe_policies,
    get_known_policy,
    get_policy,
    import_policy,
    policy_names,
    register,
)
from pairup.policies.sam import SAM
from pairup.policies.uniform import Uniform
from pairup.policies.unimodal import Unimodal
from pairup.policies.unimodal_thompson import UnimodalThompson
from pairup.policies.unirank import UniRank

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
    "Oracle",
    "Policy",
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
