"""MeetingGraph: which couples may meet, and what a game of each is worth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import checked_list, checked_symmetric, is_integer
from pairup.compiled.matchings.sparse_matching import (
    NOBODY,
    CoupleGraph,
    new_couple_graph,
    new_sparse_workspace,
    solve_graph,
)
from pairup.errors import MatchingError, PairupError
from pairup.matching import Couple, Matching, as_couple

Allowed: TypeAlias = ArrayLike | Iterable[Iterable[Hashable]] | None
MAX_WORTH = 1e100  # sums of larger numbers may overflow


class MeetingGraph:
    """Couples of players 0, 1, ... who may meet, in ascending order, and the worth of their games.

    Parameters
    ----------
    players
        Number of players.
    allowed
        Symmetric matrix of Booleans, or the couples who may meet; None: all may.
    worth
        Symmetric matrix of numbers of at least 0, of which those of allowed couples count; None:
        every game is worth 1.
    error
        Class of the error if one of them breaks a rule.

    Examples
    --------
    >>> graph = MeetingGraph(3, [(0, 1), (2, 1)], worth=[[0, 1, 5], [1, 0, 0.5], [5, 0.5, 0]])
    >>> graph.low, graph.high, graph.worth
    (array([0, 1]), array([1, 2]), array([1. , 0.5]))
    """

    def __init__(
        self,
        players: int,
        allowed: Allowed = None,
        worth: ArrayLike | None = None,
        error: type[PairupError] = MatchingError,
    ) -> None:
        self.players = players
        self.low, self.high = _checked_couples(players, allowed, error)
        if worth is None:
            self.worth = np.ones(len(self.low))
        else:
            self.worth = _checked_worth(players, worth, error)[self.low, self.high]
        for array in (self.low, self.high, self.worth):
            array.setflags(write=False)

    @property
    def is_complete(self) -> bool:
        """Whether all couples may meet, and all games are worth the same."""
        everybody = len(self.low) == self.players * (self.players - 1) // 2
        return everybody and bool(np.all(self.worth == self.worth[:1]))

    @property
    def is_plain(self) -> bool:
        """Whether all couples may meet, and every game is worth 1."""
        return self.is_complete and bool(np.all(self.worth == 1.0))

    def worth_table(self) -> NDArray[np.float64]:
        """Return the worth of a game of each couple as a matrix, NaN for couples not allowed."""
        table = np.full((self.players, self.players), np.nan)
        table[self.low, self.high] = table[self.high, self.low] = self.worth
        return table

    def worth_of(self, couples: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the worth of a game of each given couple; refuse couples that may not meet."""
        low, high = couples.min(axis=1), couples.max(axis=1)
        numbers = self.low * self.players + self.high  # ascending
        places, found = find_sorted(low * self.players + high, numbers)
        for i, j in couples[~found]:
            raise MatchingError(f"players {i} and {j} may not meet: leave the couple out")
        return self.worth[places]

    def best_matching(self, values: NDArray[np.float64]) -> Matching:
        """Return the matching of greatest worth times value, a value for each couple.

        Of several, one with most couples. The best couple comes first.
        """
        graph, worth = self.compiled()
        workspace = new_sparse_workspace(self.players, len(worth))
        solve_graph(workspace, graph, worth * values, np.ones(self.players, np.bool_), False)
        mate = workspace.mate
        matched = np.flatnonzero(mate[self.low] == self.high)
        order = matched[np.argsort(-(worth * values)[matched], kind="stable")]
        couples = zip(self.low[order].tolist(), self.high[order].tolist(), strict=True)
        return Matching.of_distinct(couples, np.flatnonzero(mate == NOBODY).tolist())

    def relabelled(self, labels: NDArray[np.int64]) -> MeetingGraph:
        """Return the graph in which player i is player ``labels[i]`` of this one."""
        place = np.argsort(labels)
        return self.of_couples(self.players, place[self.low], place[self.high], self.worth)

    def compiled(self, slots: int | None = None) -> tuple[CoupleGraph, NDArray[np.float64]]:
        """Return the graph, and the worth of each couple, as compiled steps need them.

        The greatest worth is scaled to between 1/2 and 1 by a power of two, which changes no best
        matching. There are at least as many slots as players; the others may meet nobody.
        """
        _, exponent = np.frexp(self.worth.max(initial=0.0))
        graph = new_couple_graph(slots or self.players, self.low, self.high)
        return graph, np.ldexp(self.worth, -int(exponent))

    @classmethod
    def of_couples(
        cls,
        players: int,
        one: NDArray[np.int64],
        other: NDArray[np.int64],
        worth: NDArray[np.float64],
    ) -> MeetingGraph:
        """Make a graph of couples that were checked, and are distinct, in any order."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        numbers = low * players + high
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers)
            low, high, worth = low[order], high[order], worth[order]
        graph = cls.__new__(cls)
        graph.players = players
        graph.low, graph.high, graph.worth = low, high, worth
        return graph

    @classmethod
    def of_rows(
        cls,
        players: int,
        couples: NDArray[np.integer[Any]],
        worth: NDArray[np.float64] | None = None,
        error: type[PairupError] = MatchingError,
    ) -> MeetingGraph:
        """Make a graph of the couples in the rows of an array, in any order, which are checked.

        Parameters
        ----------
        couples
            Integers of shape (couples, 2), two players per row.
        worth
            What a game of each couple is worth, a number for each row; 1 by default. A couple may
            then have one row only.

        Examples
        --------
        >>> graph = MeetingGraph.of_rows(4, np.array([[3, 2], [0, 1]]), np.array([0.5, 2.0]))
        >>> graph.low, graph.high, graph.worth
        (array([0, 2]), array([1, 3]), array([2. , 0.5]))
        """
        one, other = checked_rows("allowed couples", players, couples, error)
        if worth is None:
            numbers = np.unique(np.minimum(one, other) * players + np.maximum(one, other))
            one, other = np.divmod(numbers, max(players, 1))
            return cls.of_couples(players, one, other, np.ones(len(one)))
        values = _checked_worth_of_rows(one, other, worth, error)
        graph = cls.of_couples(players, one, other, values)
        twice = (graph.low[1:] == graph.low[:-1]) & (graph.high[1:] == graph.high[:-1])
        for k in np.flatnonzero(twice):
            raise error(
                f"the couple of players {graph.low[k]} and {graph.high[k]} has two rows, and a "
                "worth in each: give each couple once"
            )
        return graph

    def with_worth(
        self, worth: ArrayLike, error: type[PairupError] = MatchingError
    ) -> MeetingGraph:
        """Return the same couples with the worth in a symmetric matrix, which is checked."""
        table = _checked_worth(self.players, worth, error)
        return self.of_couples(self.players, self.low, self.high, table[self.low, self.high])

    def times(self, factors: NDArray[np.float64]) -> MeetingGraph:
        """Return the same couples, each worth as many times as much as `factors` has beside it."""
        return self.of_couples(self.players, self.low, self.high, self.worth * factors)

    def plus(self, added: NDArray[np.float64]) -> MeetingGraph:
        """Return the same couples, worth more by what both players add, in units of the mean worth.

        Examples
        --------
        >>> graph = MeetingGraph(3, [(0, 1), (1, 2)], worth=[[0, 1, 0], [1, 0, 3], [0, 3, 0]])
        >>> graph.plus(np.array([0.0, 0.0, 0.5])).worth
        array([1., 4.])
        """
        mean = self.worth.mean() if self.worth.any() else 1.0
        worth = self.worth + mean * (added[self.low] + added[self.high])
        return self.of_couples(self.players, self.low, self.high, worth)

    @classmethod
    def between_sides(cls, columns: NDArray[np.bool_]) -> MeetingGraph:
        """Make the graph in which every row may meet every column, and nobody else.

        Examples
        --------
        >>> graph = MeetingGraph.between_sides(np.array([False, True, False]))
        >>> graph.low, graph.high
        (array([0, 1]), array([1, 2]))
        """
        row, column = np.meshgrid(np.flatnonzero(~columns), np.flatnonzero(columns), indexing="ij")
        return cls.of_couples(len(columns), row.ravel(), column.ravel(), np.ones(row.size))

    def definition(self) -> dict[str, Any]:
        """Return the allowed couples and their worth as plain JSON values."""
        couples = np.stack([self.low, self.high], axis=1).tolist()
        return {"allowed": couples, "worth": self.worth.tolist()}

    @classmethod
    def from_definition(cls, players: int, definition: Mapping[str, Any]) -> MeetingGraph:
        """Make the graph that `definition` describes."""
        couples = np.array(definition["allowed"], np.int64).reshape(-1, 2)
        worth = np.array(definition["worth"], np.float64)
        return cls.of_couples(players, couples[:, 0], couples[:, 1], worth)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MeetingGraph):
            return NotImplemented
        return self._bytes() == other._bytes()

    def __hash__(self) -> int:
        return hash(self._bytes())

    def _bytes(self) -> tuple[int, bytes, bytes, bytes]:
        return self.players, self.low.tobytes(), self.high.tobytes(), self.worth.tobytes()


def _checked_couples(
    players: int, allowed: Allowed, error: type[PairupError]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if allowed is None:
        low, high = np.triu_indices(players, 1)
        return low.astype(np.int64), high.astype(np.int64)
    if _is_matrix(allowed):
        return _couples_of_matrix(players, np.asarray(allowed), error)
    if is_rows(allowed):
        graph = MeetingGraph.of_rows(players, allowed, error=error)
        return graph.low, graph.high
    advice = "write [(0, 1), (1, 2)], or a symmetric matrix of Booleans"
    given = checked_list("allowed", allowed, error, items="couples", advice=advice)
    couples = set()
    for each in given:
        one, other = _checked_couple(each, error)
        for player in (one, other):
            if not is_integer(player) or not 0 <= player < players:
                raise error(
                    f"allowed couples are of the players 0 to {players - 1}, got {player!r}: "
                    "leave the couple out"
                )
        couples.add((min(one, other), max(one, other)))
    table = np.array(sorted(couples), np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def find_sorted(
    wanted: NDArray[np.int64], known: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the place of each number in `known`, which ascends, and whether it is there."""
    if not len(known):
        return np.zeros(wanted.shape, np.int64), np.zeros(wanted.shape, np.bool_)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return places, known[places] == wanted


def is_rows(allowed: object) -> TypeGuard[NDArray[np.integer[Any]]]:
    """Whether it is an array of integers with two columns, a couple in each row."""
    if not isinstance(allowed, np.ndarray) or allowed.dtype.kind not in "iu":
        return False
    return allowed.ndim == 2 and allowed.shape[1] == 2


def checked_rows(
    what: str, players: int, couples: NDArray[np.integer[Any]], error: type[PairupError]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the players of the couples in the rows of an array, or refuse them.

    Messages call the couples `what`. There are players 0 to `players` - 1.
    """
    outside = (couples < 0) | (couples >= players)
    for row, column in np.argwhere(outside)[:1]:
        raise error(
            f"{what} are of the players 0 to {players - 1}, got "
            f"{couples[row, column]} in row {row}: leave the couple out"
        )
    one, other = couples.astype(np.int64).T
    for row in np.flatnonzero(one == other)[:1]:
        raise error(
            f"a couple is exactly two distinct players, got {one[row]} with itself in row {row}: "
            "give it another partner"
        )
    return one, other


def _checked_worth_of_rows(
    one: NDArray[np.int64], other: NDArray[np.int64], worth: ArrayLike, error: type[PairupError]
) -> NDArray[np.float64]:
    values = np.asarray(worth)
    if values.shape != one.shape or values.dtype.kind not in "biuf":
        raise error(
            f"worth must be a number of at least 0 for each of {len(one)} couples, got an array of "
            f"{values.dtype} of shape {values.shape}: give one number for each row of allowed"
        )
    values = values.astype(np.float64)
    for row in np.flatnonzero(~((values >= 0) & (values <= MAX_WORTH)))[:1]:
        raise error(
            f"worth must be a number of at least 0 for each couple, got {values[row]} for players "
            f"{one[row]} and {other[row]}: give 0 for a game that is worth nothing, and at most "
            f"{MAX_WORTH:g}"
        )
    return values + 0.0  # -0.0 becomes 0.0, as in a matrix


def _checked_couple(couple: Any, error: type[PairupError]) -> Couple:
    try:
        return as_couple(couple)
    except MatchingError as wrong:
        if np.size(couple) == 2:  # the players are wrong, not their number
            raise error(str(wrong)) from None
        raise error(
            f"allowed is a list of couples, or a matrix of Booleans, got {couple!r}: write "
            "[(0, 1), (1, 2)], or convert a matrix of numbers by np.array(allowed, bool)"
        ) from None


def _is_matrix(allowed: Any) -> bool:
    """Whether it is a table of Booleans, and not a list of couples."""
    try:
        return np.asarray(allowed).dtype == np.bool_
    except ValueError:  # ragged
        return False


def _couples_of_matrix(
    players: int, table: NDArray[Any], error: type[PairupError]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if table.shape != (players, players):
        raise error(
            f"allowed must have a row and a column for each of {players} players, got shape "
            f"{table.shape}: give one Boolean for each two players"
        )
    np.fill_diagonal(table := table.copy(), False)
    for i, j in np.argwhere(table != table.T):
        raise error(
            f"allowed must be symmetric, got {table[i, j]} for players {i} and {j} but "
            f"{table[j, i]} for {j} and {i}: try allowed | allowed.T"
        )
    low, high = np.nonzero(np.triu(table, 1))
    return low.astype(np.int64), high.astype(np.int64)


def _checked_worth(players: int, worth: ArrayLike, error: type[PairupError]) -> NDArray[np.float64]:
    rule = f"worth must be a number of at least 0 for each two of {players} players"
    try:
        table = np.array(worth)
    except ValueError:  # ragged
        raise error(f"{rule}, got rows of several lengths: make them equally long") from None
    if table.shape != (players, players) or table.dtype.kind not in "biuf":
        raise error(
            f"{rule}, got an array of {table.dtype} of shape {table.shape}: "
            "give a row and a column for each player"
        )
    table = table.astype(np.float64)
    np.fill_diagonal(table, 0.0)
    for i, j in np.argwhere(~((table >= 0) & (table <= MAX_WORTH))):  # NaN compares false
        raise error(
            f"{rule}, got {table[i, j]} for players {i} and {j}: give 0 for a game that is worth "
            f"nothing, and at most {MAX_WORTH:g}"
        )
    table = checked_symmetric("worth", table, error)
    return table + 0.0  # -0.0 becomes 0.0: equal graphs must have equal bytes for their hash
