"""How likely all outcomes are for a concentration, and which rates explain them best.

A couple of players with rates r_i and r_j plays with a chance drawn from the Beta distribution of
mean m = r_i r_j and concentration k. Its n outcomes then say as much of m as c n exact ones, about:
c = (k + 1) / (k + n). So the mode of the rates is that of the posterior of `rank_one` in which each
outcome of a couple weighs c. It is found in log odds, by Newton's method on the Fisher information
I, with steps that are halved while they do not climb.

The marginal likelihood of k is Laplace's approximation there: the log density at the mode, less
half of ln det I, with the exact likelihood of couples in place of the one that weighs c. That one
is their likelihood without deviations times

    B(k m + s, k (1 - m) + f) / B(k m, k (1 - m)) / (m^s (1 - m)^f)

for s games of s + f outcomes. What is known of players alone, from answers and of those who left,
counts as it does without deviations.

The functions work on a `RankOneState` and a `FitWorkspace`, and on any concentration; of an
infinite one they give the marginal likelihood of the rank-one model itself.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import exp, log, log_gamma
from pairup.policies.rank_one.couple_layouts import at, partner, row_length
from pairup.policies.rank_one.posterior import frozen_rate, recency
from pairup.policies.rank_one.state import FADED, FROZEN_RATES, OUTCOMES, PRIOR_A, PRIOR_B

_STEPS = 20  # of Newton's method: two or three are usual, since it starts at the last mode
_HALVINGS = 12
_TOLERANCE = 1e-3  # of the log likelihood
_FARTHEST = 35.0  # log odds: rates that a real number tells from 1
_MIN_PIVOT = 1e-9


@kernel
def _length(state, i):
    """Places of the row of player i, which may be beyond the last row if it never met."""
    return row_length(state.couples, i) if state.met[i] > 0.0 else 0


@outlined
def gather(state, fit):
    """Gather what is known of each player alone: what is not about one of the couples."""
    couples, outcomes = state.couples, state.reals[OUTCOMES]
    for i in range(len(state.met)):
        fit.accepted[i] = state.reals[PRIOR_A] + state.accepted[i] * outcomes
        fit.declined[i] = state.reals[PRIOR_B] + state.declined[i] * outcomes
    measure_recency(state, fit)
    for i in range(len(state.met)):
        for x in range(_length(state, i)):
            j = partner(couples, i, x)
            if j > i and couples.tries[at(couples, i, x)] > 0:
                games, _ = shared_outcomes(state, fit, i, x)
                fit.accepted[i] -= games
                fit.accepted[j] -= games
    for i in range(len(state.met)):
        fit.accepted[i] = max(fit.accepted[i], state.reals[PRIOR_A])  # rounding, where it faded


@kernel
def measure_recency(state, fit):
    """Set what an outcome of each player weighs on average, where evidence fades."""
    if state.counters[FADED] == 1:
        for i in range(len(state.met)):
            if state.met[i] > 0.0:
                fit.recency[i] = recency(state, i) * state.reals[OUTCOMES]


@kernel
def weight_of_outcomes(state, fit, i, j):
    """What an outcome of a couple weighs: as those of its players do, on average."""
    return 0.5 * (fit.recency[i] + fit.recency[j]) if state.counters[FADED] == 1 else 1.0


@kernel
def shared_outcomes(state, fit, i, x):
    """Games and misses of which only the couple at place x of player i's row is known, i first."""
    couples = state.couples
    k, j = at(couples, i, x), partner(couples, i, x)
    games = np.float64(couples.games[k] - couples.told[k]) * weight_of_outcomes(state, fit, i, j)
    return games, couples.missed[k] * state.reals[OUTCOMES]


@kernel
def all_outcomes(state, fit, i, x):
    """Games and misses of the couple at place x of player i's row, i first, with answers or not."""
    couples = state.couples
    k, weight = at(couples, i, x), weight_of_outcomes(state, fit, i, partner(couples, i, x))
    games, tries = couples.games[k], couples.tries[k]
    return np.float64(games) * weight, np.float64(tries - games) * weight


@kernel
def discount(concentration, outcomes):
    """What an outcome says of the rates, where a couple with so many of them may deviate."""
    if concentration == math.inf:
        return 1.0
    return (concentration + 1.0) / (concentration + max(outcomes, 1.0))


@outlined
def start_at(state, fit, rates):
    """Set all rates; those of players of whom nothing is known are the most likely of the prior."""
    for i in range(len(state.met)):
        odds = rates[i] / (1.0 - rates[i])
        fit.place[i] = log(odds if state.met[i] > 0.0 else fit.accepted[i] / fit.declined[i])
        set_rate(fit, i)


@outlined
def climb(state, fit, concentration, mode):
    """Move `mode`, rates of all players, to the most likely ones; `fit` is left there.

    `gather` comes first. Returns the log density there, of the log odds.
    """
    start_at(state, fit, mode)
    density = _log_density(state, fit, concentration)
    for _ in range(_STEPS):
        set_precision(state, fit, concentration)
        _load_slope(state, fit, concentration)
        _solve(state, fit)
        gain = _step(state, fit, concentration, density)
        density += gain
        if gain < _TOLERANCE:
            break
    set_precision(state, fit, concentration)
    for i in range(len(state.met)):
        mode[i] = fit.rate[i]
    return density


@outlined
def log_evidence(state, fit, concentration, density):
    """The log marginal likelihood, but for a constant, from the log density at the mode.

    `climb` comes first.
    """
    couples = state.couples
    for i in range(len(state.met)):
        if state.met[i] > 0.0:
            density -= 0.5 * log(fit.diagonal[i])
    if concentration == math.inf:
        return density
    for i in range(len(state.met)):
        for x in range(_length(state, i)):
            j = partner(couples, i, x)
            if j > i and couples.tries[at(couples, i, x)] > 0:
                density += _log_deviation(state, fit, concentration, slot(i), x)
    return density


@kernel
def _log_deviation(state, fit, concentration, i, x):
    """Log of how much likelier the outcomes of a couple are if its chance deviates.

    The shared outcomes are in the density with a discount, in place of which they count in full.
    """
    j = partner(state.couples, i, x)
    games, missed = all_outcomes(state, fit, i, x)
    shared, lost = shared_outcomes(state, fit, i, x)
    m, rest = fit.rate[i] * fit.rate[j], fit.rest[i] + fit.rate[i] * fit.rest[j]
    undiscounted = 1.0 - discount(concentration, games + missed)
    return (
        log_own_chance(concentration, m, rest, games, missed)
        + (shared * undiscounted - games) * log(m)
        + (lost * undiscounted - missed) * log(rest)
    )


@kernel
def log_own_chance(concentration, m, rest, games, missed):
    """Log likelihood of outcomes of a couple whose chance is drawn around m = 1 - rest."""
    return (
        _log_rising(concentration * m, games)
        + _log_rising(concentration * rest, missed)
        - _log_rising(concentration, games + missed)
    )


@kernel
def _log_rising(first, count):
    """ln of Gamma(first + count) / Gamma(first)."""
    return log_gamma(first + count) - log_gamma(first) if count > 0.0 else 0.0


@kernel
def _log_density(state, fit, concentration):
    """The log density at `fit.place`, up to a constant."""
    couples, total = state.couples, 0.0
    for i in range(len(state.met)):
        if state.met[i] == 0.0:
            continue
        total += fit.accepted[i] * log(fit.rate[i]) + fit.declined[i] * log(fit.rest[i])
        if state.gone[i] > 0.0:
            for k in range(FROZEN_RATES):
                lost = state.frozen_missed[i, k] * state.reals[OUTCOMES]
                total += lost * log(1.0 - fit.rate[i] * frozen_rate(k)) if lost > 0.0 else 0.0
        for x in range(_length(state, i)):
            j = partner(couples, i, x)
            if j > i and couples.tries[at(couples, i, x)] > 0:
                games, missed = shared_outcomes(state, fit, i, x)
                weight = _weight(state, fit, concentration, i, x)
                m, rest = fit.rate[i] * fit.rate[j], fit.rest[i] + fit.rate[i] * fit.rest[j]
                total += weight * (games * log(m) + missed * log(rest))
    return total


@kernel
def _weight(state, fit, concentration, i, x):
    games, missed = all_outcomes(state, fit, i, x)
    return discount(concentration, games + missed)


@kernel
def set_rate(fit, i):
    """Set player i's rate by its log odds, and what is left up to 1."""
    fit.place[i] = min(max(fit.place[i], -_FARTHEST), _FARTHEST)
    odds = exp(fit.place[i])
    fit.rate[i], fit.rest[i] = odds / (1.0 + odds), 1.0 / (1.0 + odds)


@kernel
def _load_slope(state, fit, concentration):
    """Write the slope of the log density into `fit.step`."""
    couples = state.couples
    for i in range(len(state.met)):
        slope = fit.accepted[i] * fit.rest[i] - fit.declined[i] * fit.rate[i]
        if state.gone[i] > 0.0:
            for k in range(FROZEN_RATES):
                shared = fit.rate[i] * frozen_rate(k)
                lost = state.frozen_missed[i, k] * state.reals[OUTCOMES]
                slope -= lost * shared / (1.0 - shared) * fit.rest[i]
        fit.step[i] = slope if state.met[i] > 0.0 else 0.0
    for i in range(len(state.met)):
        for x in range(_length(state, i)):
            j = partner(couples, i, x)
            if j > i and couples.tries[at(couples, i, x)] > 0:
                games, missed = shared_outcomes(state, fit, i, x)
                m, rest = fit.rate[i] * fit.rate[j], fit.rest[i] + fit.rate[i] * fit.rest[j]
                slope = _weight(state, fit, concentration, i, x) * (games - missed * m / rest)
                fit.step[i] += slope * fit.rest[i]
                fit.step[j] += slope * fit.rest[j]


@outlined
def set_precision(state, fit, concentration):
    """Write the Fisher information on the log odds, and factorise it: it is L L' then.

    Below, `diagonal` is that of the precision where rates are taken as independent, and the squares
    of that of L elsewhere.
    """
    couples, dense = state.couples, len(fit.precision) > 0
    for i in range(len(state.met)):
        known = fit.accepted[i] + fit.declined[i]
        fit.diagonal[i] = known * fit.rate[i] * fit.rest[i]
        if state.gone[i] > 0.0:
            fit.diagonal[i] += _frozen_information(state, fit, i)
        for j in range(i if dense else 0):
            fit.precision[i, j] = 0.0
    for i in range(len(state.met)):
        for x in range(_length(state, i)):
            j = partner(couples, i, x)
            if j > i and couples.tries[at(couples, i, x)] > 0:
                games, missed = shared_outcomes(state, fit, i, x)
                m, rest = fit.rate[i] * fit.rate[j], fit.rest[i] + fit.rate[i] * fit.rest[j]
                tries = _weight(state, fit, concentration, i, x) * (games + missed)
                both = tries * m / rest
                fit.diagonal[i] += both * fit.rest[i] * fit.rest[i]
                fit.diagonal[j] += both * fit.rest[j] * fit.rest[j]
                if dense:
                    fit.precision[j, i] = both * fit.rest[i] * fit.rest[j]
    if dense:
        _factorise(state, fit)


@kernel
def _frozen_information(state, fit, i):
    total, rate, rest = 0.0, fit.rate[i], fit.rest[i]
    for k in range(FROZEN_RATES):
        shared = rate * frozen_rate(k)
        lost = state.frozen_missed[i, k] * state.reals[OUTCOMES]
        total += lost * shared / ((1.0 - shared) * (1.0 - shared)) * rest * rest
    return total


@kernel
def _factorise(state, fit):
    """Cholesky's factor of the precision, of the players of whom anything is known."""
    factor = fit.precision
    for i in range(len(state.met)):
        pivot = fit.diagonal[i]
        for j in range(i if state.met[i] > 0.0 else 0):
            total = factor[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total / factor[j, j]
            pivot -= factor[i, j] * factor[i, j]
        fit.diagonal[i] = max(pivot, _MIN_PIVOT)
        factor[i, i] = math.sqrt(fit.diagonal[i])


@kernel
def _solve(state, fit):
    """Replace the slope in `fit.step` by the step that leads to the mode."""
    players, factor = len(state.met), fit.precision
    if len(factor) == 0:
        for i in range(players):
            fit.step[i] *= 0.5 / fit.diagonal[i]  # half: all players move at once
        return
    for i in range(players):
        for j in range(i):
            fit.step[i] -= factor[i, j] * fit.step[j]
        fit.step[i] /= factor[i, i]
    back_substitute(fit)


@kernel
def back_substitute(fit):
    """Multiply `fit.step` by the inverse of L': a standard normal vector becomes a draw."""
    players, factor = len(fit.step), fit.precision
    if len(factor) == 0:
        for i in range(players):
            fit.step[i] /= math.sqrt(fit.diagonal[i])
        return
    for i in range(players - 1, -1, -1):
        fit.step[i] /= factor[i, i]
        for j in range(i):
            fit.step[j] -= factor[i, j] * fit.step[i]


@kernel
def _step(state, fit, concentration, density):
    """Step uphill, as far as it goes up; returns by how much."""
    for i in range(len(state.met)):
        fit.before[i] = fit.place[i]
    size = 1.0
    for _ in range(_HALVINGS):
        for i in range(len(state.met)):
            fit.place[i] = fit.before[i] + size * fit.step[i]
            set_rate(fit, i)
        gain = _log_density(state, fit, concentration) - density
        if gain >= 0.0:
            return gain
        size *= 0.5
    for i in range(len(state.met)):
        fit.place[i] = fit.before[i]
        set_rate(fit, i)
    return 0.0
