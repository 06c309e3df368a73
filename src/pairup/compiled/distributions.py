"""Draws from words of a stream: uniform, normal, gamma and beta.

Made of exact operations and our own logarithm alone, so that a draw is the same bit for bit on
every machine. Each draw belongs to a key and an index and to nothing else: draws may be made in any
order, or not at all.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.logarithm import exp, log
from pairup.compiled.randomness import word

_ONE, _UNIFORM_SHIFT = np.uint64(1), np.uint64(12)
_SIGN, _LOW_BITS = np.uint64(1 << 63), np.uint64(2047)
_LARGEST = (1 << 63) - 1
_ATTEMPTS = 64  # each fails once in twenty at worst, so that all fail once in 10**83
# The least constant with exp(h) >= 1 - constant * c**2 * x**4 in `_accepts` is 0.19844, needed at
# shape 1; with h = -g(c x) / c**2 and 1 - exp(-g / c**2) concave in 1 / c**2, less at all others.
SQUEEZE = 0.1985

# The normal quantile is q P(y)/Q(y), q = 1/2 - u, y = u (1 - u), down to u = 1/64, and beyond
# P(w)/Q(w), w = sqrt(-log u) - 3/2: interpolants of the quantile worked out to 60 digits, within
# 2e-16 and 2e-18 of it. All coefficients are positive, so that nothing cancels in their evaluation.
NEAR = 1.0 / 64.0
CENTRAL = (
    (7.273073436692519, 11336.588575320606, 3704199.6016492657, 415647510.31256044),
    (19295846529.059647, 400682968201.6425, 3785766012290.376, 15705896824437.443),
    (25722220224517.066, 12916030839019.887, 894486708997.1229),
    (1.0, 1877.767835020893, 705411.0884379392, 90163664.97245747),
    (4787252100.806577, 115234091317.17754, 1292718360375.368, 6627100722225.659),
    (14390876907409.28, 11107660055682.799, 1943881109488.7007),
)
TAIL = (
    (1.2513729290725424, 4.449946812171059, 6.004203598532829, 4.142144519610687),
    (1.6067834658370785, 0.35387824331122897, 0.04174254698682225, 0.0022715351029760963),
    3.986459162737392e-05,
    (1.0, 2.170253009901465, 1.9036845475886246, 0.8631446959919685),
    (0.21284408342037608, 0.027256431059668556, 0.0015640781262990012, 2.818793257889595e-05),
)


@kernel
def uniform(bits):
    """A number in (0, 1), an odd multiple of 2**-53, from the upper 52 bits of a word."""
    return (np.float64(np.int64(bits >> _UNIFORM_SHIFT)) + 0.5) * 2.0**-52


@kernel
def normal(bits):
    """The quantile of the standard normal distribution at (bits + 1/2) / 2**64.

    Increasing in `bits`, and odd: the complement of a word gives the opposite number. The farthest
    are 9.2 from the middle.
    """
    x = _near(bits)
    return x if x == x else _far(bits)


@kernel
def fill_normal(key, out):
    """Fill `out` with the normals of words 0, 1, ... of the stream: cheaper than one by one.

    The first loop has no branch, so that it is compiled to vector instructions.
    """
    for x in range(len(out)):
        out[x] = _near(word(key, x))
    for x in range(len(out)):
        if out[x] != out[x]:
            out[x] = _far(word(key, x))


@kernel
def _near(bits):
    """`normal` where it is not in the tails, which are NaN."""
    signed, steps = _folded(bits)
    q = (np.float64(steps) + 0.5) * 2.0**-64
    u = _upper_tail(steps)
    x = q * _central(u * (1.0 - u))
    return math.copysign(x if u >= NEAR else np.nan, np.float64(signed))


@kernel
def _far(bits):
    """`normal` in the tails."""
    signed, steps = _folded(bits)
    return math.copysign(_tail(_upper_tail(steps)), np.float64(signed))


@kernel
def _folded(bits):
    """The place of a word from the middle, and how many whole steps of 2**-64 that is."""
    signed = np.int64(bits ^ _SIGN)
    return signed, signed ^ (signed >> 63)


@kernel
def _upper_tail(steps):
    """1/2 less the steps and a half, to its own last bit."""
    return (np.float64(_LARGEST - steps) + 0.5) * 2.0**-64


@kernel
def _central(y):
    y2 = y * y
    y4 = y2 * y2
    p = _cubic(CENTRAL[0], y, y2) + _cubic(CENTRAL[1], y, y2) * y4
    q = _cubic(CENTRAL[3], y, y2) + _cubic(CENTRAL[4], y, y2) * y4
    y8 = y4 * y4
    p += _square(CENTRAL[2], y, y2) * y8
    q += _square(CENTRAL[5], y, y2) * y8
    return p / q


@kernel
def _tail(u):
    w = math.sqrt(-log(u)) - 1.5
    w2 = w * w
    w4 = w2 * w2
    p = _cubic(TAIL[0], w, w2) + _cubic(TAIL[1], w, w2) * w4 + TAIL[2] * (w4 * w4)
    q = _cubic(TAIL[3], w, w2) + _cubic(TAIL[4], w, w2) * w4
    return p / q


@kernel
def _cubic(c, y, y2):
    return (c[0] + c[1] * y) + (c[2] + c[3] * y) * y2


@kernel
def _square(c, y, y2):
    return (c[0] + c[1] * y) + c[2] * y2


@kernel
def beta(key, index, a, b):
    """The draw at `index` of a stream of Beta(a, b) draws."""
    bits_x, bits_y = _words_of_beta(key, index)
    if a < 1.0 or b < 1.0:
        return _beta_of_small_shape(bits_x, bits_y, a, b)
    x, y = _gamma(bits_x, a), _gamma(bits_y, b)
    return x / (x + y)


@kernel
def fill_beta(key, a, b, out):
    """Fill `out` with Beta(a, b) draws 0, 1, ... of the stream: cheaper than one by one.

    The first loop has no branch, so that it is compiled to vector instructions.
    """
    for k in range(len(out)):
        bits_x, bits_y = _words_of_beta(key, k)
        x, y = _easy_gamma(bits_x, a[k]), _easy_gamma(bits_y, b[k])
        out[k] = x / (x + y)
    for k in range(len(out)):
        if out[k] != out[k]:
            out[k] = beta(key, k, a[k], b[k])


@outlined
def _beta_of_small_shape(bits_x, bits_y, a, b):
    """A Beta(a, b) draw of which a or b is below 1: by logarithms, since both gammas may vanish."""
    return 1.0 / (1.0 + exp(_log_gamma_draw(bits_y, b) - _log_gamma_draw(bits_x, a)))


@kernel
def _log_gamma_draw(bits, shape):
    """The logarithm of a gamma draw. One of shape + 1 times u**(1 / shape) has a small shape."""
    if shape >= 1.0:
        return log(_gamma(bits, shape))
    return log(_gamma(bits, shape + 1.0)) + log(uniform(word(bits, 2))) / shape


@kernel
def _words_of_beta(key, index):
    first = np.uint64(index) << _ONE
    return word(key, first), word(key, first | _ONE)


@kernel
def _gamma(bits, shape):
    """A gamma draw from a word, by the rejection of Marsaglia and Tsang.

    The cube of a normal, stretched, is almost a gamma draw. If it is rejected, the word is the key
    of the next attempt's.
    """
    d = shape - 1.0 / 3.0
    c = 1.0 / (3.0 * math.sqrt(d))
    for _ in range(_ATTEMPTS):
        x = normal(bits)
        root = 1.0 + c * x
        v = root * root * root
        if _surely_accepts(bits, x, c) or (root > 0.0 and _accepts(bits, x, d, v)):
            return d * v
        bits = word(bits, 0)
    return d


@kernel
def _easy_gamma(bits, shape):
    """As `_gamma`, but NaN for shapes below 1, or where that needs more than one normal."""
    d = shape - 1.0 / 3.0
    c = 1.0 / (3.0 * math.sqrt(d))
    x = _near(bits)
    root = 1.0 + c * x
    easy = _surely_accepts(bits, x, c) & (shape >= 1.0)
    return d * (root * root * root) if easy else np.nan


@kernel
def _surely_accepts(bits, x, c):
    """Whether `_accepts`, by a bound and by the first bits of u alone.

    The lowest bits of the word move the normal by less than its rounding: they are the first of u.
    The bound is below 0 where the cubic root would be negative.
    """
    x2 = x * x
    return _first_bits(bits) + 1.0 <= 2048.0 * (1.0 - SQUEEZE * (c * c) * (x2 * x2))


@kernel
def _accepts(bits, x, d, v):
    """Whether a uniform u lies below exp(x^2/2 + d (1 - v + log v))."""
    u = (_first_bits(bits) + uniform(word(bits, 1))) / 2048.0
    return log(u) < 0.5 * (x * x) + d * (1.0 - v + log(v))


@kernel
def _first_bits(bits):
    return np.float64(np.int64(bits & _LOW_BITS))
