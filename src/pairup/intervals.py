"""Intervals: Student's for means, Fieller's for ratios of means, Wilson's for shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95  # probability that an interval covers what it estimates


def normal_quantile(level: float = LEVEL) -> float:
    """Return the half width of an interval in standard deviations of a normal distribution.

    Examples
    --------
    >>> round(normal_quantile(), 2)
    1.96
    """
    from statistics import NormalDist  # slow to import

    return NormalDist().inv_cdf((1 + level) / 2)


def student_quantile(count: ArrayLike, level: float = LEVEL) -> Floats:
    """Return the half width of Student's interval in standard errors; NaN below two values."""
    from scipy.special import stdtrit  # a third of pairup's import time, for this line alone

    return np.asarray(stdtrit(np.asarray(count) - 1.0, (1 + level) / 2), np.float64)


def student_interval(values: Floats, level: float = LEVEL) -> tuple[Floats, Floats, Floats]:
    """Return the mean of independent values along the first axis, and the ends of its interval.

    The ends are NaN for one value.

    Examples
    --------
    >>> mean, low, high = student_interval(np.array([1.0, 2.0, 3.0]))
    >>> print(f"{mean:.2f} {low:.2f} {high:.2f}")
    2.00 -0.48 4.48
    """
    mean, count = values.mean(axis=0), len(values)
    if count < 2:
        return mean, mean * np.nan, mean * np.nan
    half = student_quantile(count, level) * values.std(axis=0, ddof=1) / np.sqrt(count)
    return mean, mean - half, mean + half


def fieller_interval(
    top: Floats, bottom: Floats, level: float = LEVEL
) -> tuple[float, float, float]:
    """Return the ratio of the means of paired values, and the ends of its interval.

    It solves (mean(top) - r mean(bottom))^2 = t^2 var(top - r bottom) / n for r. Where the
    denominator may be 0 the ends are infinite; they are NaN for one pair.
    """
    count, over, under = len(top), float(top.mean()), float(bottom.mean())
    ratio = over / under if under else float("nan")
    if count < 2:
        return ratio, float("nan"), float("nan")
    (vt, cross), (_, vb) = np.cov(top, bottom) * float(student_quantile(count, level)) ** 2 / count
    a, b, c = under**2 - vb, over * under - cross, over**2 - vt
    if a <= 0:  # the denominator may be 0: no ratio can be excluded from above
        return ratio, float("-inf"), float("inf")
    half = float(np.sqrt(max(b**2 - a * c, 0.0)))
    return ratio, float((b - half) / a), float((b + half) / a)


def wilson_ends(share: ArrayLike, count: ArrayLike, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval for a probability, given the observed share.

    It contains every probability that the normal test does not reject for this share: unlike the
    interval around the share itself, it is right for probabilities near 0 and 1.

    Examples
    --------
    >>> low, high = wilson_ends(0.1, 20)
    >>> print(f"{low:.3f} {high:.3f}")
    0.028 0.301
    """
    seen = np.asarray(share, np.float64)
    z = normal_quantile(level) ** 2 / np.asarray(count)
    middle = (seen + z / 2) / (1 + z)
    half = np.sqrt(z * (seen * (1 - seen) + z / 4)) / (1 + z)
    # Rounding must not put the share itself outside.
    return np.clip(middle - half, 0.0, seen), np.clip(middle + half, seen, 1.0)
