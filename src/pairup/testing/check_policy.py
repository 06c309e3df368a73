"""check_policy: the whole contract of a policy, rule by rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pairup.compiled.kernel_cache import is_ours
from pairup.errors import PairupError, PolicyError
from pairup.policies import Policy, PythonPolicy
from pairup.testing import lives, player_rules, proposal_rules, side_rules
from pairup.testing.expectation import BrokenContractError
from pairup.testing.variants import Variant, variants_of

Rule = Callable[[Variant], None]

RULES: tuple[Rule, ...] = (*proposal_rules.RULES, *lives.RULES, *player_rules.RULES)


def rules_for(policy_class: type[Policy]) -> tuple[Rule, ...]:
    """Return the rules of a policy.

    One in plain Python is only simulated; one that is for two sides only has rules of its own.
    """
    if issubclass(policy_class, PythonPolicy):
        return (proposal_rules.plays_in_simulations,)
    return side_rules.RULES if policy_class.needs_sides else RULES


def check_policy(policy: Policy | type[Policy]) -> None:
    """Check that a policy fulfils the contract: what the simulator and the service rely on.

    It proposes full matchings of the players available, the same live and simulated and for the
    same seed; its state is bounded; players come, go, return and are forgotten; errors change
    nothing. Learners live whole lives of calls at random, and copies of them, made at any moment,
    continue without a difference; the calls that led to one are listed. Before all that, the steps
    of a third-party policy run with their indices checked. It takes some seconds. pairup's own
    policies pass the same checks in its tests.

    Parameters
    ----------
    policy
        A policy class, which is checked with every choice of its `Literal` options and with its
        `examples`, or one policy.
        Options without a default must be given, so that such a class is checked by an instance.

    Raises
    ------
    BrokenContractError
        Some rules are broken. The message lists each with what was found.

    Examples
    --------
    >>> from pairup import Uniform
    >>> from pairup.testing import check_policy
    >>> check_policy(Uniform)
    """
    is_class = isinstance(policy, type) and issubclass(policy, Policy)
    if not is_class and not isinstance(policy, Policy):
        raise PolicyError(f"check_policy takes a policy or its class, got {policy!r}: try SAM")
    variants = variants_of(policy)
    policy_class = variants[0].policy_class
    broken: list[str] = []
    in_python = issubclass(policy_class, PythonPolicy)
    if not is_ours(policy_class) and not in_python:  # other rules would do harm beyond an array
        on_sides = side_rules.stays_within_its_arrays_on_sides
        on_one_side = proposal_rules.stays_within_its_arrays
        bounds: Rule = on_sides if policy_class.needs_sides else on_one_side
        broken = _all_broken((bounds,), variants)
    broken = broken or _all_broken(rules_for(policy_class), variants)
    if broken:
        name = policy.__name__ if isinstance(policy, type) else str(policy)
        rules = "1 rule is" if len(broken) == 1 else f"{len(broken)} rules are"
        raise BrokenContractError(f"{name}: {rules} broken\n" + "\n".join(broken))


def _all_broken(rules: Sequence[Rule], variants: Sequence[Variant]) -> list[str]:
    found = (_broken(rule, variant) for variant in variants for rule in rules)
    return [line for line in found if line]


def _broken(rule: Rule, variant: Variant) -> str:
    """Return how a variant breaks a rule; empty if it does not."""
    said = (rule.__doc__ or "").partition("\n")[0]
    try:
        rule(variant)
    except PairupError as error:
        return f"- {variant}: {said}\n  {error}"
    except Exception as error:  # of the policy's own methods
        return f"- {variant}: {said}\n  {type(error).__name__}: {error}"
    return ""
