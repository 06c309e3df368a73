"""Intervals: of means (Student's, and Hall's where samples are skewed), ratios and shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95  # probability that an interval covers what it estimates
# The skewness of a small sample is moved towards that of a usual regret, as by 5 values more, and
# bounded where the transformation is too steep: by the coverage that scripts/figures/coverage.py
# measures.
_USUAL_SKEWNESS, _USUAL_VALUES = 1.0, 5
_MAX_BEND = 0.8
_NEARLY_STRAIGHT = 1e-6  # below, the transformation is a shift


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


def mean_interval(values: Floats, level: float = LEVEL) -> tuple[Floats, Floats, Floats]:
    """Return the mean of independent values of at least 0, and the ends of its interval.

    Like regret, they may be skewed to the right; see `skewed_ends`. Means are along the first axis,
    and the ends are NaN for one value.

    Examples
    --------
    >>> mean, low, high = mean_interval(np.array([1.0, 1.2, 1.5, 9.0]))
    >>> print(f"{mean:.2f} {low:.2f} {high:.2f}")
    3.17 0.00 13.05
    """
    mean, count = values.mean(axis=0), len(values)
    if count < 2:
        return mean, mean * np.nan, mean * np.nan
    away = values - mean
    moments = (away**2).mean(axis=0), (away**3).mean(axis=0)
    error = values.std(axis=0, ddof=1) / np.sqrt(count)
    return mean, *skewed_ends(mean, error, skewness(*moments, count), count, level)


def skewness(second: Floats, third: Floats, count: ArrayLike) -> Floats:
    """Return the sample skewness from central moments; 0 where the sample cannot show one."""
    n = np.asarray(count, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = third / second**1.5 * np.sqrt(n * (n - 1)) / (n - 2)
    return np.where((n > 2) & (second > 0), found, 0.0)


def skewed_ends(
    mean: Floats, error: Floats, skewness: Floats, count: ArrayLike, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Return the ends of an interval of a mean that is at least 0, from a skewed sample.

    Hall's transformation makes Student's statistic symmetric for a known skewness (On the removal
    of skewness by transformation, 1992). That of a small sample is uncertain: it is moved towards
    1, and bounded, so that no end is further away than 1.6 times Student's. No end is below 0. For
    many values it is Student's interval.

    Parameters
    ----------
    mean, error, skewness, count
        Sample mean, its standard error, the sample skewness, and the number of values.
    level
        Probability that the interval covers the true mean.
    """
    n = np.asarray(count, np.float64)
    quantile = student_quantile(n, level)
    moved = (n * skewness + _USUAL_VALUES * _USUAL_SKEWNESS) / (n + _USUAL_VALUES)
    most = _MAX_BEND * np.sqrt(n) / quantile
    bend = np.clip(moved, -most, most) / (3 * np.sqrt(n))
    low = mean - error * _without_skewness(quantile, bend)
    high = mean - error * _without_skewness(-quantile, bend)
    return np.maximum(low, 0.0), np.asarray(high)


def _without_skewness(quantile: Floats, bend: Floats) -> Floats:
    """Return the value of Student's statistic whose transformation is a quantile."""
    shifted = quantile - bend / 2
    straight = np.abs(bend) < _NEARLY_STRAIGHT
    steep = np.where(straight, 1.0, bend)
    return np.where(straight, shifted, (np.cbrt(1 + 3 * steep * shifted) - 1) / steep)


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
