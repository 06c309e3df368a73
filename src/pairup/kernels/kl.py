"""The KL-UCB index of a Bernoulli mean: sup {q >= mean : tries * kl(mean, q) <= level}."""

import math

from pairup.kernels.compile import kernel
from pairup.kernels.logarithm import log

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
def upper_start(mean, tries, level):
    """A point at or right of the index: kl(p, q) >= (q - p)^2 / (2 max x(1 - x) over [p, q])."""
    q = min(mean + math.sqrt(level / (2.0 * tries)), 1.0)
    if q < 0.5:
        q = mean + math.sqrt(2.0 * q * (1.0 - q) * level / tries)
    elif mean > 0.5:
        q = min(q, mean + math.sqrt(2.0 * mean * (1.0 - mean) * level / tries))
    return min(q, _NEAR_ONE)


@kernel
def kl_index(mean, tries, level):
    """The index of a couple tried `tries` >= 1 times.

    The divergence is convex in q, so Newton's steps from the right of the root descend to it.
    """
    if mean >= 1.0 or level <= 0.0:
        return mean
    budget = level / tries
    q = upper_start(mean, tries, level)
    for _ in range(60):
        excess = kl(mean, q) - budget
        if excess <= 0.0:
            break
        step = excess * q * (1.0 - q) / (q - mean)
        q -= step
        if step <= 1e-16:
            break
    return max(q, mean)


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
