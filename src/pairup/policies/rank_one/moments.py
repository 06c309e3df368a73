"""Moments of the rates, from the draws of the chain: posterior means, and a prior learned.

The learned prior is the distribution of all players' rates. Newcomers start at what others have
shown, those who left included.
"""

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.state_fields import AVAILABLE
from pairup.policies.rank_one.couple_layouts import at, partner, row_length
from pairup.policies.rank_one.posterior import frozen_rate
from pairup.policies.rank_one.state import (
    ANSWERED,
    COUNTED,
    FROZEN_RATES,
    LEARNS_PRIOR,
    MOMENT,
    MOMENTS_WEIGHT,
    OUTCOMES,
    PRIOR_A,
    PRIOR_B,
    SECOND_MOMENT,
    WEIGHT,
)

_MEMORY = 20.0  # the means are over about the last twentieth of the draws
_MOMENTS_MEMORY = 8.0  # the moments are those of about the last eighth of the draws
_UNIFORM_PLAYERS = 1.0  # players with uniform rates who count beside those drawn
_MIN_SPREAD = 1e-6  # variance of the players' rates
_MIN_PLAYERS, _MAX_PLAYERS = 0.5, 100.0  # a + b: the answers that the prior is worth
_MIN_PARAMETER = 0.05


@kernel
def expects_means(state):
    """Whether expected values are averaged, and not the draws.

    It costs a look at all partners. Where answers are observed, little is left to chance, and much
    of that in the draw; where players come and go, few draws are made of each.
    """
    return state.counters[ANSWERED] == 1 or state.counters[LEARNS_PRIOR] == 1


@kernel
def average_draw(state, i):
    """Take the draw of player i into its means."""
    rate = state.rates[i]
    _average(state, i, rate, rate * rate)


@kernel
def average_expected(state, i):
    """Take what player i's rate is expected to be, given the draws of others, into its means."""
    rate, square = expected(state, i)
    _average(state, i, rate, square)


@kernel
def _average(state, i, rate, square):
    """The latest draws weigh most."""
    weight = _MEMORY / (_MEMORY + state.drawn[i] * state.reals[OUTCOMES])
    state.mean[i] += weight * (rate - state.mean[i])
    state.square[i] += weight * (square - state.square[i])
    state.drawn[i] += state.reals[WEIGHT]


@kernel
def expected(state, i):
    """Return the mean of player i's rate, and of its square, had we seen who declined.

    In a game that was missed with player j, i accepted with a chance that follows from the drawn
    rates. With all answers known the rate has a beta distribution, whose moments are polynomials of
    the number of acceptances: averaged over what the answers may have been, then over the draws,
    they are the moments of the posterior, exactly.
    """
    couples, outcomes, own = state.couples, state.reals[OUTCOMES], state.rates[i]
    accepted = state.reals[PRIOR_A] + state.accepted[i] * outcomes
    answers, spread = state.reals[PRIOR_B] + accepted + state.declined[i] * outcomes, 0.0
    if state.unsure[i] > 0.0:
        for x in range(row_length(couples, i)):
            often = couples.missed[at(couples, i, x)] * outcomes
            if often > 0.0:
                other = state.rates[partner(couples, i, x)]
                chance = own * (1.0 - other) / (1.0 - own * other)
                accepted += often * chance
                answers += often
                spread += often * chance * (1.0 - chance)
    if state.gone[i] > 0.0:
        for k in range(FROZEN_RATES):
            often, other = state.frozen_missed[i, k] * outcomes, frozen_rate(k)
            chance = own * (1.0 - other) / (1.0 - own * other)
            accepted += often * chance
            answers += often
            spread += often * chance * (1.0 - chance)
    square = (accepted * (accepted + 1.0) + spread) / (answers * (answers + 1.0))
    return accepted / answers, square


@kernel
def set_exact_mean(state, i):
    """Set the means of a player whose every answer is known: no draw is needed."""
    if state.unsure[i] == 0.0:
        state.mean[i], state.square[i] = expected(state, i)


@kernel
def start_newcomers(state):
    """Start available players of whom nothing is known in the middle of the prior."""
    a, b = state.reals[PRIOR_A], state.reals[PRIOR_B]
    for x in range(state.counters[AVAILABLE]):
        i = slot(state.available[x])
        if state.drawn[i] == 0.0 and state.met[i] == 0.0:
            state.rates[i] = state.mean[i] = a / (a + b)
            state.square[i] = a * (a + 1.0) / ((a + b) * (a + b + 1.0))


@outlined
def learn_prior(state):
    """Take the draws of the players available into the moments, and fit the prior to them."""
    reals, count, mean, square = state.reals, 0, 0.0, 0.0
    for x in range(state.counters[AVAILABLE]):
        i = slot(state.available[x])
        if state.met[i] == 0.0:
            continue  # its draw is one of the prior, which has nothing to learn from it
        rate = state.rates[i]
        second = rate * rate
        if state.counters[ANSWERED] == 1 and state.unsure[i] == 0.0:
            rate, second = expected(state, i)
        count, mean, square = count + 1, mean + rate, square + second
        state.counters[COUNTED] += not state.counted[i]
        state.counted[i] = True
    if count > 0:
        fresh = _MOMENTS_MEMORY * count
        share = fresh / (reals[MOMENTS_WEIGHT] * reals[OUTCOMES] + fresh)
        reals[MOMENT] += share * (mean / count - reals[MOMENT])
        reals[SECOND_MOMENT] += share * (square / count - reals[SECOND_MOMENT])
        reals[MOMENTS_WEIGHT] += count * reals[WEIGHT]
        _fit_prior(state)


@kernel
def _fit_prior(state):
    """Fit the prior to the moments, among which some players with uniform rates count."""
    reals = state.reals
    share = _UNIFORM_PLAYERS / (_UNIFORM_PLAYERS + state.counters[COUNTED])
    mean = reals[MOMENT] + share * (0.5 - reals[MOMENT])
    square = reals[SECOND_MOMENT] + share * (1.0 / 3.0 - reals[SECOND_MOMENT])
    spread = max(square - mean * mean, _MIN_SPREAD)
    both = min(max(mean * (1.0 - mean) / spread - 1.0, _MIN_PLAYERS), _MAX_PLAYERS)
    reals[PRIOR_A] = max(mean * both, _MIN_PARAMETER)
    reals[PRIOR_B] = max((1.0 - mean) * both, _MIN_PARAMETER)
