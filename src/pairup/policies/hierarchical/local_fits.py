"""Fits player by player, for pools in which all players at once would take too long.

As `fit`, with coordinate ascent in place of Newton's method on all rates: a player's rate moves to
the most likely one given its partners' last ones. It does so when a tenth more is known of the
player, and for a limited number of couples per proposal; the others wait for their turn. Rates are
taken as independent. What a player adds to the log marginal likelihood is kept with its fit, so
that the sum changes by what has changed: half of that of its couples is the player's.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import exp, log
from pairup.compiled.state_fields import AVAILABLE
from pairup.policies.hierarchical.fit import discount, log_own_chance
from pairup.policies.hierarchical.state import MAX_SINGLE, NEXT
from pairup.policies.hierarchical.steps import normalise
from pairup.policies.rank_one.couple_layouts import at, partner, place, row_length
from pairup.policies.rank_one.posterior import frozen_rate, recency
from pairup.policies.rank_one.state import FADED, FROZEN_RATES, OUTCOMES, PRIOR_A, PRIOR_B

_NEWS = 1.1  # a player is fitted again when this many times more is known, or less has remained
_STEPS = 2  # of Newton's method: each fit starts at the last one
_LONGEST = 2.0  # of these steps, in log odds
_MAX_TERMS = 16_000  # couples that are looked at for fits per proposal, about
_REPEATED = 4  # a couple that met more than once takes as long as so many others
_LEAST = 1e-15  # rate


@outlined
def fit_as_due(state):
    """Fit players available of whom more is known, as far as time allows, and then the chances."""
    inner, spent, counters = state.inner, 0, state.counters
    count, x = inner.counters[AVAILABLE], counters[NEXT]
    for _ in range(count):
        x = x if x < count else 0
        i = slot(inner.available[x])
        x += 1
        if is_due(state, i):
            spent += fit_player(state, i)
            if spent >= _MAX_TERMS:
                break
    counters[NEXT] = x
    if spent > 0:
        weigh_concentrations(state)


@outlined
def fit_players(state, players):
    """Fit some players, however many they are."""
    for i in players:
        fit_player(state, slot(i))
    weigh_concentrations(state)


@kernel
def weigh_concentrations(state):
    """Set the chance of each concentration by the log marginal likelihoods."""
    for g in range(len(state.chances)):
        state.chances[g] = state.log_prior[g] + state.totals[g]
    normalise(state)


@kernel
def is_due(state, i):
    """Whether what is known of a player has changed by a tenth since its last fit."""
    known = state.inner.met[i] * state.inner.reals[OUTCOMES]
    return known > _NEWS * state.fitted[i] or known * _NEWS < state.fitted[i]


@outlined
def fit_player(state, i):
    """Fit player i for all concentrations; returns the number of couples that it took, about."""
    inner, base = state.inner, 0.0
    count, terms = _load_row(state, i)
    outcomes = inner.reals[OUTCOMES]
    accepted = inner.reals[PRIOR_A] + inner.accepted[i] * outcomes
    declined = inner.reals[PRIOR_B] + inner.declined[i] * outcomes
    for x in range(count):
        accepted -= state.outcomes[x, 0]
    accepted = max(accepted, inner.reals[PRIOR_A])  # rounding, where it faded
    for g in range(len(state.modes)):
        mode = np.float64(state.modes[g, i])
        odds = log(mode / (1.0 - mode))
        for _ in range(_STEPS):
            slope, information, curvature = _slope(state, g, i, odds, accepted, declined, count)
            # The greater of both: otherwise steps may go to and fro around the mode.
            step = slope / max(information, curvature)
            odds += min(max(step, -_LONGEST), _LONGEST)
        mode = min(max(1.0 / (1.0 + exp(-odds)), _LEAST), MAX_SINGLE)
        odds = log(mode / (1.0 - mode))
        _, information, _ = _slope(state, g, i, odds, accepted, declined, count)
        state.modes[g, i], state.spread[g, i] = mode, 1.0 / math.sqrt(information)
        part = _log_evidence(state, g, i, accepted, declined, count) - 0.5 * log(information)
        base = part if g == 0 else base
        _set_part(state, g, i, part - base)
    state.fitted[i] = inner.met[i] * outcomes
    return terms


@kernel
def _set_part(state, g, i, part):
    before = np.float64(state.parts[g, i])
    state.parts[g, i] = part
    state.totals[g] += np.float64(state.parts[g, i]) - before


@kernel
def _load_row(state, i):
    """Load the outcomes of player i with each partner.

    Returns how many partners there are, and how many couples they count as.
    """
    couples, count, terms = state.inner.couples, 0, 1
    outcomes = state.inner.reals[OUTCOMES]
    weight = recency(state.inner, i) * outcomes if state.inner.counters[FADED] == 1 else 1.0
    for x in range(row_length(couples, i)):
        here, j = at(couples, i, x), slot(partner(couples, i, x))
        tries = couples.tries[here]
        if tries == 0:
            continue
        lower = here if i < j else at(couples, j, place(couples, j, i))
        games, told = couples.games[lower], couples.told[lower]
        state.partners[count] = j
        state.outcomes[count, 0] = np.float64(games - told) * weight
        state.outcomes[count, 1] = couples.missed[here] * outcomes
        state.outcomes[count, 2] = np.float64(games) * weight
        state.outcomes[count, 3] = np.float64(tries - games) * weight
        count += 1
        terms += _REPEATED if tries > 1 else 1
    return count, terms


@kernel
def _slope(state, g, i, odds, accepted, declined, count):
    """The slope of the log density in player i's log odds, their Fisher information, its curvature.

    The Fisher information is what the curvature is expected to be.
    """
    inner, known = state.inner, state.outcomes
    rest = 1.0 / (1.0 + exp(odds))
    rate = 1.0 - rest
    slope = accepted * rest - declined * rate
    information = curvature = (accepted + declined) * rate * rest
    if inner.gone[i] > 0.0:
        for k in range(FROZEN_RATES):
            shared = rate * frozen_rate(k)
            lost = inner.frozen_missed[i, k] * inner.reals[OUTCOMES]
            ratio, miss = shared / (1.0 - shared), 1.0 - shared
            slope -= lost * ratio * rest
            information += lost * ratio / miss * rest * rest
            curvature += lost * ratio * rest * (rest / miss - rate)
    for x in range(count):
        theirs = np.float64(state.modes[g, slot(state.partners[x])])
        m, miss = rate * theirs, rest + rate * (1.0 - theirs)
        weight = discount(state.concentrations[g], known[x, 2] + known[x, 3])
        shared, lost, ratio = weight * known[x, 0], weight * known[x, 1], m / miss
        slope += (shared - lost * ratio) * rest
        information += (shared + lost) * ratio * rest * rest
        curvature += shared * rate * rest + lost * ratio * rest * (rest / miss - rate)
    return slope, information, curvature


@kernel
def _log_evidence(state, g, i, accepted, declined, count):
    """Log likelihood of what is known of player i, and of half of what is known of its couples."""
    inner, known, concentration = state.inner, state.outcomes, state.concentrations[g]
    rate = np.float64(state.modes[g, i])
    rest = 1.0 - rate
    total = accepted * log(rate) + declined * log(rest)
    if inner.gone[i] > 0.0:
        for k in range(FROZEN_RATES):
            lost = inner.frozen_missed[i, k] * inner.reals[OUTCOMES]
            total += lost * log(1.0 - rate * frozen_rate(k)) if lost > 0.0 else 0.0
    for x in range(count):
        theirs = np.float64(state.modes[g, slot(state.partners[x])])
        m, miss = rate * theirs, rest + rate * (1.0 - theirs)
        games, missed = known[x, 2], known[x, 3]
        shared, lost = known[x, 0], known[x, 1]
        if concentration < math.inf and games + missed > 1.0:
            # What answers told of the players is in `accepted` and `declined`.
            total += 0.5 * log_own_chance(concentration, m, miss, games, missed)
            shared, lost = shared - games, lost - missed
        if shared != 0.0 or lost != 0.0:
            total += 0.5 * (shared * log(m) + lost * log(miss))
    return total
