"""Gaps: the regret of the neighbours of the optimum, if couples play with products of rates.

If the number of players is odd, the one who waits counts here as the partner of a phantom with
acceptance rate 0. Pairing sorted neighbours is then optimal for every number of players, and
the two matchings in which another player waits are neighbours of the optimum like all others.
"""

from __future__ import annotations

import numpy as np

from pairup.problem.rates import Floats


def in_strict_order(rates: Floats) -> bool:
    """Whether each couple of the optimum beats the next one, see `Problem.strict_order`."""
    _, worst, best_of_next, _ = _successive(rates)
    return bool(np.all(worst > best_of_next))


def neighbour_gaps(rates: Floats) -> Floats:
    """Return the regret of each neighbour of the optimum, see `Problem.neighbour_gaps`."""
    i, i2, j, j2 = _successive(rates)
    return _interleaved((i - j) * (i2 - j2), (i - j2) * (i2 - j))


def player_gaps(rates: Floats) -> Floats:
    """Return the least gap of players for each neighbour, see `Problem.player_gaps`."""
    i, i2, j, j2 = _successive(rates)
    return _interleaved(
        np.minimum(i * (i2 - j2), i2 * (i - j)), np.minimum(i * (i2 - j), i2 * (i - j2))
    )


def _successive(rates: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the rates i >= i' >= j >= j' of all successive couples, the phantom included."""
    phantom = np.zeros(len(rates) % 2)
    couples = np.concatenate([np.sort(rates)[::-1], phantom]).reshape(-1, 2)
    return couples[:-1, 0], couples[:-1, 1], couples[1:, 0], couples[1:, 1]


def _interleaved(first: Floats, second: Floats) -> Floats:
    both = np.stack([first, second], axis=1).ravel()
    both.setflags(write=False)
    return both
