"""Evidence of `RankOneThompson` that fades, and that outlives the players who leave.

Evidence fades without being touched: a new outcome has the weight WEIGHT, which grows, and what was
observed before weighs less and less beside it. When the weight gets large, all is divided by it.
Tries and games of couples stay what they are: numbers of outcomes.
"""

import numpy as np

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.policies.rank_one.couple_layouts import at, clear, erase, partner, place, row_length
from pairup.policies.rank_one.posterior import recency
from pairup.policies.rank_one.state import (
    FADED,
    FROZEN_RATES,
    MOMENTS_WEIGHT,
    OUTCOMES,
    WEIGHT,
    WEIGHT_GROWTH,
)

MAX_WEIGHT = 2.0**30
_NEGLIGIBLE = 2.0**-30  # outcomes; less is forgotten, after a fading of many half-lives


@kernel
def fade_round(state):
    """Fade evidence by a round."""
    fade(state, state.reals[WEIGHT_GROWTH])


@kernel
def fade(state, growth):
    """Fade evidence to the share 1 / growth of its weight."""
    state.counters[FADED] = 1
    state.reals[WEIGHT] *= growth
    if state.reals[WEIGHT] > MAX_WEIGHT:
        _renormalise(state)
    state.reals[OUTCOMES] = 1.0 / state.reals[WEIGHT]


@outlined
def _renormalise(state):
    """Make the weight of a new outcome 1 again."""
    weight = state.reals[WEIGHT]
    state.reals[WEIGHT] = 1.0
    state.reals[MOMENTS_WEIGHT] /= weight
    for i in range(len(state.met)):
        # One by one: on a GPU they are arrays of several types.
        state.accepted[i] = _lighter(state.accepted[i], weight)
        state.declined[i] = _lighter(state.declined[i], weight)
        state.met[i] = _lighter(state.met[i], weight)
        state.gone[i] = _lighter(state.gone[i], weight)
        state.drawn[i] = _lighter(state.drawn[i], weight)
        state.fitted[i] /= weight
        if state.unsure[i] > 0.0:
            _renormalise_missed(state, i, weight)


@kernel
def _lighter(count, weight):
    lighter = count / weight
    return lighter if lighter > _NEGLIGIBLE else 0.0


@kernel
def _renormalise_missed(state, i, weight):
    couples, total = state.couples, 0.0
    for x in range(row_length(couples, i)):
        k = at(couples, i, x)
        couples.missed[k] = _lighter(couples.missed[k], weight)
        total += couples.missed[k]
    for k in range(FROZEN_RATES):
        state.frozen_missed[i, k] = _lighter(state.frozen_missed[i, k], weight)
        total += state.frozen_missed[i, k]
    state.unsure[i] = total


@outlined
def fade_step(state, growth):
    """`fade`, callable from Python."""
    fade(state, growth)


@outlined
def part_step(state, i, frozen):
    """Take the player in slot i, who leaves, out of the rows of the players it met.

    With `frozen`, the number of a frozen rate, they keep what they learnt in common games, as
    outcomes with a player of this rate. If it is below 0, those outcomes go.
    """
    couples = state.couples
    for x in range(row_length(couples, i)):
        j, k = slot(partner(couples, i, x)), at(couples, i, x)
        if couples.tries[k] == 0:
            continue
        back = at(couples, j, place(couples, j, i))
        weight = recency(state, j)
        if frozen >= 0:
            state.gone[j] += weight * couples.tries[k]
            state.frozen_missed[j, frozen] += couples.missed[k]
        else:
            # Of the two places one has the games, the other none.
            untold = couples.games[k] + couples.games[back] - couples.told[k] - couples.told[back]
            state.accepted[j] = max(state.accepted[j] - weight * untold, 0.0)
            state.met[j] = max(state.met[j] - weight * couples.tries[k], 0.0)
            state.unsure[j] = max(state.unsure[j] - couples.missed[k], 0.0)
        erase(couples, j, i)
        state.fitted[j] = 0.0
        if state.usual[j] == i:
            state.usual[j] = _usual_partner(state, j)
    clear(couples, i)
    for k in range(FROZEN_RATES):
        state.frozen_missed[i, k] = 0.0
    state.unsure[i] = 0.0
    state.usual[i] = -1


@kernel
def _usual_partner(state, i):
    """The partner whom player i met most, of several the lowest slot, or -1."""
    couples, most, usual = state.couples, 0, np.int64(-1)
    for x in range(row_length(couples, i)):
        tries = couples.tries[at(couples, i, x)]
        if tries > most:
            most, usual = tries, np.int64(partner(couples, i, x))
    return usual
