"""The learned prior: the law of all players' rates, fitted to the draws of the chain.

Newcomers start at what others have shown, those who left included. The state is that of
`pairup.policies.rank_one.steps`.
"""

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.state_layout import AVAILABLE
from pairup.policies.rank_one.means import expected
from pairup.policies.rank_one.state import (
    ANSWERED,
    COUNTED,
    LAW_MEAN,
    LAW_SQUARE,
    LAW_WEIGHT,
    OUTCOMES,
    PRIOR_A,
    PRIOR_B,
    WEIGHT,
)

_LAW_MEMORY = 8.0  # the players' law is of about the last eighth of the draws
_UNIFORM_PLAYERS = 1.0  # players of a uniform law that count beside those drawn
_MIN_SPREAD = 1e-6  # variance of the players' law
_MIN_PLAYERS, _MAX_PLAYERS = 0.5, 100.0  # a + b of a law: answers that it is worth
_MIN_PARAMETER = 0.05


@kernel
def welcome(state):
    """Start available players of whom nothing is known in the middle of the prior."""
    a, b = state.reals[PRIOR_A], state.reals[PRIOR_B]
    for x in range(state.counters[AVAILABLE]):
        i = slot(state.available[x])
        if state.drawn[i] == 0.0 and state.met[i] == 0.0:
            state.rates[i] = state.mean[i] = a / (a + b)
            state.square[i] = a * (a + 1.0) / ((a + b) * (a + b + 1.0))


@outlined
def learn_law(state):
    """Take the draws of the players available into the moments of their law, and fit the prior."""
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
        fresh = _LAW_MEMORY * count
        share = fresh / (reals[LAW_WEIGHT] * reals[OUTCOMES] + fresh)
        reals[LAW_MEAN] += share * (mean / count - reals[LAW_MEAN])
        reals[LAW_SQUARE] += share * (square / count - reals[LAW_SQUARE])
        reals[LAW_WEIGHT] += count * reals[WEIGHT]
        _fit_prior(state)


@kernel
def _fit_prior(state):
    """Fit the prior to the moments, among which some players of a uniform law count."""
    reals = state.reals
    share = _UNIFORM_PLAYERS / (_UNIFORM_PLAYERS + state.counters[COUNTED])
    mean = reals[LAW_MEAN] + share * (0.5 - reals[LAW_MEAN])
    square = reals[LAW_SQUARE] + share * (1.0 / 3.0 - reals[LAW_SQUARE])
    spread = max(square - mean * mean, _MIN_SPREAD)
    both = min(max(mean * (1.0 - mean) / spread - 1.0, _MIN_PLAYERS), _MAX_PLAYERS)
    reals[PRIOR_A] = max(mean * both, _MIN_PARAMETER)
    reals[PRIOR_B] = max((1.0 - mean) * both, _MIN_PARAMETER)
