"""Gaps: what the neighbours of the optimum lose, where couples play with the product of two rates.

If the number of players is odd, the one who waits counts here as the partner of a phantom with
acceptance rate 0. Pairing sorted neighbours is then optimal for every number of players, and
the two matchings in which another player waits are neighbours of the optimum like all others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from pairup.rates import Floats


class Gaps(ABC):
    """The gaps of a problem; they are refused where its optimum does not follow from the rates."""

    @property
    @abstractmethod
    def _ranked_rates(self) -> Floats:
        """Acceptance rate of each player, whose order is the optimum; else a `ProblemError`."""

    @cached_property
    def strict_order(self) -> bool:
        """Whether each couple of the optimum beats the next one strictly (Assumption 1).

        The worst rate of a couple must exceed the best rate of the next couple; for odd n, the
        rate of the player who waits as well. It holds if and only if every neighbour gap is
        positive, and the optimum is then unique.

        Examples
        --------
        >>> from pairup import Problem
        >>> Problem([0.9, 0.3, 0.3, 0.1]).strict_order
        False
        """
        _, worst, best_of_next, _ = _successive(self._ranked_rates)
        return bool(np.all(worst > best_of_next))

    @cached_property
    def neighbour_gaps(self) -> Floats:
        """Regret of each neighbour of the optimum (the Delta_a of Theorem 1).

        For the successive couples {i, i'} and {j, j'} of the optimum, rates i >= i' >= j >= j', in
        this order: swapping i with j gives {j, i'}, {i, j'} and loses (i - j)(i' - j'); swapping i
        with j' gives {j', i'}, {i, j} and loses (i - j')(i' - j), which is never more.

        Returns
        -------
        ndarray of float64, shape (2 * ceil(n / 2) - 2,)
            Two for each two successive couples, the best couples first; read-only. That is the
            paper's 2L - 2 if n is even. If n is odd there are 2L, because the last couple is the
            waiting player with the phantom, and a swap with it makes another player wait. Empty
            for two players.

        Examples
        --------
        >>> from pairup import Problem
        >>> Problem([1.0, 0.75, 0.5, 0.25]).neighbour_gaps
        array([0.25 , 0.1875])
        """
        i, i2, j, j2 = _successive(self._ranked_rates)
        return _interleaved((i - j) * (i2 - j2), (i - j2) * (i2 - j))

    @property
    def gap(self) -> float:
        """Least regret of a neighbour of the optimum (the paper's Delta).

        Infinite for two players, who have only one matching; 0 if `strict_order` fails.
        """
        return float(self.neighbour_gaps.min(initial=math.inf))

    @cached_property
    def player_gaps(self) -> Floats:
        """Least gap that comparing players must resolve, for each neighbour of the optimum.

        Theorem 2 writes i(i' - j') with primes that do not agree. Read it from the criterion: the
        neighbour {j, i'}, {i, j'} is explored while one of the couples {i, j'} and {j, i'} may
        still be better than the leader's {i, i'}. Their true gaps are i(i' - j') and i'(i - j);
        both couples are played together, so the smaller gap decides how often.

        The array has min(i(i' - j'), i'(i - j)) for each neighbour, in the order of
        `neighbour_gaps`; it is read-only. A couple with the phantom is never the smaller one.

        Examples
        --------
        >>> from pairup import Problem
        >>> Problem([1.0, 0.75, 0.5, 0.25]).player_gaps
        array([0.375, 0.25 ])
        """
        i, i2, j, j2 = _successive(self._ranked_rates)
        return _interleaved(
            np.minimum(i * (i2 - j2), i2 * (i - j)), np.minimum(i * (i2 - j), i2 * (i - j2))
        )

    @property
    def player_gap(self) -> float:
        """Least gap that comparing players must resolve (the paper's Delta-tilde).

        The smallest of `player_gaps`. Their comparisons are the four ways to label i, i' and
        j, j' in i(i' - j'), so that this is the minimum of Theorem 2 over all labellings. It is
        never less than `gap`; infinite for two players.
        """
        return float(self.player_gaps.min(initial=math.inf))


def _successive(rates: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the rates i >= i' >= j >= j' of all successive couples, the phantom included."""
    phantom = np.zeros(len(rates) % 2)
    couples = np.concatenate([np.sort(rates)[::-1], phantom]).reshape(-1, 2)
    return couples[:-1, 0], couples[:-1, 1], couples[1:, 0], couples[1:, 1]


def _interleaved(first: Floats, second: Floats) -> Floats:
    both = np.stack([first, second], axis=1).ravel()
    both.setflags(write=False)
    return both
