"""The KL-UCB index of a Bernoulli mean: sup {q >= mean : tries * kl(mean, q) <= level}."""

import math

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.logarithm import log

_NEAR_ONE = 1.0 - 2.0**-53


@kernel
def kl(p, q):
    """Divergence of Bernoulli(p) from Bernoulli(q), 0 <= p <= q < 1."""
    divergence = (1.0 - p) * log((1.0 - p) / (1.0 - q))
    if p > 0.0:
        divergence += p * log(p / q)
    return divergence


@kernel
def exploration_level(clock):
    """log t + 3 log log t, clamped to be positive for small t."""
    first = log(float(clock))
    return max(first + 3.0 * log(first), 0.0) if clock > 2 else 0.0


@kernel
def _start(mean, budget):
    """A point near the index: the root of the divergence's expansion, if it is near a parabola."""
    spread = mean * (1.0 - mean)
    radius = math.sqrt(2.0 * spread * budget)
    if radius < spread:
        return mean + radius * (1.0 + (1.0 - 2.0 * mean) * radius / (6.0 * spread))
    return mean + (1.0 - mean) * min(budget, 0.5)


@outlined  # a call is cheap against what it does, and many places would inline it
def kl_index(mean, tries, level):
    """The index of a couple tried `tries` >= 1 times, by Newton's method.

    The divergence is convex in q: from left of the root a step ends right of it, and from there
    the steps descend. Towards its pole at 1 a step covers at most fifteen sixteenths of the way.
    """
    if mean >= 1.0 or level <= 0.0:
        return mean
    budget = level / tries
    q = _start(mean, budget)
    for _ in range(60):
        step = (kl(mean, q) - budget) * q * (1.0 - q) / (q - mean)
        q = min(q - step, 1.0 - 0.0625 * (1.0 - q))
        # Each step squares the relative error, so the next one would be lost in rounding.
        if q >= _NEAR_ONE or abs(step) <= 1e-7 * min(q - mean, 1.0 - q):
            break
    return min(max(q, mean), _NEAR_ONE)


@kernel
def slope_at(mean, tries, q):
    """The derivative of the index by the level, at index `q`.

    The index is concave in the level: its tangent at any level bounds it at every other.
    """
    return q * (1.0 - q) / (tries * (q - mean)) if q > mean else 0.0


@kernel
def lower_bound(mean, rad, level):
    """A point at or left of the index, without a logarithm; `rad` is 1 / sqrt(tries).

    kl(p, q) <= (q - p)^2 / (2 min x(1 - x) over [p, q]).
    """
    q = min(mean + math.sqrt(0.5 * level) * rad, 1.0)
    spread = min(mean * (1.0 - mean), q * (1.0 - q))
    return mean + math.sqrt(2.0 * level * spread) * rad
