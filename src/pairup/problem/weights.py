"""Couple weights: the games that each couple is expected to play if it is proposed.

Everything about a problem without changes follows from them: the expected games of a matching, the
best matching, the regret. There are three kinds. The weight of a couple is the product of its
players' acceptance rates (`ProductWeights`, the paper's model), the same between two sides
(`SideWeights`), or any probability of its own (`MatrixWeights`, the paper's setting before it
assumes products).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.errors import MatchingError
from pairup.matching import Matching
from pairup.problem.rates import Floats, checked_couple_rates, checked_rates
from pairup.weighted_matching import best_matching

Couples = NDArray[np.intp]  # a row of two players for each couple


class ProductWeights:
    """The weight of a couple is the product of its players' acceptance rates.

    Examples
    --------
    >>> weights = ProductWeights([0.5, 1.0, 0.5])
    >>> weights.of(np.array([[0, 1], [0, 2]]))
    array([0.5 , 0.25])
    """

    def __init__(self, rates: ArrayLike) -> None:
        self.given = checked_rates(rates)  # from which the weights follow; read-only

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.given)

    @property
    def matrix(self) -> Floats:
        """Weight of each couple, in a row and a column for each player; 0 on the diagonal."""
        products = np.outer(self.given, self.given)
        np.fill_diagonal(products, 0.0)
        return products

    def of(self, couples: Couples) -> Floats:
        """Return the weight of each couple."""
        return self.given[couples[:, 0]] * self.given[couples[:, 1]]

    def best_matching(self) -> Matching:
        """Return neighbours in the order of the rates; among equal rates the lower index leads."""
        order = np.argsort(-self.given, kind="stable")
        paired = len(order) // 2 * 2
        couples = np.sort(order[:paired].reshape(-1, 2), axis=1)
        return Matching(couples.tolist(), order[paired:].tolist())

    def definition(self) -> dict[str, Any]:
        """Return them as plain JSON values."""
        return {"rates": self.given.tolist()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.given,)  # an unpickled array would be writable


class SideWeights(ProductWeights):
    """The weight of a row and a column is the product of their rates; others may not meet.

    The players 0 to ``rows - 1`` are the rows, the rest are the columns.

    Examples
    --------
    >>> weights = SideWeights([0.5, 0.9], [0.4, 1.0, 0.2])
    >>> weights.best_matching()
    Matching(1-3, 0-2; waiting 4)
    """

    def __init__(self, rows: ArrayLike, columns: ArrayLike) -> None:
        above = checked_rates(rows, "rates of rows", 1)
        self.given = np.append(above, checked_rates(columns, "rates of columns", 1))
        self.given.setflags(write=False)
        self.rows = len(above)

    @property
    def matrix(self) -> Floats:
        """Weight of each couple, in a row and a column for each player; 0 on the same side."""
        products = np.zeros((self.players, self.players))
        products[: self.rows, self.rows :] = np.outer(*self._sides)
        return products + products.T

    def of(self, couples: Couples) -> Floats:
        """Return the weight of each couple."""
        for i, j in couples[(couples[:, 0] < self.rows) == (couples[:, 1] < self.rows)]:
            side = "rows" if i < self.rows else "columns"
            raise MatchingError(
                f"players {i} and {j} may not meet, both are {side}: couple the rows, 0 to "
                f"{self.rows - 1}, with the columns, {self.rows} to {self.players - 1}"
            )
        return super().of(couples)

    def best_matching(self) -> Matching:
        """Return the best row with the best column, and so on; of equals the lower index leads."""
        rows, columns = (np.argsort(-rates, kind="stable") for rates in self._sides)
        columns += self.rows
        couples = zip(rows.tolist(), columns.tolist(), strict=False)
        pairs = min(len(rows), len(columns))
        return Matching(couples, [*rows[pairs:].tolist(), *columns[pairs:].tolist()])

    @property
    def _sides(self) -> tuple[Floats, Floats]:
        return self.given[: self.rows], self.given[self.rows :]

    def definition(self) -> dict[str, Any]:
        """Return them as plain JSON values."""
        rows, columns = self._sides
        return {"rows": rows.tolist(), "columns": columns.tolist()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._sides


class MatrixWeights:
    """The weight of each couple is a probability of its own.

    Examples
    --------
    >>> weights = MatrixWeights([[0, 0.5, 0.9], [0.5, 0, 0.1], [0.9, 0.1, 0]])
    >>> weights.best_matching()
    Matching(0-2; waiting 1)
    """

    def __init__(self, rates: ArrayLike) -> None:
        self.given = checked_couple_rates(rates)

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.given)

    @property
    def matrix(self) -> Floats:
        """Weight of each couple, in a row and a column for each player; 0 on the diagonal."""
        return self.given

    def of(self, couples: Couples) -> Floats:
        """Return the weight of each couple."""
        return self.given[couples[:, 0], couples[:, 1]]

    def best_matching(self) -> Matching:
        """Return an exact matching; among couples of equal weight the lower indices lead."""
        best = best_matching(self.given)
        couples = sorted(best.couples, key=lambda couple: (-self.given[couple], couple))
        return Matching(couples, best.waiting)

    def definition(self) -> dict[str, Any]:
        """Return them as plain JSON values."""
        return {"couple_rates": self.given.tolist()}

    def __reduce__(self) -> tuple[type[MatrixWeights], tuple[Floats]]:
        return type(self), (self.given,)  # an unpickled array would be writable


CoupleWeights = ProductWeights | MatrixWeights
