"""The natural logarithm and what is made with it, from exact operations alone.

Libraries round `log` differently, and one differing last bit turns a tie the other way. These
functions use only operations that IEEE 754 rounds exactly, so a run repeats bit for bit on every
machine, processor or GPU.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel

_ROOT_HALF = math.sqrt(0.5)
# ln 2 in two parts: the first has trailing zeros, so that `exponent * _LN2_HIGH` is exact.
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
# ln m = 2 atanh s with s = (m - 1)/(m + 1), |s| < 0.1716: twelve terms reach the last bit.
_T1, _T2, _T3, _T4 = 2 / 3, 2 / 5, 2 / 7, 2 / 9
_T5, _T6, _T7, _T8 = 2 / 11, 2 / 13, 2 / 15, 2 / 17
_T9, _T10, _T11 = 2 / 19, 2 / 21, 2 / 23
_MAX_EXPONENT = 700.0  # beyond it `exp` stays where it is there: above 0, and finite
_FACTORIALS = tuple(1.0 / math.factorial(n) for n in range(14))
_ENOUGH = 8.0  # from here on Stirling's series below has twelve digits
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)
_S1, _S3, _S5, _S7, _S9 = 1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188


@kernel
def log(x):
    """ln x for finite x > 0, within two units in the last place."""
    m, exponent = math.frexp(x)
    if m < _ROOT_HALF:
        m, exponent = 2.0 * m, exponent - 1
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    z2 = z * z
    z4 = z2 * z2
    # Pairs and pairs of pairs (Estrin): a third of the latency of one long chain.
    low = (_T1 + _T2 * z) + (_T3 + _T4 * z) * z2
    mid = (_T5 + _T6 * z) + (_T7 + _T8 * z) * z2
    high = (_T9 + _T10 * z) + _T11 * z2
    tail = s * z * (low + mid * z4 + high * (z4 * z4))
    # f - s*f equals 2s, but keeps the bits that rounding 2s would lose.
    return exponent * _LN2_HIGH + (f - (s * f - (tail + exponent * _LN2_LOW)))


@kernel
def exp(x):
    """e**x, within a few units in the last place."""
    x = min(max(x, -_MAX_EXPONENT), _MAX_EXPONENT)
    doublings = math.floor(x * (1.0 / (_LN2_HIGH + _LN2_LOW)) + 0.5)
    r = (x - doublings * _LN2_HIGH) - doublings * _LN2_LOW
    total = _FACTORIALS[13]
    for n in range(12, -1, -1):
        total = total * r + _FACTORIALS[n]
    return math.ldexp(total, np.int32(doublings))  # type: ignore[arg-type] # as on a GPU


@kernel
def log_gamma(x):
    """ln Gamma(x) for x > 0, by Stirling's series after steps up to where it holds."""
    product = 1.0
    while x < _ENOUGH:
        product *= x
        x += 1.0
    z = 1.0 / x
    z2 = z * z
    series = z * (_S1 + z2 * (_S3 + z2 * (_S5 + z2 * (_S7 + z2 * _S9))))
    return ((x - 0.5) * log(x) - x) + (_HALF_LOG_TAU + series) - log(product)
