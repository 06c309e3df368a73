"""Constraints of a pool: which of the players who wait may meet.

A constraint is declared in JSON, as a rule of the pool, and may relax with the waiting time of the
one of two players who waited longer. In a proposal each becomes a filter (`filters`). Clients read
constraints too, so that this module does without NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from pairup.errors import ServiceError
from pairup.service.domain.matchmaking.attributes import AttributeType

Kind = Literal["distance", "equal", "overlap", "latency", "different", "block", "cooldown"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_CONSTRAINTS = 16  # of a pool
MAX_RELAXATIONS = 8  # of a constraint
MAX_FACTORS = 4  # of the worth of a pool's games
MAX_HOLDOUT = 0.5  # share of players

# The type of attribute that each kind looks at; `equal` and `different` also take numbers.
_TYPES: dict[Kind, tuple[AttributeType, ...]] = {
    "distance": ("number",),
    "equal": ("text", "number"),
    "overlap": ("list",),
    "latency": ("numbers",),
    "different": ("text", "number"),
    "block": ("players",),
    "cooldown": (),
}
# The field of a constraint that says how strict it is, where it has one.
_LIMITS: dict[Kind, tuple[str, ...]] = {
    "distance": ("at_most",),
    "latency": ("at_most",),
    "cooldown": ("games", "within_s"),
}


class ConstraintError(ServiceError):
    """A constraint that cannot be."""


class Need(NamedTuple):
    """An attribute that players must have to wait, and why."""

    attribute: str
    types: tuple[AttributeType, ...]
    why: str


@dataclass(frozen=True)
class Constraint:
    """A constraint, whose limit depends on how long a player has waited.

    Limits are the greatest distance or latency that is allowed, or the least number of games or
    seconds since two players met; for other kinds 1, and 0 where the constraint is lifted.

    Examples
    --------
    >>> relax = [{"after_s": 10, "at_most": 200}, {"after_s": 60, "at_most": None}]
    >>> given = {"kind": "distance", "attribute": "rating", "at_most": 100, "relax": relax}
    >>> constraint = Constraint.of(given)
    >>> constraint.after_s, constraint.levels
    ((0.0, 10.0, 60.0), (100.0, 200.0, inf))
    """

    kind: Kind
    attribute: str | None
    field: str | None  # name of the limit
    after_s: tuple[float, ...]  # seconds, the first of them 0
    levels: tuple[float, ...]  # the limit from then on

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Constraint:
        """Read a constraint, or refuse it with a `ConstraintError`."""
        kind = given["kind"]
        names = [each for each in _LIMITS.get(kind, ()) if given.get(each) is not None]
        if kind in _LIMITS and len(names) != 1:
            wanted = " or ".join(f"`{each}`" for each in _LIMITS[kind])
            raise ConstraintError(f"a {kind} constraint has {wanted}, got {len(names)} of them")
        field = names[0] if names else None
        steps = [{**given, "after_s": 0}, *(given.get("relax") or ())]
        for place, step in enumerate(steps[1:]):
            for other in set(_LIMITS.get(kind, ())) - {field}:
                if step.get(other) is not None:
                    raise ConstraintError(
                        f"relax.{place}.{other} is {step[other]:g}, and the constraint counts "
                        f"`{field}`: relax that, or leave it out to lift the constraint"
                    )
        after_s = tuple(float(each["after_s"]) for each in steps)
        levels = tuple(_level(kind, field, each, place) for place, each in enumerate(steps))
        made = cls(kind, given.get("attribute"), field, after_s, levels)
        made._check()
        return made

    def _check(self) -> None:
        for place in range(1, len(self.levels)):
            earlier, later = self.after_s[place - 1], self.after_s[place]
            if later <= earlier:
                raise ConstraintError(
                    f"relax.{place - 1}.after_s is {later:g}, not later than {earlier:g}: list "
                    "the relaxations in the order of their times, which are more than 0"
                )
            before, after = self.levels[place - 1], self.levels[place]
            if (after < before) if self.grows else (after > before):
                raise ConstraintError(
                    f"relax.{place - 1}.{self.field} is {after:g} after {before:g}, which would "
                    "tighten the constraint: relax it, so that whoever waits may meet more players"
                )

    @property
    def grows(self) -> bool:
        """Whether a greater limit is the looser one."""
        return self.kind in ("distance", "latency")

    @property
    def name(self) -> str:
        """Its kind and attribute, by which players who wait are counted."""
        return f"{self.kind}:{self.attribute}" if self.attribute else self.kind

    @property
    def need(self) -> Need | None:
        """The attribute that players who wait must have; nobody must block others."""
        if self.attribute is None or self.kind == "block":
            return None
        return Need(self.attribute, _TYPES[self.kind], f"the constraint {self.name}")


def _level(kind: Kind, field: str | None, given: Mapping[str, Any], place: int) -> float:
    """Return a limit as a number; without one, the constraint is lifted after a time."""
    if field is None:
        return 1.0 if place == 0 else 0.0
    limit = given.get(field)
    if limit is not None:
        return float(limit)
    return math.inf if kind in ("distance", "latency") else 0.0
