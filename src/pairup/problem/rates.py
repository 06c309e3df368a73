"""Checks of acceptance rates, of the rates of couples, and of the starts of pieces."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import checked_integer, checked_list, checked_symmetric
from pairup.errors import PairupError, ProblemError

Floats = NDArray[np.float64]


BetaParameters = tuple[float, float]  # of the distribution of rates


def checked_rates(
    rates: ArrayLike,
    what: str = "acceptance rates",
    minimum: int = 2,
    error: type[PairupError] = ProblemError,
) -> Floats:
    """Return a read-only copy of rates, or refuse rates that are not numbers in [0, 1].

    Messages call them `what`; `minimum` is the least number of players.
    """
    array = _as_numbers(rates, what, error=error)
    if array.ndim != 1 or len(array) < minimum:
        raise error(
            f"{what} are one number for each of at least {minimum} player{'s' * (minimum != 1)}, "
            f"got an array of shape {array.shape}: give a flat list such as [0.9, 0.8, 0.3]"
        )
    bad = np.flatnonzero(~((array >= 0) & (array <= 1)))  # NaN compares false, so it is bad
    if len(bad):
        player, value = int(bad[0]), float(array[bad[0]])
        way_out = (
            "leave the player out or give a guess such as 0.5"
            if math.isnan(value)
            else "give probabilities, not percentages or counts"
        )
        raise error(f"{what} must lie in [0, 1], got {value} for player {player}: {way_out}")
    array += 0.0  # -0.0 becomes 0.0: equal problems must have equal bytes for their hash
    array.setflags(write=False)
    return array


def checked_couple_rates(rates: ArrayLike) -> Floats:
    """Return a read-only copy of the rates of couples, the diagonal 0, or refuse them."""
    matrix = _as_numbers(rates, "rates of couples", "[[0, 0.5], [0.5, 0]]")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ProblemError(
            "rates of couples are a square matrix, a row and a column for each of at least 2 "
            f"players, got an array of shape {matrix.shape}: try [[0, 0.5], [0.5, 0]]"
        )
    np.fill_diagonal(matrix, 0.0)
    for i, j in np.argwhere(~((matrix >= 0) & (matrix <= 1))):  # NaN compares false
        raise ProblemError(
            f"rates of couples must lie in [0, 1], got {matrix[i, j]} for players {i} and {j}: "
            "give the probability that they play when they are proposed"
        )
    matrix = checked_symmetric("rates of couples", matrix, ProblemError)
    matrix += 0.0  # -0.0 becomes 0.0, as in `checked_rates`
    matrix.setflags(write=False)
    return matrix


def checked_starts(starts: Sequence[int], players: Sequence[int]) -> tuple[int, ...]:
    """Return the starts of pieces with these numbers of players, or refuse them."""
    given = checked_list("starts", starts, ProblemError, items="numbers of rounds")
    checked = tuple(checked_integer("starts", each, ProblemError, minimum=0) for each in given)
    if checked[:1] != (0,) or any(one >= other for one, other in itertools.pairwise(checked)):
        raise ProblemError(f"starts must ascend from 0, got {given!r}: try [0, 1000]")
    if len(players) != len(checked):
        raise ProblemError(
            f"each start needs the rates that hold from then on, got {len(checked)} starts and "
            f"{len(players)} pieces: give as many of both"
        )
    if len(set(players)) > 1:
        raise ProblemError(
            f"all pieces must have the same players, got {min(players)} and {max(players)} of "
            "them: give each player a rate in every piece"
        )
    return checked


def _as_numbers(
    rates: ArrayLike,
    what: str,
    example: str = "a flat list of floats",
    error: type[PairupError] = ProblemError,
) -> Floats:
    """Copy to float64, but refuse "0.5" and True, which NumPy would silently accept."""
    rule = f"{what} must be numbers"
    if isinstance(rates, list | tuple):
        for player, rate in enumerate(rates):
            if isinstance(rate, bool | np.bool_ | str | bytes | None):
                raise error(
                    f"{rule}, got {rate!r} for player {player}: convert it with float() first"
                )
    try:
        array = np.asarray(rates)
    except ValueError:  # ragged
        raise error(f"{rule}, got lists of several lengths: give {example}") from None
    if array.dtype.kind not in "fiu":
        text = repr(rates)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise error(f"{rule}, got {shown}: give {example}")
    return np.array(array, dtype=np.float64)


def parse_distribution(text: str) -> BetaParameters:
    """Read a distribution of rates, such as ``beta:2,3``.

    Examples
    --------
    >>> parse_distribution("beta:2,3")
    (2.0, 3.0)
    """
    name, _, numbers = text.partition(":")
    try:
        first, second = map(float, numbers.split(","))
    except ValueError:
        first = second = 0.0
    if name != "beta" or not (0 < first < np.inf and 0 < second < np.inf):
        raise ProblemError(
            f"a distribution is beta:A,B with positive numbers, got {text!r}: try beta:2,3"
        )
    return first, second
