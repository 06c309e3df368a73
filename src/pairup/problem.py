"""Problem: the acceptance rates of players, the optimum, the regret, the gaps.

Over 300 lines, because every property has its formula, its place in the paper and an example.

If the number of players is odd, the one who waits counts here as the partner of a phantom with
acceptance rate 0. Pairing sorted neighbours is then optimal for every number of players, and
the two matchings in which another player waits are neighbours of the optimum like all others.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pairup.checks import is_integer
from pairup.errors import MatchingError
from pairup.matching import Matching
from pairup.rates import Floats, checked_rates, random_rates, rates_around, rates_from_zero

_SHOWN = 8  # rates in a repr


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
    """Players who accept a proposed game with fixed probabilities.

    Players i and j, proposed to each other, play with probability ``rates[i] * rates[j]``
    (Section 2 of the paper). Problems with the same rates are equal, whatever their names.

    Parameters
    ----------
    rates : array_like of float, shape (n,)
        Acceptance rate of each player, in [0, 1], in any order; n is at least 2. The attribute
        `rates` is a read-only copy, an array of float64.
    name : str
        Name of the problem in tables and figures.

    Raises
    ------
    ProblemError
        The rates are not at least two numbers in [0, 1].

    Examples
    --------
    >>> from pairup import Problem
    >>> problem = Problem([0.9, 0.2, 0.8, 0.3, 0.1])
    >>> problem.optimum
    Matching(0-2, 1-3; waiting 4)
    >>> round(problem.best_games, 12)
    0.78
    """

    rates: Floats
    name: str = ""

    def __init__(self, rates: ArrayLike, name: str = "") -> None:
        object.__setattr__(self, "rates", checked_rates(rates))
        object.__setattr__(self, "name", name)

    @classmethod
    def from_zero(cls, pairs: int, gap: float) -> Problem:
        """Build a problem of the paper's first experiment: couples ``gap`` apart, down to 0.

        Both players of couple k = 1..pairs have the rate ``(pairs - k) * gap``.

        Parameters
        ----------
        pairs
            Number of couples, at least 2.
        gap
            Distance between successive couples, with ``0 < (pairs - 1) * gap <= 1``.

        Examples
        --------
        >>> Problem.from_zero(3, 0.1)
        Problem([0.2, 0.2, 0.1, 0.1, 0.0, 0.0], name='from_zero(3, 0.1)')
        """
        return cls(rates_from_zero(pairs, gap), f"from_zero({pairs}, {gap:g})")

    @classmethod
    def around(cls, mean: float, pairs: int, gap: float) -> Problem:
        """Build a problem of the paper's second experiment: couples ``gap`` apart around a mean.

        Both players of couple k = 1..pairs have the rate ``mean + (pairs + 1 - 2 * k) * gap / 2``.
        (The range that the paper prints for the mean excludes its own figures; this is the one of
        the experiment it repeats.)

        Parameters
        ----------
        mean
            Mean of all rates; all of them must lie in [0, 1].
        pairs
            Number of couples, at least 1.
        gap
            Distance between successive couples, not negative.

        Examples
        --------
        >>> Problem.around(0.5, 3, 0.1)
        Problem([0.6, 0.6, 0.5, 0.5, 0.4, 0.4], name='around(0.5, 3, 0.1)')
        """
        return cls(rates_around(mean, pairs, gap), f"around({mean:g}, {pairs}, {gap:g})")

    @classmethod
    def random(cls, players: int, seed: int = 0, law: tuple[float, float] = (1.0, 1.0)) -> Problem:
        """Draw the rates independently from a Beta law.

        Parameters
        ----------
        players
            Number of players, at least 2.
        seed
            Seed of the draws; the same seed gives the same problem.
        law
            The two parameters of the Beta law, both positive; (1, 1) is uniform.

        Examples
        --------
        >>> Problem.random(100, seed=7) == Problem.random(100, seed=7)
        True
        """
        drawn = random_rates(players, seed, law)
        first, second = map(float, law)
        shape = "" if (first, second) == (1, 1) else f", law=({first:g}, {second:g})"
        return cls(drawn, f"random({players}, seed={seed}{shape})")

    @property
    def players(self) -> int:
        """Number of players, n. They are called 0 to n - 1."""
        return len(self.rates)

    @property
    def pairs(self) -> int:
        """Number of couples in a full matching, n // 2 (the paper's L)."""
        return len(self.rates) // 2

    @cached_property
    def optimum(self) -> Matching:
        """The matching with the most expected games: neighbours in the order of the rates.

        The best couple comes first; inside a couple, the lower index. Among equal rates the lower
        index counts as the better. If n is odd, the last player waits.

        Examples
        --------
        >>> Problem([0.2, 0.9, 0.3, 0.8]).optimum
        Matching(1-3, 0-2)
        """
        order = np.argsort(-self.rates, kind="stable")
        paired = 2 * self.pairs
        couples = np.sort(order[:paired].reshape(-1, 2), axis=1)
        return Matching(couples.tolist(), order[paired:].tolist())

    @cached_property
    def best_games(self) -> float:
        """Expected games of the optimum in one round."""
        return self.games(self.optimum)

    def games(self, matching: Iterable[Iterable[Hashable]]) -> float:
        """Return the expected number of games of a matching in one round, at most `best_games`.

        The order of the couples does not change a bit of it.

        Parameters
        ----------
        matching
            A `Matching` or any couples of player indices. It need not be full: a player in no
            couple plays no game.

        Raises
        ------
        MatchingError
            A player is unknown or appears twice, or a couple is not two players.

        Examples
        --------
        >>> Problem([0.5, 1.0, 0.5, 1.0]).games([(0, 1), (2, 3)])
        1.0
        """
        if not isinstance(matching, Matching):
            matching = Matching(matching)
        for player in matching.players:
            # A negative index is an element to NumPy, but not a player.
            if not is_integer(player) or not 0 <= player < self.players:
                raise MatchingError(
                    f"players of this problem are the integers 0 to {self.players - 1}, "
                    f"got {player!r}: use the index of the player in `rates`"
                )
        couples = np.array(matching.couples, dtype=np.intp).reshape(-1, 2)
        # fsum rounds once, so that every order of the couples gives the same float.
        return math.fsum(self.rates[couples[:, 0]] * self.rates[couples[:, 1]])

    def regret(self, matching: Iterable[Iterable[Hashable]]) -> float:
        """Return the expected number of games that a matching loses in one round.

        Parameters
        ----------
        matching
            As in `games`.

        Returns
        -------
        float
            Not negative; exactly 0 for the optimum.

        Examples
        --------
        >>> Problem([0.5, 1.0, 0.5, 1.0]).regret([(0, 1), (2, 3)])
        0.25
        """
        # Each product is rounded, so a matching as good as the optimum may seem better by one bit.
        return max(0.0, self.best_games - self.games(matching))

    @cached_property
    def strict_order(self) -> bool:
        """Whether each couple of the optimum beats the next one strictly (Assumption 1).

        The worst rate of a couple must exceed the best rate of the next couple; for odd n, the
        rate of the player who waits as well. It holds if and only if every neighbour gap is
        positive, and the optimum is then unique.

        Examples
        --------
        >>> Problem([0.9, 0.3, 0.3, 0.1]).strict_order
        False
        """
        _, worst, best_of_next, _ = self._successive()
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
        >>> Problem([1.0, 0.75, 0.5, 0.25]).neighbour_gaps
        array([0.25 , 0.1875])
        """
        i, i2, j, j2 = self._successive()
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
        >>> Problem([1.0, 0.75, 0.5, 0.25]).player_gaps
        array([0.375, 0.25 ])
        """
        i, i2, j, j2 = self._successive()
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

    def _successive(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the rates i >= i' >= j >= j' of all successive couples, the phantom included."""
        phantom = np.zeros(self.players % 2)
        couples = np.concatenate([np.sort(self.rates)[::-1], phantom]).reshape(-1, 2)
        return couples[:-1, 0], couples[:-1, 1], couples[1:, 0], couples[1:, 1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return np.array_equal(self.rates, other.rates)

    def __hash__(self) -> int:
        return hash(self.rates.tobytes())

    def __reduce__(self) -> tuple[type[Problem], tuple[Floats, str]]:
        # Through __init__, because an unpickled array would be writable.
        return type(self), (self.rates, self.name)

    def __repr__(self) -> str:
        shown = ", ".join(str(rate) for rate in self.rates[:_SHOWN].tolist())
        rest = f", ... {self.players} players" if self.players > _SHOWN else ""
        name = f", name={self.name!r}" if self.name else ""
        return f"Problem([{shown}{rest}]{name})"


def _interleaved(first: Floats, second: Floats) -> Floats:
    both = np.stack([first, second], axis=1).ravel()
    both.setflags(write=False)
    return both
