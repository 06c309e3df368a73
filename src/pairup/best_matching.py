"""best_matching: the matching of greatest weight, for any weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.errors import MatchingError
from pairup.kernels.exact_matching.max_matching import SOLVED, new_matching_workspace, solve
from pairup.matching import Matching

Weights = NDArray[np.float64]


def best_matching(weights: ArrayLike, *, perfect: bool = True) -> Matching:
    """Find the matching of greatest weight among players 0, 1, ..., exactly.

    Edmonds' blossom algorithm, in O(n^3).

    Parameters
    ----------
    weights
        Symmetric matrix with a row and a column for each player; the diagonal is ignored. A couple
        of weight -inf is never matched. As many couples of weight +inf as possible are matched, and
        finite weights decide among the matchings with that many.
    perfect
        Whether all players must be matched, except one if their number is odd. Otherwise players
        stay out if that is worth more: couples of negative weight are never matched.

    Returns
    -------
    Matching
        Couples of player numbers, in ascending order. The weight is the greatest up to rounding;
        if several matchings have it, any of them may be returned.

    Raises
    ------
    MatchingError
        The weights are not a symmetric square of numbers, or forbid every perfect matching.

    Examples
    --------
    >>> from pairup import best_matching
    >>> best_matching([[0, 9, 7, 0], [9, 0, 6, 3], [7, 6, 0, 0], [0, 3, 0, 0]])
    Matching(0-2, 1-3)
    >>> best_matching([[0, -1], [-1, 0]], perfect=False)
    Matching(waiting 0, 1)
    """
    given = _checked(weights)
    players = len(given)
    usable = given if perfect else np.maximum(given, 0.0)
    mate = _solved(_with_phantom(usable) if players % 2 else usable)
    couples = [(i, int(mate[i])) for i in range(players) if i < mate[i] < players]
    if not perfect:
        couples = [(i, j) for i, j in couples if given[i, j] >= 0.0]
    coupled = {player for couple in couples for player in couple}
    return Matching(couples, [i for i in range(players) if i not in coupled])


def _solved(weights: Weights) -> NDArray[np.int64]:
    """Return the partner of each player."""
    workspace, players = new_matching_workspace(len(weights)), np.arange(len(weights))
    if solve(workspace, _scaled(weights), players) != SOLVED:
        alone = np.flatnonzero(np.all(weights == -np.inf, axis=1))
        where = (
            f"for all couples of player {alone[0]}" if len(alone) else "in every perfect matching"
        )
        raise MatchingError(
            f"some perfect matching must be allowed, got weights of -inf {where}: "
            "allow more couples, or ask for perfect=False"
        )
    return workspace.kept_mate


def _scaled(weights: Weights) -> Weights:
    """Bring the weights to size 1 by a power of two, so that no sum of them overflows."""
    finite = np.abs(weights[np.isfinite(weights)])
    _, exponent = np.frexp(finite.max(initial=0.0))
    # In two steps: the power itself may be beyond the range of numbers.
    half = int(exponent) // 2
    return np.ldexp(np.ldexp(weights, -half), half - int(exponent))


def _with_phantom(weights: Weights) -> Weights:
    """Add a player who is worth the same to everyone: the partner of the phantom waits."""
    finite = weights[np.isfinite(weights)]
    worth = finite.min(initial=np.inf) if finite.size else 0.0
    return np.pad(weights, (0, 1), constant_values=worth)


def _checked(weights: ArrayLike) -> Weights:
    rule = "weights must be a square of numbers, a row and a column for each player"
    try:
        table: NDArray[Any] = np.asarray(weights)
    except (TypeError, ValueError):  # ragged
        raise MatchingError(
            f"{rule}, got rows of different lengths: make them equally long"
        ) from None
    if table.size == 0 and table.ndim <= 2 and len(set(table.shape)) <= 1:
        return np.zeros((0, 0))
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise MatchingError(f"{rule}, got shape {table.shape}: try [[0, 1], [1, 0]]")
    if table.dtype.kind not in "biuf":
        raise MatchingError(f"{rule}, got {table.dtype} such as {table.flat[0]!r}: give floats")
    table = table.astype(np.float64)
    np.fill_diagonal(table, -np.inf)
    for i, j in np.argwhere(np.isnan(table)):
        raise MatchingError(
            f"weights must be numbers, got nan for players {i} and {j}: "
            "give -inf if they must not be matched"
        )
    for i, j in np.argwhere(table != table.T):
        raise MatchingError(
            f"weights must be symmetric, got {table[i, j]} for players {i} and {j} but "
            f"{table[j, i]} for {j} and {i}: try (weights + weights.T) / 2"
        )
    return table
