"""A policy that is known by its name only: results of it can be read where its code is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pairup.errors import PolicyError
from pairup.policies.contract import Policy, StartContext
from pairup.policies.registry import get_known_policy


@dataclass(frozen=True)
class UnknownPolicy(Policy):
    """Stands for a policy that is not imported, with its options. It can be shown, not played."""

    known: tuple[str, tuple[tuple[str, Any], ...]] = ("", ())

    name: ClassVar[str] = "unknown"

    @property
    def known_as(self) -> str:
        return self.known[0]

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.known[1])

    def start(self, context: StartContext) -> NoReturn:
        raise PolicyError(f"the policy {self.known_as!r} is not imported: import it first")

    def saved(self, state: Any) -> NoReturn:
        raise PolicyError(f"the policy {self.known_as!r} is not imported: import it first")

    def load(self, state: Any, arrays: Any) -> NoReturn:
        raise PolicyError(f"the policy {self.known_as!r} is not imported: import it first")

    def __str__(self) -> str:
        return self.known_as


def find_or_stand_in(name: str, options: Mapping[str, Any]) -> Policy:
    """Make a policy by its name, or one that stands for it where its code is not imported."""
    try:
        return get_known_policy(name, **options)
    except PolicyError:
        if ":" not in name:
            raise
        return UnknownPolicy((name, tuple(options.items())))
