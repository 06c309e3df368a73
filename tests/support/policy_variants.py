"""Every registered policy with every choice of its options."""

from pairup import get_policy, policy_names
from pairup.testing.variants import variants_of


def variants():
    """List every policy that plays on one side, with every combination of its `Literal` options."""
    return [variant for variant in _all_variants() if not variant.policy_class.needs_sides]


def two_sided_variants():
    """List every policy that is for two sides only, as `variants` does the others."""
    return [variant for variant in _all_variants() if variant.policy_class.needs_sides]


def _all_variants():
    classes = (type(get_policy(name)) for name in policy_names())
    return [variant for each in classes for variant in variants_of(each)]
