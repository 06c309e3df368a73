"""Policies: one a file, and the registry that finds them by name."""

from pairup.policies.base import Policy, describe_policies, get_policy, policy_names
from pairup.policies.ends import Oracle, Uniform
from pairup.policies.escb import ESCB
from pairup.policies.learner import Estimate, Learner
from pairup.policies.sam import SAM
from pairup.policies.unimodal import Unimodal

__all__ = [
    "ESCB",
    "SAM",
    "Estimate",
    "Learner",
    "Oracle",
    "Policy",
    "Uniform",
    "Unimodal",
    "describe_policies",
    "get_policy",
    "policy_names",
]
