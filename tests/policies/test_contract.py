"""Every registered policy fulfils the contract, merely by being registered."""

import pytest

from pairup.testing.check_policy import RULES
from tests.support.policy_variants import variants


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("variant", variants(), ids=str)
def test_contract(variant, rule):
    rule(variant)
