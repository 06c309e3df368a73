"""Slow, obvious twins of the random streams, in plain Python.

`word(key, index)` is output number `index` of SplitMix64 seeded with `key`. A stream's key is
`word(word(word(0, seed), replication), purpose)`, purpose 0 for acceptances, 1 for labels and 2 for
the policy's own draws. Twins share no code with compiled steps.
"""

from functools import lru_cache

ACCEPTANCES, LABELS, POLICY = 0, 1, 2


@lru_cache(maxsize=4096)
def word(key, index):
    """SplitMix64: step `index` + 1 of a Weyl sequence from `key`, mixed."""
    x = (key + 0x9E3779B97F4A7C15 * (index + 1)) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def stream_key(seed, replication, purpose):
    return word(word(word(0, seed), replication), purpose)


def shuffled(key, values):
    """Fisher-Yates from the last place down; place x draws from the upper half of word x."""
    values = list(values)
    for last in reversed(range(1, len(values))):
        other = (word(key, last) >> 32) * (last + 1) >> 32
        values[last], values[other] = values[other], values[last]
    return values
