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

The state is that of `pairup.policies.rank_one.steps`. All that was observed is counted in units
of the weight that a new outcome has; see `fade` there.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, slot
from pairup.compiled.logarithm import log
from pairup.compiled.randomness import MANTISSA, mantissa, word
from pairup.policies.rank_one.couple_layouts import (
    LANES,
    at,
    partner,
    place,
    row_length,
    row_start,
    row_sum,
)
from pairup.policies.rank_one.state import FADED, FROZEN_RATES, OUTCOMES, PRIOR_A, PRIOR_B

_REFIT = 1.1  # the reach of moves is fitted again when this many times more is known
_REACH = 4.3  # makes a move of about 2.4 standard deviations, the best in one dimension
_MIN_RATE = 1e-30
_MAX_SERIES = 0.4  # up to here the series below has seven digits
_ROUGHNESS = 3e-6  # at least twice what single precision is off, of each term
_ROUNDING = 1e-12  # more than sums are off
_T1, _T2, _T3, _T4, _T5, _T6, _T7 = 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15


@kernel
def refresh_as_due(state, i, due):
    """Refresh player i as often as `due` adds up to; returns whether it was refreshed."""
    refreshed = 0
    state.credit[i] += due
    while state.credit[i] >= 1.0:
        state.credit[i] -= 1.0
        refreshed = 1
        _refresh(state, i)
    return refreshed


@kernel
def _refresh(state, i):
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
    if state.counters[FADED] == 0:
        return 1.0
    couples, total = state.couples, 0
    for x in range(row_length(couples, i)):
        total += couples.tries[at(couples, i, x)]
    return max(state.met[i] - state.gone[i], 0.0) / max(total, 1)


@kernel
def _recency(state, i):
    """The same in outcomes of today."""
    return recency(state, i) * state.reals[OUTCOMES]


@kernel
def _information(state, i):
    """Fisher information on the logarithm of player i's rate, at the means."""
    couples, rate, outcomes = state.couples, state.mean[i], state.reals[OUTCOMES]
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
    rates, reach = state.rates, state.reach[i] if i == j else state.couple_reach[i]
    shift, luck = reach * (2.0 * _uniform(state) - 1.0), _uniform(state)
    factor = (1.0 + shift) / (1.0 - shift)
    up, down = rates[i] * factor, rates[j] / factor
    if not (_MIN_RATE < up < 1.0 and (i == j or _MIN_RATE < down < 1.0)):
        return
    if _accepts(state, i, j, up, down, shift, luck):
        rates[j] = down  # first: player i alone goes up
        rates[i] = up


@kernel
def _accepts(state, i, j, up, down, shift, luck):
    """Whether to accept a move to the rates `up` and `down`.

    It is valued roughly first, on a GPU in single precision, with a bound on the error: nearly all
    moves are clear-cut. The others are valued exactly: no decision depends on what is rough.
    """
    outcomes = state.reals[OUTCOMES]
    if i == j:
        # The logarithm of a rate has its own rate as density if the rate is uniform: a, not a - 1.
        accepted = state.accepted[i] * outcomes + state.reals[PRIOR_A]
    else:
        accepted = (state.accepted[i] - state.accepted[j]) * outcomes
    for exact in range(2):
        won = accepted * _log_factor(state, shift, exact)
        gain, size, error = won, abs(won) + abs(accepted), _ROUGHNESS * abs(won)
        for turn in range(1 + (i != j)):
            mover, moved, other = (j, down, i) if turn else (i, up, j)
            missed, off = _gain(state, mover, moved, other, exact)
            gain, size, error = gain + missed, size + abs(missed), error + off
        error = 0.0 if exact else error + _ROUNDING * (1.0 + size)
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
    """The next draw of the chain in (0, 1)."""
    state.draws[0] += 1
    return uniform(state.key[1], state.draws[0] - 1)


@kernel
def uniform(key, number):
    """A draw in (0, 1)."""
    return (np.float64(mantissa(word(key, number))) + 0.5) / MANTISSA


@kernel
def _log_factor(state, shift, exact):
    """ln((1 + shift) / (1 - shift)); roughly unless `exact`."""
    if exact or abs(shift) > _MAX_SERIES:
        return log((1.0 + shift) / (1.0 - shift))
    real = state.terms.dtype.type
    return np.float64(_series(real(shift), real))


@kernel
def _series(s, real):
    """2 atanh s for |s| up to _MAX_SERIES; without a branch, so that lanes go side by side."""
    z = s * s
    z2 = z * z
    low = (real(2) + real(_T1) * z) + (real(_T2) + real(_T3) * z) * z2
    high = (real(_T4) + real(_T5) * z) + (real(_T6) + real(_T7) * z) * z2
    return s * (low + high * (z2 * z2))


@kernel
def _gain(state, i, moved, other, exact):
    """Log-likelihood that player i's move gains in what was missed, by it and in its couples.

    The couple with the `other` player is left out: both move, and their product stays as it is.
    Also returns a bound on the error, which is 0 if `exact`.
    """
    outcomes = state.reals[OUTCOMES]
    if exact:
        total, error = _exact_sum(state, i, moved, other), 0.0
    else:
        total, error = _rough_sum(state, i, moved, other)
    if state.gone[i] > 0.0:
        total += _frozen_gain(state, i, moved)
    total, error = total * outcomes, error * outcomes
    declined = state.declined[i] * outcomes + (state.reals[PRIOR_B] - 1.0)
    if declined != 0.0:
        total += declined * log((1.0 - moved) / (1.0 - state.rates[i]))
    return total, error


@kernel
def _rough_sum(state, i, moved, other):
    """The sum over couples of `_gain`, in the precision of `terms`, and a bound on its error."""
    couples, rates, terms, real = state.couples, state.rates, state.terms, state.terms.dtype.type
    rate, large, error = rates[i], False, 0.0
    fall, both = real(rate - moved), real(rate + moved)
    room = real((1.0 - rate) + (1.0 - moved))
    start, length = row_start(couples, i), row_length(couples, i)
    lost, x = couples.missed[start : start + length], 0
    while x < length:  # not `range`, and unsigned: then a GPU reads several at once
        missed = real(lost[np.uint64(x)])
        theirs = rates[np.uint64(partner(couples, i, x))]
        # ln((1 - moved theirs) / (1 - rate theirs)) = 2 atanh s; below, nothing cancels
        s = real(theirs) * fall / (real(1.0 - theirs) * both + room)
        large |= (abs(s) > real(_MAX_SERIES)) & (missed > real(0))
        terms[np.uint64(x)] = missed * _series(s, real)
        x += 1
    if large:
        error = _write_large_terms(state, i, moved)
    if i != other:
        terms[slot(place(couples, i, other))] = real(0)
    total = row_sum(couples, i, terms)
    # All terms have one sign, and each is off by a share of itself.
    return total, error + _ROUGHNESS * abs(total) + _ROUNDING * state.unsure[i]


@kernel
def _write_large_terms(state, i, moved):
    """Write the terms of a move of any size; returns a bound on their error."""
    couples, rate, weight, real = state.couples, state.rates[i], 0.0, state.terms.dtype.type
    for x in range(row_length(couples, i)):
        missed = couples.missed[at(couples, i, x)]
        if missed > 0.0:
            theirs = state.rates[partner(couples, i, x)]
            ratio = real(_apart(moved, theirs)) / real(_apart(rate, theirs))
            state.terms[x] = real(missed) * math.log(ratio)
            weight += missed
    return _ROUGHNESS * weight


@kernel
def _apart(rate, other):
    """1 - rate * other, without cancellation where both are next to 1."""
    return (1.0 - rate) + rate * (1.0 - other)


@kernel
def _exact_sum(state, i, moved, other):
    """The sum over couples of `_gain`, the same in both layouts: four sums, by partners' slots."""
    couples, rate = state.couples, state.rates[i]
    a = b = c = d = 0.0
    for x in range(row_length(couples, i)):
        missed, j, term = couples.missed[at(couples, i, x)], slot(partner(couples, i, x)), 0.0
        if missed > 0.0 and j != other:
            theirs = state.rates[j]
            term = missed * log(_apart(moved, theirs) / _apart(rate, theirs))
        lane = j % slot(LANES)
        a += term if lane == 0 else 0.0
        b += term if lane == 1 else 0.0
        c += term if lane == 2 else 0.0
        d += term if lane == 3 else 0.0
    return (a + b) + (c + d)


@kernel
def _frozen_gain(state, i, moved):
    """The part of `_gain` in outcomes with players who left."""
    rate, total = state.rates[i], 0.0
    for k in range(FROZEN_RATES):
        missed = state.frozen_missed[i, k]
        if missed > 0.0:
            frozen = frozen_rate(k)
            total += missed * log((1.0 - moved * frozen) / (1.0 - rate * frozen))
    return total
