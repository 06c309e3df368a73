"""Variants: a policy with every choice of its options, and what it must know to start."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairup.errors import PolicyError
from pairup.learning.learner import Learner
from pairup.policies.contract import Policy, option_choices
from pairup.problem import Problem

# What policies may need to know, from the rates of the players in their order.
_KNOWLEDGE: dict[str, Callable[[Iterable[float]], Any]] = {
    "horizon": lambda rates: 1_000,
    "rates": tuple,
}


@dataclass(frozen=True)
class Variant:
    """A policy with a choice of its options."""

    given: Policy

    @property
    def policy_class(self) -> type[Policy]:
        """Its class."""
        return type(self.given)

    def policy(self, rates: Iterable[float]) -> Policy:
        """Make the policy, with what it must know of players with these rates."""
        told = {what: _KNOWLEDGE[what](rates) for what in self.given.needs()}
        return dataclasses.replace(self.given, **told)

    def learner(self, players: Iterable[Hashable], seed: int = 0) -> Learner:
        """Start it live; where it must know rates, the players given first accept most."""
        players = list(players)
        return self.policy(np.linspace(0.9, 0.1, len(players)).tolist()).learner(players, seed)

    def problem(self, players: int) -> Problem:
        """Make a problem that it is for."""
        if self.policy_class.needs_sides:
            return two_sided(players - players // 3, players // 3)
        return Problem.random(players, seed=2)

    def __str__(self) -> str:
        defaults = {option.name: option.default for option in dataclasses.fields(self.given)}
        chosen = [
            value if isinstance(value, str) else f"{option}={value}"
            for option, value in self.given.options.items()
            if isinstance(value, str) or value != defaults[option]
        ]
        return "-".join([self.given.name, *chosen])


def two_sided(rows: int, columns: int) -> Problem:
    """Make a problem of two sides whose players differ."""
    return Problem.two_sided(np.linspace(0.9, 0.1, rows), np.linspace(1.0, 0.3, columns))


def variants_of(policy: Policy | type[Policy]) -> list[Variant]:
    """List a policy class with every combination of its `Literal` options, or one policy alone.

    Combinations that it refuses are left out; the `examples` of the class come last.

    Examples
    --------
    >>> from pairup import CombUCB
    >>> [str(variant) for variant in variants_of(CombUCB)]
    ['comb_ucb-ucb', 'comb_ucb-kl']
    """
    if isinstance(policy, Policy):
        return [Variant(policy)]
    choices = option_choices(policy)
    chosen = (zip(choices, values, strict=True) for values in itertools.product(*choices.values()))
    variants = []
    for options in chosen:
        with suppress(PolicyError):
            variants.append(Variant(policy(**dict(options))))
    return variants + [Variant(policy(**options)) for options in policy.examples]
