"""Slow, obvious twins of the optimistic indices, in plain Python."""

import math
from functools import lru_cache


def kl(p, q):
    """Divergence of Bernoulli(p) from Bernoulli(q), 0 < q < 1."""
    accepted = p * math.log(p / q) if p > 0 else 0.0
    declined = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return accepted + declined


@lru_cache(maxsize=4096)
def kl_index(mean, tries, level):
    """The largest q in [mean, 1] with tries * kl(mean, q) <= level, by bisection."""
    if level <= 0:
        return mean
    low, high = mean, 1.0
    while low < (middle := (low + high) / 2) < high:
        if tries * kl(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def exploration_level(clock):
    """log t + 3 log log t; the second logarithm is worse than nothing up to t = 2."""
    return max(math.log(clock) + 3 * math.log(math.log(clock)), 0.0) if clock > 2 else 0.0


def ucb_index(mean, tries, clock):
    return mean + math.sqrt(2 * math.log(clock) / tries)
