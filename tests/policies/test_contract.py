"""Every registered policy fulfils the contract, merely by being registered."""

import pytest

from pairup.testing.check_policy import rules_for
from tests.support.policy_variants import two_sided_variants, variants

CASES = [
    pytest.param(variant, rule, id=f"{variant}-{rule.__name__}")
    for variant in [*variants(), *two_sided_variants()]
    for rule in rules_for(variant.policy_class)
]


@pytest.mark.parametrize(("variant", "rule"), CASES)
def test_a_registered_policy_keeps_a_rule_of_the_contract(variant, rule):
    rule(variant)
