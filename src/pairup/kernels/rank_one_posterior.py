"""Moves of a Markov chain on the posterior of all rates together.

With a uniform prior the posterior density of the rates is proportional to

    product over i of rate_i^accepted_i (1 - rate_i)^declined_i
    times product over i < j of (1 - rate_i rate_j)^missed_ij,

and a chain of Metropolis moves has exactly this distribution in the long run. A move multiplies
rates by a factor. In logarithms of rates the posterior is log-concave, and what is badly known is
a straight line: two players who always meet each other show only their product, and one up and the
other down by the same factor explains their games as well. Such a step is a move of its own,
without which the chain would crawl.

The state is that of `pairup.kernels.rank_one_thompson`.
"""

import math

import numpy as np

from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.logarithm import log
from pairup.kernels.runtime.randomness import MANTISSA, mantissa, word
from pairup.kernels.state_layout import USED

LANES = 4  # sums over couples are four sums side by side, so rows are a multiple of it long

_REFIT = 1.1  # the reach of moves is fitted again when this many times more is known
_REACH = 4.3  # makes a move of about 2.4 standard deviations, the best in one dimension
_MIN_RATE = 1e-30
_TAME = 0.1  # up to here the series below reaches the last bit
_T1, _T2, _T3, _T4, _T5, _T6, _T7 = 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15


@kernel
def refresh(state, i):
    """Two moves of the chain: of player i alone, and against its usual partner."""
    if state.met[i] > state.fitted[i]:
        _fit_reach(state, i)
    _move_player(state, i)
    if state.usual[i] >= 0:
        _move_couple(state, i, slot(state.usual[i]))


@kernel
def _fit_reach(state, i):
    """Fit the reach of player i's moves to its Fisher information at the means.

    A move that depended on the rates themselves would have to be corrected for that; the means
    hardly change.
    """
    j = slot(state.usual[i])
    own = _information(state, i)
    shared = state.mean[i] * state.mean[j]
    between = state.tries[i, j] * shared / (1.0 - shared)
    state.reach[i] = _reach(own)
    state.couple_reach[i] = _reach(own + _information(state, j) - 2.0 * between)
    state.fitted[i] = _REFIT * state.met[i]


@kernel
def _reach(information):
    return 1.0 / math.sqrt(1.0 + (1.0 + information) / _REACH)


@kernel
def _information(state, i):
    """Fisher information on the logarithm of player i's rate, at the means."""
    rate = state.mean[i]
    total = state.declined[i] * rate
    for j in range(state.now[USED]):
        shared = rate * state.mean[j]
        total += state.tries[i, j] * shared / (1.0 - shared)
    return total


@kernel
def _move_player(state, i):
    """A Metropolis move of one rate."""
    shift, luck = state.reach[i] * (2.0 * _uniform(state) - 1.0), _uniform(state)
    rate = state.rates[i] * ((1.0 + shift) / (1.0 - shift))
    if not _MIN_RATE < rate < 1.0:
        return
    state.moved[i] = rate
    # The logarithm of a rate that is uniform has its own rate as density: hence one more.
    gain = (state.accepted[i] + 1.0) * _log_factor(shift) + _gain(state, i)
    if gain >= 0.0 or log(luck) < gain:
        state.rates[i] = rate
    state.moved[i] = state.rates[i]


@kernel
def _move_couple(state, i, j):
    """A Metropolis move of two rates that leaves their product as it is."""
    shift, luck = state.couple_reach[i] * (2.0 * _uniform(state) - 1.0), _uniform(state)
    factor = (1.0 + shift) / (1.0 - shift)
    up, down = state.rates[i] * factor, state.rates[j] / factor
    if not (_MIN_RATE < up < 1.0 and _MIN_RATE < down < 1.0):
        return
    state.moved[i], state.moved[j] = up, down
    missed = state.missed[i, j]
    state.missed[i, j] = state.missed[j, i] = 0  # their own couple does not count in this
    gain = (state.accepted[i] - state.accepted[j]) * _log_factor(shift)
    gain += _gain(state, i) + _gain(state, j)
    state.missed[i, j] = state.missed[j, i] = missed
    if gain >= 0.0 or log(luck) < gain:
        state.rates[i], state.rates[j] = up, down
    state.moved[i], state.moved[j] = state.rates[i], state.rates[j]


@kernel
def _uniform(state):
    """The next draw in (0, 1)."""
    bits = word(state.key[1], state.draws[0])
    state.draws[0] += 1
    return (np.float64(mantissa(bits)) + 0.5) / MANTISSA


@kernel
def _log_factor(shift):
    """ln((1 + shift) / (1 - shift))."""
    return _series(shift) if abs(shift) < _TAME else log((1.0 + shift) / (1.0 - shift))


@kernel
def _series(s):
    """2 atanh s, for |s| up to _TAME; without a branch, so that lanes go side by side."""
    z = s * s
    z2 = z * z
    low = (2.0 + _T1 * z) + (_T2 + _T3 * z) * z2
    high = (_T4 + _T5 * z) + (_T6 + _T7 * z) * z2
    return s * (low + high * (z2 * z2))


@kernel
def _gain(state, i):
    """Log-likelihood that a move gains in what was missed, by player i and in its couples."""
    rate, moved = state.rates[i], state.moved[i]
    missed, terms, wild = state.missed[i], state.terms, False
    for j in range(state.now[USED]):
        before, after = rate * state.rates[j], moved * state.moved[j]
        # ln((1 - after) / (1 - before)) = 2 atanh s
        s = (before - after) / (2.0 - before - after)
        terms[j] = missed[j] * _series(s)
        wild |= (abs(s) > _TAME) & (missed[j] > 0)
    if wild:
        _exact_terms(state, i)
    total = _sum(terms, state.now[USED])
    if state.declined[i] > 0.0:
        total += state.declined[i] * log((1.0 - moved) / (1.0 - rate))
    return total


@kernel
def _exact_terms(state, i):
    """Write the terms of `_gain` for a move of any size."""
    rate, moved = state.rates[i], state.moved[i]
    for j in range(state.now[USED]):
        if state.missed[i, j] > 0:
            ratio = (1.0 - moved * state.moved[j]) / (1.0 - rate * state.rates[j])
            state.terms[j] = state.missed[i, j] * log(ratio)


@kernel
def _sum(terms, count):
    a = b = c = d = 0.0
    for j in range(0, count, LANES):
        a += terms[j]
        b += terms[j + 1]
        c += terms[j + 2]
        d += terms[j + 3]
    return (a + b) + (c + d)
