"""How far ESCB trusts its means: the factor s of sqrt(B) in the index A + s sqrt(B).

Plain ESCB has s^2 = f / 2 with f = log t, as its authors take it in practice. OLS-UCB (Degenne and
Perchet, 2016) proves its bound with more: for d couples with independent outcomes, whose variance
is at most 1/4, s^2 = (1 + l) f / 2 with

    f = log t + (d + 2) log log t + d / 2 log(1 + e / l),

which holds for every l > 0; as in public code, l is 1.
"""

import math

from pairup.kernels.runtime.compilation import kernel
from pairup.kernels.runtime.logarithm import log

_SLACK = 1.0  # l
_PER_COUPLE = 0.5 * math.log(1.0 + math.e / _SLACK)
_FIRST_ROUND = 3  # log log t is positive from here on


@kernel
def bonus_scale(by_least_squares, couples, clock):
    """The factor s in proposal number `clock`; never 0, for we divide by it, and never falling."""
    if by_least_squares == 0:
        return math.sqrt(0.5 * log(float(max(clock, 2))))
    level = log(float(max(clock, _FIRST_ROUND)))
    level += (couples + 2) * log(level) + couples * _PER_COUPLE
    return math.sqrt(0.5 * (1.0 + _SLACK) * level)
