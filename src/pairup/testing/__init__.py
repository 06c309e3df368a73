"""Tests for policies, yours and pairup's own: the whole contract that a policy fulfils."""

from pairup.testing.check_policy import check_policy
from pairup.testing.expectation import BrokenContractError

__all__ = ["BrokenContractError", "check_policy"]
