"""Stateless random numbers: the word at any index of a stream, without the words before it.

A stream is SplitMix64 started at `key`; its word number `index` is a hash of a Weyl sequence.
Keys of streams are words themselves, so seeds, replications and purposes fold into one key:
`word(word(word(0, seed), replication), purpose)`.
"""

import numpy as np

from pairup.compiled.kernels import kernel

ACCEPTANCES, LABELS, POLICY = 0, 1, 2  # purposes of a replication's streams

WEYL = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_2 = np.uint64(0x94D049BB133111EB)
_ONE, _SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(1), np.uint64(30), np.uint64(27), np.uint64(31)
_MANTISSA_SHIFT = np.uint64(11)
MANTISSA = 2.0**53


@kernel
def word(key, index):
    """The 64-bit word at `index` of the stream that starts at `key`."""
    return mixed(np.uint64(key) + WEYL * (np.uint64(index) + _ONE))


@kernel
def mixed(x):
    """The word at step `x` of the Weyl sequence; the next word is that of `x + WEYL`."""
    x = (x ^ (x >> _SHIFT_1)) * _MULTIPLY_1
    x = (x ^ (x >> _SHIFT_2)) * _MULTIPLY_2
    return x ^ (x >> _SHIFT_3)


@kernel
def mantissa(bits):
    """The upper 53 bits of a word: compared with `rate * 2**53` they accept with that rate."""
    return bits >> _MANTISSA_SHIFT


@kernel
def below(bits, bound):
    """An integer in [0, bound) from a word, by multiplying its upper 32 bits."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@kernel
def stream_key(seed, replication, purpose):
    """The key of one of a replication's streams."""
    return word(word(word(np.uint64(0), seed), replication), purpose)


@kernel
def shuffle(key, values):
    """Shuffle `values` in place (Fisher-Yates) by the stream of `key`."""
    for last in range(len(values) - 1, 0, -1):
        other = below(word(key, last), last + 1)
        values[last], values[other] = values[other], values[last]
