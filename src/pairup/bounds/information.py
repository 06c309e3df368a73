"""Information: how well plays of a couple distinguish its rate from another one.

A couple with rate p, tested against the rate r = p e^z, gives kl(p, r) = p ln(p / r) +
(1 - p) ln((1 - p) / (1 - r)) per play, which is convex in z; for p = 0 it is -ln(1 - r), convex in
ln r. It is infinite where r = 1, because p is below 1 here.
"""

from __future__ import annotations

import numpy as np

from pairup.problem.rates import Floats

_SMALL = 1e-3  # of z / (1 - p): the closed form has lost the digits that the series still has


def information(rate: Floats, other: Floats, shift: Floats) -> Floats:
    """Return kl(rate, other), accurate also where both are nearly the same.

    `rate` is in [0, 1), and `other` in [0, 1] is ``rate * exp(shift)`` where the rate is positive;
    elsewhere `shift` is not read.

    Examples
    --------
    >>> information(np.array([0.5, 0.0]), np.array([0.25, 0.5]), np.log([0.5, 1.0])).round(4)
    array([0.1438, 0.6931])
    """
    left = 1 - rate
    shift = np.where(rate > 0, shift, 1.0)  # so that 0 times it is 0
    with np.errstate(divide="ignore"):
        exact = left * (np.log1p(-rate) - np.log1p(-other)) - rate * shift
    step = shift / left
    small = (rate > 0) & (np.abs(step) < _SMALL)
    step = np.where(small, step, 0.0)
    third, fourth = (1 + rate) / 6, (1 + rate * (4 + rate)) / 24
    fifth = (1 + rate * (11 + rate * (11 + rate))) / 120
    series = rate * left * step**2 * (0.5 + step * (third + step * (fourth + step * fifth)))
    return np.where(small, series, exact)


def slope(rate: Floats, other: Floats, shift: Floats) -> Floats:
    """Return the derivative of the information in z, (other - rate) / (1 - other)."""
    with np.errstate(divide="ignore"):
        return np.where(rate > 0, rate * np.expm1(shift), other) / (1 - other)


def curvature(rate: Floats, other: Floats) -> Floats:
    """Return the second derivative of the information in z, never negative."""
    with np.errstate(divide="ignore"):
        return (1 - rate) * other / (1 - other) ** 2
