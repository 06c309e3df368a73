"""Every policy on problems of 2, 4 and 10 couples, and of an odd number of players."""

from __future__ import annotations

import pairup.errors
from pairup import Problem
from pairup.policies.contract import Policy, check_fit
from tests.support.policy_variants import two_sided_variants, variants

SEED = 5
REPLICATIONS = 1_000
CHECKPOINTS = [1, 17, 300]
PLANNED_CHECKPOINTS = [1, 17, 40]  # where the host makes plans, which takes it a tenth of a second
ONE_SIDE = (
    Problem.from_zero(2, 0.1),
    Problem.from_zero(4, 0.1),
    Problem.from_zero(10, 0.1),
    Problem([0.9, 0.7, 0.5, 0.3, 0.2]),
)
TWO_SIDES = (
    Problem.two_sided([0.9, 0.2], [0.8, 0.5]),
    Problem.two_sided([0.9, 0.7, 0.5, 0.2], [0.8, 0.6, 0.5, 0.1]),
    Problem.two_sided([0.9, 0.7, 0.2], [0.8, 0.5]),
)


def cases() -> list[tuple[Policy, Problem]]:
    """List all policies with all choices of their options, on each problem that they can play."""
    return [
        (variant.policy(problem.rates), problem)
        for variant in [*variants(), *two_sided_variants()]
        for problem in (TWO_SIDES if variant.given.needs_sides else ONE_SIDE)
        if _fits(variant.given, problem)
    ]


def _fits(policy: Policy, problem: Problem) -> bool:
    try:
        check_fit(policy, problem)
    except pairup.errors.PolicyError:
        return False
    return True


def checkpoints(policy: Policy) -> list[int]:
    """Return the rounds after which a policy is compared; the last one ends the run."""
    plans = type(policy).replan is not Policy.replan
    return PLANNED_CHECKPOINTS if plans else CHECKPOINTS
