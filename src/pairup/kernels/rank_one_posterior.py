"""Moves of a Markov chain on the posterior of all rates together.

With a Beta(a, b) prior the posterior density of the rates is proportional to

    product over i of rate_i^(a - 1 + accepted_i) (1 - rate_i)^(b - 1 + declined_i)
    times product over i < j of (1 - rate_i rate_j)^missed_ij
    times product over i and k of (1 - rate_i frozen_k)^frozen_missed_ik,

the last factor for outcomes with players who left, whose rates are taken as known. A chain of
Metropolis moves has exactly this distribution in the long run. A move multiplies rates by a factor.
In logarithms of rates the posterior is log-concave (where b is at least 1), and what is badly known
is a straight line: two players who always meet each other show only their product, and one up and
the other down by the same factor explains their games as well. Such a step is a move of its own,
without which the chain would crawl.

The state is that of `pairup.kernels.rank_one_thompson`. All that was observed is counted in units
of the weight that a new outcome has; see `fade` there.
"""

import math

import numpy as np

from pairup.kernels.rank_one_couples import at, partner, place, row_length, row_start, row_sum
from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.logarithm import log
from pairup.kernels.runtime.randomness import MANTISSA, mantissa, word
from pairup.kernels.state_layout import FADED, OUTCOMES, PRIOR_A, PRIOR_B

FROZEN_RATES = 16  # an even grid

_REFIT = 1.1  # the reach of moves is fitted again when this many times more is known
_REACH = 4.3  # makes a move of about 2.4 standard deviations, the best in one dimension
_MIN_RATE = 1e-30
_TAME = 0.1  # up to here the series below reaches the last bit
_WILD = 0.4  # ... and up to here the seventh digit
_CANCELLED = 1e-6  # with less than this left of 2, too few digits are left for that
_ROUGHNESS = 2e-6  # at least ten times what is off then, or after four operations with float32
_ROUNDING = 1e-12  # more than the sums are off
_T1, _T2, _T3, _T4, _T5, _T6, _T7 = 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15


@kernel
def refresh(state, i):
    """Two moves of the chain: of player i alone, and against its usual partner."""
    if state.met[i] > state.fitted[i]:
        _fit_reach(state, i)
    usual = state.usual[i]
    for turn in range(1 + (usual >= 0)):  # one place for both, because all of it is inlined there
        _move(state, i, slot(usual) if turn else i)


@kernel
def frozen_rate(k):
    """The rate that stands for all players who left with a rate in the k-th part of the grid."""
    return (k + 0.5) / FROZEN_RATES


@kernel
def _fit_reach(state, i):
    """Fit the reach of player i's moves to its Fisher information at the means.

    A move that depended on the rates themselves would have to be corrected for that; the means
    hardly change.
    """
    own = _information(state, i)
    state.reach[i] = _reach(own)
    if state.usual[i] >= 0:
        j = slot(state.usual[i])
        shared = state.mean[i] * state.mean[j]
        tries = state.couples.tries[at(state.couples, i, place(state.couples, i, j))]
        between = _recency(state, i) * tries * shared / (1.0 - shared)
        state.couple_reach[i] = _reach(own + _information(state, j) - 2.0 * between)
    state.fitted[i] = _REFIT * state.met[i]


@kernel
def _reach(information):
    return 1.0 / math.sqrt(1.0 + (1.0 + max(information, 0.0)) / _REACH)


@kernel
def recency(state, i):
    """What an outcome of player i weighs on average, with those who have not left."""
    if state.now[FADED] == 0:
        return 1.0
    couples, total = state.couples, 0
    for x in range(row_length(couples, i)):
        total += couples.tries[at(couples, i, x)]
    return max(state.met[i] - state.gone[i], 0.0) / max(total, 1)


@kernel
def _recency(state, i):
    """The same in outcomes of today."""
    return recency(state, i) * state.figures[OUTCOMES]


@kernel
def _information(state, i):
    """Fisher information on the logarithm of player i's rate, at the means."""
    couples, rate, outcomes = state.couples, state.mean[i], state.figures[OUTCOMES]
    recent, total = _recency(state, i), state.declined[i] * outcomes * rate
    for x in range(row_length(couples, i)):
        shared = rate * state.mean[partner(couples, i, x)]
        total += recent * couples.tries[at(couples, i, x)] * shared / (1.0 - shared)
    if state.gone[i] > 0.0:
        total += _frozen_information(state, i) * outcomes
    return total


@kernel
def _frozen_information(state, i):
    """The same of outcomes with players who left.

    Those that were missed tell how many there were at each frozen rate. The rest is taken as
    answers of player i alone.
    """
    rate, total, known = state.mean[i], 0.0, 0.0
    for k in range(FROZEN_RATES):
        shared = rate * frozen_rate(k)
        tries = state.frozen_missed[i, k] / (1.0 - shared)
        total += tries * shared / (1.0 - shared)
        known += tries
    return total + max(state.gone[i] - known, 0.0) * rate / (1.0 - rate)


@kernel
def _move(state, i, j):
    """A Metropolis move of player i's rate, and of j's the other way; of i alone if j is i."""
    rates, moved, couples = state.rates, state.moved, state.couples
    reach = state.reach[i] if i == j else state.couple_reach[i]
    shift, luck = reach * (2.0 * _uniform(state) - 1.0), _uniform(state)
    factor = (1.0 + shift) / (1.0 - shift)
    up, down = rates[i] * factor, rates[j] / factor
    if not (_MIN_RATE < up < 1.0 and (i == j or _MIN_RATE < down < 1.0)):
        return
    here, there, missed = np.uint64(0), np.uint64(0), 0.0
    if i == j:
        # The logarithm of a rate has its own rate as density if the rate is uniform: a, not a - 1.
        accepted = state.accepted[i] * state.figures[OUTCOMES] + state.figures[PRIOR_A]
    else:
        accepted = (state.accepted[i] - state.accepted[j]) * state.figures[OUTCOMES]
        here, there = at(couples, i, place(couples, i, j)), at(couples, j, place(couples, j, i))
        missed = couples.missed[here]
        couples.missed[here] = couples.missed[there] = 0.0  # their product stays as it is
        moved[j] = down
    moved[i] = up
    if _accepts(state, i, j, accepted * _log_factor(shift), luck):
        rates[i], rates[j] = moved[i], moved[j]
    moved[i], moved[j] = rates[i], rates[j]
    if i != j:
        couples.missed[here] = couples.missed[there] = missed


@kernel
def _accepts(state, i, j, won, luck):
    """Whether to accept a move that gains `won` from what was accepted."""
    for exact in range(2):
        missed, error, size = 0.0, 0.0, 0.0
        for turn in range(1 + (i != j)):
            gain, off = _gain(state, j if turn else i, exact)
            missed, error, size = missed + gain, error + off, size + abs(gain)
        gain = won + missed
        if error > 0.0:
            error += _ROUNDING * (1.0 + abs(won) + size)
        if gain >= error:
            return True
        least = log(luck)
        if least < gain - error:
            return True
        if not least < gain + error:
            break
    return False


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
def _gain(state, i, exact):
    """Log-likelihood that a move gains in what was missed, by player i and in its couples.

    Also returns a bound on the error, which is 0 if `exact`: most moves that are expensive to value
    are clear-cut.
    """
    couples, rate, moved = state.couples, state.rates[i], state.moved[i]
    start, length = row_start(couples, i), row_length(couples, i)
    missed, terms = couples.missed[start : start + length], state.terms
    for x in range(length):  # first all, so that a GPU waits for its memory once
        terms[x] = missed[x]
    wild, fierce, error = False, False, 0.0
    for x in range(length):
        j = partner(couples, i, x)
        before, after = rate * state.rates[j], moved * state.moved[j]
        # ln((1 - after) / (1 - before)) = 2 atanh s
        rest = 2.0 - before - after
        s = (before - after) / rest
        wild |= (abs(s) > _TAME) & (terms[x] > 0.0)
        fierce |= ((abs(s) > _WILD) | (rest < _CANCELLED)) & (terms[x] > 0.0)
        terms[x] *= _series(s)
    if wild and exact:
        _exact_terms(state, i)
    elif wild and fierce:
        error = _rough_terms(state, i) * state.figures[OUTCOMES]
    elif wild:
        error = _ROUGHNESS * state.unsure[i] * state.figures[OUTCOMES]
    total = row_sum(couples, i, terms)
    if state.gone[i] > 0.0:
        total += _frozen_gain(state, i)
    total *= state.figures[OUTCOMES]
    declined = state.declined[i] * state.figures[OUTCOMES] + (state.figures[PRIOR_B] - 1.0)
    if declined != 0.0:
        total += declined * log((1.0 - moved) / (1.0 - rate))
    return total, error


@kernel
def _rough_terms(state, i):
    """Write the terms of `_gain` for a move of any size, in single precision; bounds the error."""
    couples, rate, moved, size = state.couples, state.rates[i], state.moved[i], 0.0
    for x in range(row_length(couples, i)):
        missed = couples.missed[at(couples, i, x)]
        if missed > 0.0:
            j = partner(couples, i, x)
            after = np.float32(1.0 - moved * state.moved[j])
            before = np.float32(1.0 - rate * state.rates[j])
            term = missed * np.float64(math.log(after / before))
            state.terms[x] = term
            size += missed + abs(term)
    return _ROUGHNESS * size


@kernel
def _exact_terms(state, i):
    """Write the terms of `_gain` for a move of any size."""
    couples, rate, moved = state.couples, state.rates[i], state.moved[i]
    for x in range(row_length(couples, i)):
        missed = couples.missed[at(couples, i, x)]
        if missed > 0.0:
            j = partner(couples, i, x)
            ratio = (1.0 - moved * state.moved[j]) / (1.0 - rate * state.rates[j])
            state.terms[x] = missed * log(ratio)


@kernel
def _frozen_gain(state, i):
    """The part of `_gain` in outcomes with players who left."""
    rate, moved, total = state.rates[i], state.moved[i], 0.0
    for k in range(FROZEN_RATES):
        missed = state.frozen_missed[i, k]
        if missed > 0.0:
            frozen = frozen_rate(k)
            total += missed * log((1.0 - moved * frozen) / (1.0 - rate * frozen))
    return total
