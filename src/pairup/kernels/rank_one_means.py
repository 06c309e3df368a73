"""Posterior means of the rates, and the law of all players' rates, from the draws of the chain.

The state is that of `pairup.kernels.rank_one_thompson`.
"""

from pairup.kernels.rank_one_couples import at, partner, row_length
from pairup.kernels.rank_one_posterior import FROZEN_RATES, frozen_rate
from pairup.kernels.runtime.compilation import kernel, outlined, slot
from pairup.kernels.state_layout import (
    ANSWERED,
    AVAILABLE,
    COUNTED,
    LAW_MEAN,
    LAW_SQUARE,
    LAW_WEIGHT,
    LEARNS_PRIOR,
    OUTCOMES,
    PRIOR_A,
    PRIOR_B,
    WEIGHT,
)

_MEMORY = 20.0  # the means are over about the last twentieth of the draws
_LAW_MEMORY = 8.0  # the players' law is of about the last eighth of the draws
_UNIFORM_PLAYERS = 1.0  # players of a uniform law that count beside those drawn
_MIN_SPREAD = 1e-6  # variance of the players' law
_MIN_PLAYERS, _MAX_PLAYERS = 0.5, 100.0  # a + b of a law: answers that it is worth
_MIN_PARAMETER = 0.05


@kernel
def expects_means(state):
    """Whether expected values are averaged, and not the draws.

    It costs a look at all partners. Where answers are observed, little is left to chance, and much
    of that in the draw; where players come and go, few draws are made of each.
    """
    return state.now[ANSWERED] == 1 or state.now[LEARNS_PRIOR] == 1


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
    weight = _MEMORY / (_MEMORY + state.drawn[i] * state.figures[OUTCOMES])
    state.mean[i] += weight * (rate - state.mean[i])
    state.square[i] += weight * (square - state.square[i])
    state.drawn[i] += state.figures[WEIGHT]


@kernel
def expected(state, i):
    """Return the mean of player i's rate, and of its square, had we seen who declined.

    In a game that was missed with player j, i accepted with a chance that follows from the drawn
    rates. With all answers known the rate has a beta distribution, whose moments are polynomials of
    the number of acceptances: averaged over what the answers may have been, then over the draws,
    they are the moments of the posterior, exactly.
    """
    couples, outcomes, own = state.couples, state.figures[OUTCOMES], state.rates[i]
    accepted = state.figures[PRIOR_A] + state.accepted[i] * outcomes
    answers, spread = state.figures[PRIOR_B] + accepted + state.declined[i] * outcomes, 0.0
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
def welcome(state):
    """Start available players of whom nothing is known in the middle of the prior."""
    a, b = state.figures[PRIOR_A], state.figures[PRIOR_B]
    for x in range(state.now[AVAILABLE]):
        i = slot(state.available[x])
        if state.drawn[i] == 0.0 and state.met[i] == 0.0:
            state.rates[i] = state.mean[i] = a / (a + b)
            state.square[i] = a * (a + 1.0) / ((a + b) * (a + b + 1.0))


@outlined
def learn_law(state):
    """Take the draws of the players available into the moments of their law, and fit the prior."""
    figures, count, mean, square = state.figures, 0, 0.0, 0.0
    for x in range(state.now[AVAILABLE]):
        i = slot(state.available[x])
        if state.met[i] == 0.0:
            continue  # its draw is one of the prior, which has nothing to learn from it
        rate = state.rates[i]
        second = rate * rate
        if state.now[ANSWERED] == 1 and state.unsure[i] == 0.0:
            rate, second = expected(state, i)
        count, mean, square = count + 1, mean + rate, square + second
        state.now[COUNTED] += not state.counted[i]
        state.counted[i] = True
    if count > 0:
        fresh = _LAW_MEMORY * count
        share = fresh / (figures[LAW_WEIGHT] * figures[OUTCOMES] + fresh)
        figures[LAW_MEAN] += share * (mean / count - figures[LAW_MEAN])
        figures[LAW_SQUARE] += share * (square / count - figures[LAW_SQUARE])
        figures[LAW_WEIGHT] += count * figures[WEIGHT]
        _fit_prior(state)


@kernel
def _fit_prior(state):
    """Fit the prior to the moments, among which some players of a uniform law count."""
    figures = state.figures
    share = _UNIFORM_PLAYERS / (_UNIFORM_PLAYERS + state.now[COUNTED])
    mean = figures[LAW_MEAN] + share * (0.5 - figures[LAW_MEAN])
    square = figures[LAW_SQUARE] + share * (1.0 / 3.0 - figures[LAW_SQUARE])
    spread = max(square - mean * mean, _MIN_SPREAD)
    both = min(max(mean * (1.0 - mean) / spread - 1.0, _MIN_PLAYERS), _MAX_PLAYERS)
    figures[PRIOR_A] = max(mean * both, _MIN_PARAMETER)
    figures[PRIOR_B] = max((1.0 - mean) * both, _MIN_PARAMETER)
