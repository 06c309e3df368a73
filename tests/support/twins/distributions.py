"""Slow, obvious twins of the draws: the same operations in the same order, in plain Python.

Words are those of `streams`. A draw is determined to its last bit by these rules:

Polynomials
    By Estrin's scheme: neighbouring coefficients a, b become a + b x, then those neighbours with
    x^2 in place of x, then with x^4, until one is left; an odd last one is carried over.
Normal
    The quantile at (bits + 1/2) / 2**64, by the formulas and coefficients that the kernel states.
Gamma
    Attempt 0 of draw number `index` has the word at `index` of the key's stream, each further
    attempt word 0 of the stream whose key is the word of the attempt before. The uniform number of
    an attempt has the lowest 11 bits of its word before the binary digits of word 1 of the stream
    whose key is its word.
Beta
    Draw number `index` is X / (X + Y), X and Y gamma draws 2 `index` and 2 `index` + 1. If a shape
    is below 1, a draw of shape + 1 times u**(1 / shape) is the gamma draw, u the uniform number at
    2 of the stream whose key is the word of its first attempt.
"""

import math

from pairup.compiled.distributions import CENTRAL, TAIL
from tests.support.twins.streams import word


def estrin(coefficients, x):
    terms = list(coefficients)
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [a + b * x for a, b in zip(terms[::2], terms[1::2], strict=False)] + odd
        x = x * x
    return terms[0]


def log(x):
    """2 atanh((m - 1) / (m + 1)) + exponent * log 2, with x = m * 2**exponent."""
    m, exponent = math.frexp(x)
    if m < math.sqrt(0.5):
        m, exponent = 2 * m, exponent - 1
    f = m - 1
    s = f / (2 + f)
    tail = s * (s * s) * estrin([2 / odd for odd in range(3, 25, 2)], s * s)
    high, low = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
    return exponent * high + (f - (s * f - (tail + exponent * low)))


def uniform(bits):
    return ((bits >> 12) + 0.5) / 2**52


def normal(bits):
    if bits < 2**63:
        return -normal(2**64 - 1 - bits)
    q = (float(bits - 2**63) + 0.5) / 2**64
    u = (float(2**64 - 1 - bits) + 0.5) / 2**64
    if u >= 1 / 64:
        p, r = CENTRAL[0] + CENTRAL[1] + CENTRAL[2], CENTRAL[3] + CENTRAL[4] + CENTRAL[5]
        y = u * (1 - u)
        return q * (estrin(p, y) / estrin(r, y))
    p, r = (*TAIL[0], *TAIL[1], TAIL[2]), TAIL[3] + TAIL[4]
    w = math.sqrt(-log(u)) - 1.5
    return estrin(p, w) / estrin(r, w)


def gamma(key, index, shape):
    """Marsaglia and Tsang (2000), without a squeeze."""
    bits = word(key, index)
    d = shape - 1 / 3
    c = 1 / (3 * math.sqrt(d))
    while True:
        x = normal(bits)
        root = 1 + c * x
        v = root * root * root
        u = (bits % 2048 + uniform(word(bits, 1))) / 2048
        if root > 0 and log(u) < 0.5 * (x * x) + d * (1 - v + log(v)):
            return d * v
        bits = word(bits, 0)


def beta(key, index, a, b):
    if min(a, b) < 1:
        x, y = log_gamma_draw(key, 2 * index, a), log_gamma_draw(key, 2 * index + 1, b)
        return 1 / (1 + math.exp(min(y - x, 700)))
    x, y = gamma(key, 2 * index, a), gamma(key, 2 * index + 1, b)
    return x / (x + y)


def log_gamma_draw(key, index, shape):
    if shape >= 1:
        return math.log(gamma(key, index, shape))
    u = uniform(word(word(key, index), 2))
    return math.log(gamma(key, index, shape + 1)) + math.log(u) / shape
