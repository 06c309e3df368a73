"""Expectations of checks, and the error when one of them is not met."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from pairup.errors import PairupError
from pairup.matching import Matching


class BrokenContractError(PairupError, AssertionError):
    """A policy breaks a rule of the contract; the message lists what was found."""


def expect(fact: Any, otherwise: str) -> None:
    """Raise unless `fact` holds, with what was found instead."""
    if not fact:
        raise BrokenContractError(otherwise)


def expect_equal(found: Any, expected: Any, what: str) -> None:
    """Raise if two values differ; of two lists, name the first items that do."""
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        differing = (pair for pair in zip(found, expected, strict=True) if pair[0] != pair[1])
        found, expected = next(differing, (None, None))
    if found != expected:
        raise BrokenContractError(f"{what}: {_short(found)} instead of {_short(expected)}")


def expect_full(matching: Matching, players: Iterable[Hashable]) -> None:
    """Raise unless a matching couples all players, except one if their number is odd."""
    everyone = list(players)
    expect_equal(set(matching.players), set(everyone), "players of the matching")
    expect_equal(len(matching), len(everyone) // 2, "couples of the matching")
    expect_equal(len(matching.waiting), len(everyone) % 2, "players who wait")


def _short(value: Any) -> str:
    text = repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str) and len(text) > 200:
        text = f"{len(value)} values, of which the first is {value[0]!r}"
    return text if len(text) <= 200 else f"{text[:200]}..."
