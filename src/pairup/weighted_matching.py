"""best_matching: the matching of greatest weight, for any weights."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import checked_symmetric, even_out
from pairup.compiled.matchings import max_matching, sparse_matching
from pairup.compiled.matchings.sparse_matching import new_couple_graph
from pairup.errors import MatchingError
from pairup.matching import Matching

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

Weights = NDArray[np.float64]
_RULE = "weights must be a square of numbers, a row and a column for each player"
_FEW = 0.2  # share of all couples below which it pays to look at the allowed ones alone


class _Couples(NamedTuple):
    """Couples (low[k], high[k]) that are allowed, ascending, and their weights."""

    players: int
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    weight: Weights


def best_matching(weights: ArrayLike | sparray | spmatrix, *, perfect: bool = True) -> Matching:
    """Find the matching of greatest weight among players 0, 1, ..., exactly.

    Edmonds' blossom algorithm. With n players it takes O(n^3); where few couples are allowed, it
    takes time and memory for those couples only.

    Parameters
    ----------
    weights
        Symmetric matrix with a row and a column for each player, up to rounding; the diagonal is
        ignored. A couple of weight -inf is never matched. As many couples of weight +inf as
        possible are matched, and finite weights decide among the matchings with that many. In a
        sparse array of SciPy, entries that are not stored are couples that are never matched.
    perfect
        Whether all players must be matched, except one if their number is odd. Otherwise players
        stay out if that is worth more: couples of negative weight are never matched, and among the
        matchings of greatest weight one with most couples is taken.

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

    Players in a row, each of whom may meet the next one only:

    >>> from scipy.sparse import coo_array
    >>> row = coo_array(([2.0, 3.0, 2.0], ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    >>> best_matching(row + row.T)
    Matching(0-1, 2-3)
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(weights):
        couples = _checked_sparse(weights)
    else:
        table = _checked(weights)
        allowed = np.triu(table > -np.inf, 1)
        low, high = np.nonzero(allowed)
        couples = _Couples(len(table), low, high, table[low, high])
        if len(low) >= _FEW * allowed.size / 2:
            return _matching(couples.players, _solved_dense(table, perfect))
    return _matching(couples.players, _solved_sparse(couples, perfect))


def _matching(players: int, mate: NDArray[np.int64]) -> Matching:
    """Turn the partner of each player, out of range for those who wait, into a matching."""
    coupled = (mate >= 0) & (mate < players)
    couples = [(i, int(mate[i])) for i in range(players) if coupled[i] and i < mate[i]]
    return Matching(couples, [i for i in range(players) if not coupled[i]])


def _solved_dense(table: Weights, perfect: bool) -> NDArray[np.int64]:
    """Return the partner of each player; at most one of them is the phantom."""
    usable = table if perfect else np.maximum(table, 0.0)
    weights = _with_phantom(usable) if len(table) % 2 else usable
    workspace = max_matching.new_matching_workspace(len(weights))
    status = max_matching.solve(workspace, _scaled(weights), np.arange(len(weights)))
    if status != max_matching.SOLVED:
        raise _no_perfect_matching(np.all(weights == -np.inf, axis=1))
    mate = workspace.kept_mate[: len(table)]
    if not perfect:
        coupled = mate < len(table)
        mate[coupled] = np.where(table[coupled, mate[coupled]] >= 0.0, mate[coupled], -1)
    return mate


def _solved_sparse(couples: _Couples, perfect: bool) -> NDArray[np.int64]:
    """Return the partner of each player, -1 for those who wait."""
    if perfect and couples.players % 2:
        couples = _with_sparse_phantom(couples)
    players, low, high, weight = couples
    workspace = sparse_matching.new_sparse_workspace(players, len(low))
    graph, everybody = new_couple_graph(players, low, high), np.ones(players, np.bool_)
    status = sparse_matching.solve_graph(workspace, graph, _scaled(weight), everybody, perfect)
    if status != max_matching.SOLVED:
        raise _no_perfect_matching(np.diff(graph.start) == 0)
    return workspace.mate


def _no_perfect_matching(alone: NDArray[np.bool_]) -> MatchingError:
    """Return the error of weights without a perfect matching; it names players without couples."""
    where = f"for all couples of player {alone.argmax()}" if alone.any() else "in every one"
    return MatchingError(
        f"some perfect matching must be allowed, got forbidden couples {where}: "
        "allow more couples, or ask for perfect=False"
    )


def _scaled(weights: Weights) -> Weights:
    """Scale the weights to size 1 by a power of two, so that no sum of them overflows."""
    finite = np.abs(weights[np.isfinite(weights)])
    _, exponent = np.frexp(finite.max(initial=0.0))
    # In two steps: the power itself may be beyond the range of numbers.
    half = int(exponent) // 2
    return np.ldexp(np.ldexp(weights, -half), half - int(exponent))


def _with_phantom(weights: Weights) -> Weights:
    """Add a phantom with the same weight for everyone, whose partner waits."""
    finite = weights[np.isfinite(weights)]
    worth = finite.min(initial=np.inf) if finite.size else 0.0
    return np.pad(weights, (0, 1), constant_values=worth)


def _with_sparse_phantom(couples: _Couples) -> _Couples:
    """Add a phantom whom everybody may be coupled with, for the same weight."""
    players, low, high, weight = couples
    finite = weight[np.isfinite(weight)]
    ends = np.append(low, np.arange(players)), np.append(high, np.full(players, players))
    weights = np.append(weight, np.full(players, finite.min() if finite.size else 0.0))
    order = np.lexsort(ends[::-1])
    return _Couples(players + 1, ends[0][order], ends[1][order], weights[order])


def _checked_sparse(weights: Any) -> _Couples:
    """Check a sparse array of SciPy, and return the couples that it allows."""
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
        raise MatchingError(f"{_RULE}, got shape {weights.shape}: give as many rows as columns")
    if weights.dtype.kind not in "biuf":
        raise MatchingError(f"{_RULE}, got {weights.dtype}: give floats")
    entries = weights.tocsr(copy=True).astype(np.float64).tocoo()
    entries.sum_duplicates()  # in the order of columns, then rows
    order = np.lexsort((entries.col, entries.row))
    row, column = entries.row[order].astype(np.int64), entries.col[order].astype(np.int64)
    value = entries.data[order]
    allowed = (row != column) & (value != -np.inf)
    row, column, value = row[allowed], column[allowed], value[allowed]
    _check_values(row, column, value)
    number = row * weights.shape[0] + column  # of each entry, ascending
    mirrored = column * weights.shape[0] + row
    for k in np.flatnonzero(~np.isin(mirrored, number)):
        raise _asymmetric(row[k], column[k], value[k], "nothing")
    other = value[np.searchsorted(number, mirrored)]
    evened, wrong = even_out(value, other)
    for k in np.flatnonzero(wrong):
        raise _asymmetric(row[k], column[k], value[k], other[k])
    upper = row < column
    return _Couples(weights.shape[0], row[upper], column[upper], evened[upper])


def _check_values(row: NDArray[np.int64], column: NDArray[np.int64], value: Weights) -> None:
    for k in np.flatnonzero(np.isnan(value)):
        raise MatchingError(
            f"weights must be numbers, got nan for players {row[k]} and {column[k]}: "
            "give -inf if they must not be matched"
        )


def _asymmetric(i: int, j: int, weight: float, other: object) -> MatchingError:
    return MatchingError(
        f"weights must be symmetric, got {weight} for players {i} and {j} but {other} for {j} and "
        f"{i}: store both"
    )


def _checked(weights: ArrayLike) -> Weights:
    try:
        table: NDArray[Any] = np.asarray(weights)
    except (TypeError, ValueError):  # ragged
        raise MatchingError(
            f"{_RULE}, got rows of different lengths: make them equally long"
        ) from None
    if table.size == 0 and table.ndim <= 2 and len(set(table.shape)) <= 1:
        return np.zeros((0, 0))
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise MatchingError(f"{_RULE}, got shape {table.shape}: try [[0, 1], [1, 0]]")
    if table.dtype.kind not in "biuf":
        raise MatchingError(f"{_RULE}, got {table.dtype} such as {table.flat[0]!r}: give floats")
    table = table.astype(np.float64)
    np.fill_diagonal(table, -np.inf)
    row, column = np.nonzero(np.isnan(table))
    _check_values(row, column, table[row, column])
    return checked_symmetric("weights", table, MatchingError)
