"""Acceptance rates: the check of given rates, and the families of rates for experiments."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import check_number, checked_integer
from pairup.errors import ProblemError

Floats = NDArray[np.float64]

_DECIMALS = 12  # the families are rounded, so that 3 * 0.1 is the 0.3 that a reader expects


def rates_from_zero(pairs: int, gap: float) -> Floats:
    """Return the rates of couples `gap` apart down to 0, see `Problem.from_zero`."""
    count = checked_integer("pairs", pairs, ProblemError, minimum=2, advice="try 4")
    check_number("gap", gap, ProblemError, advice="try 0.1")
    top = round((count - 1) * gap, _DECIMALS)
    if not 0 < top <= 1:  # false for NaN as well
        raise ProblemError(
            f"(pairs - 1) * gap must lie in (0, 1], got {count - 1} * {gap!r}: "
            f"take a gap of at most {1 / (count - 1):.4g}"
        )
    return _steps(count, 0.0, gap)


def rates_around(mean: float, pairs: int, gap: float) -> Floats:
    """Return the rates of couples `gap` apart around a mean, see `Problem.around`."""
    count = checked_integer("pairs", pairs, ProblemError, minimum=1, advice="try 4")
    check_number("mean", mean, ProblemError, advice="try 0.5")
    check_number("gap", gap, ProblemError, advice="try 0.1")
    if not 0 <= gap < math.inf:
        raise ProblemError(f"gap must be a number of at least 0, got {gap!r}: try 0.1")
    half = round((count - 1) * gap / 2, _DECIMALS)
    if not round(half - mean, _DECIMALS) <= 0 <= round(1 - half - mean, _DECIMALS):
        way_out = (
            f"take a mean in [{half:.4g}, {1 - half:.4g}]"
            if half <= 0.5
            else f"take a gap of at most {1 / (count - 1):.4g}"
        )
        raise ProblemError(
            f"all rates must lie in [0, 1], got mean {mean!r} with {count} pairs "
            f"{gap!r} apart: {way_out}"
        )
    return _steps(count, mean - half, gap)


def random_rates(players: int, seed: int, law: tuple[float, float]) -> Floats:
    """Draw rates independently from a Beta law, see `Problem.random`."""
    count = checked_integer("players", players, ProblemError, minimum=2, advice="try 4")
    checked_integer("seed", seed, ProblemError, minimum=0)
    try:
        first, second = (float(parameter) for parameter in law)
    except (TypeError, ValueError):
        first = second = math.nan
    if not (0 < first < math.inf and 0 < second < math.inf):  # false for NaN as well
        raise ProblemError(
            f"both parameters of the Beta law must be positive, got {law!r}: "
            "(1, 1) is uniform, (2, 5) favours low rates"
        )
    return np.random.default_rng(seed).beta(first, second, count)


def checked_rates(rates: ArrayLike) -> Floats:
    """Return a read-only copy of rates, or refuse rates that are not numbers in [0, 1]."""
    array = _as_numbers(rates)
    if array.ndim != 1 or len(array) < 2:
        raise ProblemError(
            "acceptance rates are one number for each of at least 2 players, "
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
        raise ProblemError(
            f"acceptance rates must lie in [0, 1], got {value} for player {player}: {way_out}"
        )
    array += 0.0  # -0.0 becomes 0.0: equal problems must have equal bytes for their hash
    array.setflags(write=False)
    return array


def _as_numbers(rates: ArrayLike) -> Floats:
    """Copy to float64; numpy would silently take "0.5" and True for numbers."""
    rule = "acceptance rates must be numbers"
    if isinstance(rates, list | tuple):
        for player, rate in enumerate(rates):
            if isinstance(rate, bool | np.bool_ | str | bytes | None):
                raise ProblemError(
                    f"{rule}, got {rate!r} for player {player}: convert it with float() first"
                )
    try:
        array = np.asarray(rates)
    except ValueError:  # ragged
        raise ProblemError(f"{rule}, got lists of several lengths: give a flat list") from None
    if array.dtype.kind not in "fiu":
        text = repr(rates)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise ProblemError(f"{rule}, got {shown}: give a flat list of floats")
    return np.array(array, dtype=np.float64)


def _steps(pairs: int, bottom: float, gap: float) -> Floats:
    """Return rates `gap` apart down to `bottom`, each twice, rounded to hide float noise."""
    levels = bottom + np.arange(pairs - 1, -1, -1) * gap
    return np.repeat(np.clip(np.round(levels, _DECIMALS), 0.0, 1.0), 2)
