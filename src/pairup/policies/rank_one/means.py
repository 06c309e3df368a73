"""Posterior means of the rates, from the draws of the chain.

The state is that of `pairup.policies.rank_one.steps`.
"""

from pairup.compiled.kernels import kernel
from pairup.policies.rank_one.couple_layouts import at, partner, row_length
from pairup.policies.rank_one.posterior import frozen_rate
from pairup.policies.rank_one.state import (
    ANSWERED,
    FROZEN_RATES,
    LEARNS_PRIOR,
    OUTCOMES,
    PRIOR_A,
    PRIOR_B,
    WEIGHT,
)

_MEMORY = 20.0  # the means are over about the last twentieth of the draws


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
