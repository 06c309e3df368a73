"""How likely random pairing is to give each player a game, among the couples that are allowed.

Random pairing takes the couples in a random order, each whose players are still free. Let couples
come at random moments, and u[i] be how likely player i is still free: u[i] falls at the rate u[i]
times the sum of u[j] over those whom i may meet. This takes players for independent. It is right
for stars and for two sides, and elsewhere a little generous: it leaves nobody over where few are,
and gives the ends of a line of four 0.61 instead of 2/3.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import outlined
from pairup.compiled.state_fields import Reals, new_state

_FIRST_STEP, _GROWTH, _STEPS = 0.125, 1.5, 24  # in units of the time in which a player is met


class RandomPairing(NamedTuple):
    """What random pairing gives to each player."""

    games: np.ndarray = Reals("players")  # expected number, at most 1
    free: np.ndarray = Reals("players")  # how likely it is to stay without a partner
    around: np.ndarray = Reals("players")  # workspace
    taken: np.ndarray = Reals("players")  # workspace


def new_random_pairing(players, low, high, chances):
    """Pair players at random; the couples (low[k], high[k]) of them may meet.

    `chances` are how likely these couples are to play.

    Examples
    --------
    Three guests may meet one host only:

    >>> one, other = np.array([0, 0, 0]), np.array([1, 2, 3])
    >>> new_random_pairing(4, one, other, np.array([0.9, 0.6, 0.3])).games.round(2).tolist()
    [0.6, 0.3, 0.2, 0.1]
    """
    pairing = new_state(RandomPairing, {"players": players}, free=np.ones(players))
    can_meet = np.zeros(players, np.bool_)
    can_meet[low] = can_meet[high] = True  # others, however many, do not matter
    step = _FIRST_STEP * np.count_nonzero(can_meet) / max(2 * len(low), 1)
    _pair(pairing, low, high, chances, step)
    return pairing


@outlined
def _pair(pairing, low, high, chances, step):
    """Advance time, in steps that grow as players who are free become rare.

    In a step a couple takes the same from both players: as much as would be right for the one who
    has more around, if all who are free had as many.
    """
    games, free, around, taken = pairing
    for _ in range(_STEPS):
        around[:] = 0.0
        taken[:] = 0.0
        for k in range(len(low)):
            around[low[k]] += free[high[k]]
            around[high[k]] += free[low[k]]
        for k in range(len(low)):
            i, j = low[k], high[k]
            meets = step * free[i] * free[j] / (1.0 + step * max(around[i], around[j]))
            taken[i] += meets
            taken[j] += meets
            games[i] += meets * chances[k]
            games[j] += meets * chances[k]
        for i in range(len(free)):
            free[i] -= taken[i]
        step *= _GROWTH
