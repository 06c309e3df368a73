"""Tests of the contract that a policy must fulfil, for yours and for pairup's own."""

from pairup.testing.check_policy import check_policy
from pairup.testing.expectation import BrokenContractError

__all__ = ["BrokenContractError", "check_policy"]
