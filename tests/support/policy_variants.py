"""Every registered policy with every choice of its options."""

from pairup import get_policy, policy_names
from pairup.testing.variants import variants_of


def variants():
    """List every registered policy with every combination of its `Literal` options."""
    classes = (type(get_policy(name)) for name in policy_names())
    return [variant for each in classes for variant in variants_of(each)]
