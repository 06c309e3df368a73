"""The rules of a pool: its policy, and what its outcomes mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pairup.errors import PolicyError, did_you_mean
from pairup.policies import Policy, get_known_policy, policy_names
from pairup.service.domain.events import SECOND, Moment

DEFAULT_POLICY = "rank_one_thompson"
# Rates are drawn every fourth round: as players come and go, more draws would often be wasted. What
# is believed of newcomers is learnt from the others.
DEFAULT_OPTIONS = {"period": 4, "prior": "learned"}
MAX_OPTION = 10**9  # unless a policy declares less, as `max_in_pools` of a field


@dataclass(frozen=True)
class Rules:
    """How a pool proposes, and what its outcomes mean.

    Examples
    --------
    >>> rules = Rules(lifetime_s=30)
    >>> rules.with_changes({"unreported": "cancelled"}).unreported
    'cancelled'
    """

    policy: str = DEFAULT_POLICY
    options: Mapping[str, Any] = field(default_factory=lambda: dict(DEFAULT_OPTIONS))
    seed: int = 0
    lifetime_s: float = 60.0  # from a proposal until it expires
    unreported: Literal["discard", "cancelled"] = "discard"
    timeout_declines: bool = False
    after_game: Literal["waiting", "playing"] = "waiting"
    keep_records: bool = False  # of players who leave, until they return or ask for erasure
    memory_s: float | None = None  # half-life of what was learnt; None: it does not fade

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Rules:
        """Complete the rules given; the default options belong to the default policy only.

        Examples
        --------
        >>> Rules.of({}).options, Rules.of({"policy": "unimodal"}).options
        ({'period': 4, 'prior': 'learned'}, {})
        """
        return cls(**({"options": {}, **given} if "policy" in given else given))

    def make_policy(self) -> Policy:
        """Make the policy, or refuse it with a `PolicyError`."""
        if self.policy not in policy_names():
            near = did_you_mean(self.policy, policy_names())
            if ":" in str(self.policy):
                near = ": its operator must allow it at the start, by --policies or PAIRUP_POLICIES"
            raise PolicyError(f"no policy is called {self.policy!r}{near}")
        policy = get_known_policy(self.policy, **self.options)
        if not policy.serves_pools:
            raise PolicyError(
                f"{policy.name} cannot serve a pool, whose players come and go: "
                f"serve {DEFAULT_POLICY}"
            )
        # A policy that needs something else, such as a horizon, or that cannot fade, refuses.
        learner = policy.learner(())
        if self.memory_s is not None:
            learner.fade(0.0)
        return policy

    def check_options(self) -> None:
        """Refuse options with a `PolicyError` that would let a request take very long.

        Only what is asked for is checked: a pool that has such options is served.
        """
        limits = {each.name: max_option(each) for each in dataclasses.fields(self.make_policy())}
        for name, value in self.options.items():
            most = limits[name]
            if isinstance(value, int | float) and abs(value) > most:
                raise PolicyError(
                    f"{name} of {self.policy} must be at most {most} in a pool, got {value}: "
                    "give less"
                )

    def expiry(self, now: Moment) -> Moment:
        """Return the moment at which a proposal made now expires."""
        return now + round(self.lifetime_s * SECOND)

    def with_changes(self, changes: Mapping[str, Any]) -> Rules:
        """Return the rules with some of them changed."""
        return dataclasses.replace(self, **changes)

    def changes(self, wanted: Mapping[str, Any], players: int) -> dict[str, Any]:
        """Pick the rules that differ, or refuse rules that a pool of so many players cannot have.

        Examples
        --------
        >>> Rules().changes({"lifetime_s": 60.0, "seed": 1}, players=4)
        {'seed': 1}
        """
        if "policy" in wanted and wanted["policy"] != self.policy:
            wanted = {"options": {}, **wanted}  # those of the former policy do not belong to it
        found = {name: value for name, value in wanted.items() if getattr(self, name) != value}
        after = self.with_changes(found)
        if "options" in found:
            after.check_options()
        after.make_policy().check_players(players)
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the rules by name."""
        return dict(vars(self))


def max_option(option: dataclasses.Field[Any]) -> int:
    """Return the greatest value of a policy's option in a pool."""
    most: int = option.metadata.get("max_in_pools", MAX_OPTION)
    return most
