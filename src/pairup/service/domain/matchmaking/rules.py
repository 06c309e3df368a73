"""The rules of a pool: its policy, what its outcomes mean, who may meet, and who is owed a game."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pairup.errors import PolicyError, did_you_mean
from pairup.learning.fairness import check_floor
from pairup.policies import Policy, get_known_policy, policy_names
from pairup.service.domain.events import SECOND, Mode, Moment
from pairup.service.domain.matchmaking.attributes import TYPES
from pairup.service.domain.matchmaking.constraints import Constraint, ConstraintError, Need
from pairup.service.domain.matchmaking.holdout import check_holdout
from pairup.service.domain.matchmaking.recent_games import Window
from pairup.service.domain.matchmaking.worth import worth_need

DEFAULT_POLICY = "rank_one_thompson"
# Rates are drawn every fourth round: as players come and go, more draws would often be wasted. What
# is believed of newcomers is learnt from the others.
DEFAULT_OPTIONS = {"period": 4, "prior": "learned"}
# Share of random pairing's chance that new pools promise to each player, with the default policy.
DEFAULT_FLOOR = 0.0
MAX_OPTION = 10**9  # unless a policy declares less, as `max_in_pools` of a field
NO_FLOOR = {"floor": 0.0}
# Who meets whom depends on these.
MEETING_RULES = frozenset(
    ("policy", "options", "seed", "memory_s", "constraints", "worth", "fairness", "max_wait_s")
) | {"holdout"}


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
    constraints: Sequence[Mapping[str, Any]] = ()  # who may meet; see `Constraint`
    worth: Sequence[Mapping[str, Any]] = ()  # factors; see `worth_of`
    fairness: Mapping[str, float] = field(default_factory=lambda: dict(NO_FLOOR))
    max_wait_s: float | None = None  # after which a player is matched before others
    mode: Mode = "live"  # in shadow nothing is proposed, and rounds of others are learnt
    holdout: float = 0.0  # share of players who are paired at random, to compare with

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Rules:
        """Complete the rules given; the default options and floor belong to the default policy.

        Examples
        --------
        >>> Rules.of({}).options, Rules.of({"policy": "unimodal"}).options
        ({'period': 4, 'prior': 'learned'}, {})
        """
        if "policy" in given:
            return cls(**{"options": {}, **given})
        return cls(**{"fairness": {"floor": DEFAULT_FLOOR}, **given})

    @cached_property
    def parsed_constraints(self) -> tuple[Constraint, ...]:
        """The constraints, parsed."""
        return tuple(map(Constraint.of, self.constraints))

    @cached_property
    def needs(self) -> list[Need]:
        """The attributes that players must have to wait."""
        found = [each.need for each in self.parsed_constraints] + list(map(worth_need, self.worth))
        return [need for need in found if need is not None]

    @cached_property
    def player_lists(self) -> frozenset[str]:
        """The attributes that list players."""
        blocks = (each for each in self.parsed_constraints if each.kind == "block")
        return frozenset(each.attribute or "" for each in blocks)

    @cached_property
    def remembered(self) -> Window | None:
        """How far back it must be known who met whom; None if it need not."""
        found = [each for each in self.parsed_constraints if each.kind == "cooldown"]
        most = {
            name: max((each.levels[0] for each in found if each.field == name), default=0.0)
            for name in ("games", "within_s")
        }
        return Window(most["games"], most["within_s"]) if found else None

    @property
    def floor(self) -> float:
        """Share of random pairing's chance that is promised to each player."""
        return self.fairness["floor"]

    @property
    def needs_graph(self) -> bool:
        """Whether not all couples may meet for the same worth."""
        return bool(self.constraints or self.worth)

    @property
    def are_plain(self) -> bool:
        """Whether the policy alone decides who meets."""
        return not (self.needs_graph or self.floor or self.holdout) and self.max_wait_s is None

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

    def check_meetings(self) -> None:
        """Refuse rules on who meets that a player or the policy cannot follow."""
        policy = self.make_policy()
        check_floor(policy, self.floor)
        check_holdout(self.holdout)
        if self.needs_graph:
            policy.check_graph()
        known: dict[str, Need] = {}
        for need in [*map(_list_need, sorted(self.player_lists)), *self.needs]:
            before = known.setdefault(need.attribute, need)
            if not set(before.types) & set(need.types):
                raise ConstraintError(
                    f"{before.why} needs {TYPES[before.types[0]]}, and {need.why} needs "
                    f"{TYPES[need.types[0]]}, which no attribute is: name two attributes"
                )

    def expiry(self, now: Moment) -> Moment:
        """Return the moment at which a proposal made now expires."""
        return now + round(self.lifetime_s * SECOND)

    def with_changes(self, changes: Mapping[str, Any]) -> Rules:
        """Return the rules with some of them changed."""
        return dataclasses.replace(self, **changes)

    def changes(self, wanted: Mapping[str, Any], players: int) -> dict[str, Any]:
        """Pick the rules that differ, or refuse rules that a pool of `players` cannot have.

        Examples
        --------
        >>> Rules().changes({"lifetime_s": 60.0, "seed": 1}, players=4)
        {'seed': 1}
        """
        if "policy" in wanted and wanted["policy"] != self.policy:
            wanted = {"options": {}, **wanted}  # those of the former policy do not belong to it
        found = {name: value for name, value in wanted.items() if self.as_json()[name] != value}
        after = self.with_changes(found)
        if "options" in found:
            after.check_options()
        after.check_meetings()
        after.make_policy().check_players(players)
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the rules by name."""
        rules = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return {**rules, "constraints": list(self.constraints), "worth": list(self.worth)}

    def stored(self) -> dict[str, Any]:
        """Return the rules by name, without those that say nothing.

        A pool without them is stored as it was before there were any.
        """
        nothing: dict[str, Any] = {
            "constraints": [],
            "worth": [],
            "fairness": NO_FLOOR,
            "max_wait_s": None,
            "mode": "live",
            "holdout": 0.0,
        }
        rules = self.as_json()
        return {name: each for name, each in rules.items() if nothing.get(name, ...) != each}


def _list_need(attribute: str) -> Need:
    return Need(attribute, ("players",), f"the constraint block:{attribute}")


def max_option(option: dataclasses.Field[Any]) -> int:
    """Return the greatest value of a policy's option in a pool."""
    most: int = option.metadata.get("max_in_pools", MAX_OPTION)
    return most
