"""Problem: how likely couples are to play, the optimum, the regret.

Long, and in one file because it is one class, whose every constructor and property is documented
with an example.
"""

from __future__ import annotations

import bisect
import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ParamSpec, Self

import numpy as np
from numpy.typing import ArrayLike

from pairup.checks import check_choice, checked_integer, checked_list, is_integer
from pairup.errors import MatchingError, ProblemError
from pairup.matching import Matching
from pairup.problem import families, gaps
from pairup.problem.declaration import FAMILIES, Draws, ProblemParts
from pairup.problem.html import problem_html
from pairup.problem.meeting_graph import Allowed, MeetingGraph
from pairup.problem.rates import Floats, checked_starts
from pairup.problem.weights import CoupleWeights, ProductWeights, SideWeights

_SHOWN = 8  # rates in a repr
_Parameters = ParamSpec("_Parameters")


def _constructor(
    family: Callable[_Parameters, ProblemParts],
) -> staticmethod[_Parameters, Problem]:
    """Turn a family into a constructor with the same parameters."""

    @functools.wraps(family)
    def build(*args: _Parameters.args, **parameters: _Parameters.kwargs) -> Problem:
        parts = family(*args, **parameters)
        return Problem._made(parts, parts.name)

    shown = inspect.signature(family).replace(return_annotation="Problem")
    vars(build)["__signature__"] = shown  # what help() shows
    return staticmethod(build)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
    """Players who accept a proposed game with fixed probabilities.

    Players i and j, proposed to each other, play with probability ``rates[i] * rates[j]``
    (Section 2 of the paper). Other constructors drop one assumption each: `from_matrix` takes any
    probability for each couple, `piecewise` rates that change, and in `two_sided` players meet only
    those of the other side. With `allowed` and `worth`, not all couples may meet, and games differ
    in worth. Problems with the same rates, allowed couples and worth are equal, whatever their
    names.

    Parameters
    ----------
    rates : array_like of float, shape (n,)
        Acceptance rate of each player, in [0, 1], in any order; n is at least 2. The attribute
        `rates` is a read-only copy, an array of float64.
    name : str
        Name of the problem in tables and figures.
    allowed : array_like of bool, shape (n, n), or iterable of couples, optional
        The couples who may meet, as a symmetric matrix or as a list; all by default. A player who
        may meet nobody waits.
    worth : array_like of float, shape (n, n), optional
        What a game of each couple is worth, a symmetric matrix of numbers of at least 0; 1 by
        default. Expected games, the optimum and the regret are then in worth.

    Attributes
    ----------
    starts : tuple of int
        Number of rounds before each piece: (0,), unless rates change.
    draws : {"independent", "common"}
        Whether each couple plays by draws of its own, or all couples of a round by one number; see
        `two_sided`.
    family : str
        Name of the family that it belongs to: "rates", "around" and so on.
    parameters : mapping
        Parameters of the family by name, as results record them; none where these are lists of
        rates.

    Raises
    ------
    ProblemError
        The rates are not at least two numbers in [0, 1], or `allowed` and `worth` are not symmetric
        tables of the players.

    Examples
    --------
    >>> from pairup import Problem
    >>> problem = Problem([0.9, 0.2, 0.8, 0.3, 0.1])
    >>> problem.optimum
    Matching(0-2, 1-3; waiting 4)
    >>> round(problem.best_games, 12)
    0.78
    >>> Problem([0.9, 0.2, 0.8, 0.3], allowed=[(0, 1), (1, 2), (2, 3)]).optimum
    Matching(2-3, 0-1)
    """

    name: str
    starts: tuple[int, ...]
    draws: Draws
    family: str
    parameters: Mapping[str, Any]
    _weights: tuple[CoupleWeights, ...]  # of the couples, in each piece
    _graph: MeetingGraph | None  # as `graph`, but for two sides

    def __init__(
        self,
        rates: ArrayLike,
        name: str = "",
        *,
        allowed: Allowed = None,
        worth: ArrayLike | None = None,
    ) -> None:
        self._set(families.rates(rates, allowed, worth), name)

    def _set(self, parts: ProblemParts, name: str) -> Self:
        for field, value in parts._asdict().items():
            hidden = field in ("weights", "graph")
            object.__setattr__(self, f"_{field}" if hidden else field, value)
        object.__setattr__(self, "name", name)
        return self

    @classmethod
    def from_matrix(
        cls,
        couple_rates: ArrayLike,
        name: str = "",
        *,
        allowed: Allowed = None,
        worth: ArrayLike | None = None,
    ) -> Problem:
        """Build a problem in which each couple has a probability of its own.

        This is the paper's setting before it assumes products of players' rates. Players have no
        rates then and give no answers: a couple plays or does not. The optimum is found exactly by
        `best_matching`. The gaps need products and are refused; `bounds.lower` is NaN.

        Parameters
        ----------
        couple_rates : array_like of float, shape (n, n)
            Probability that two players, proposed to each other, play: a symmetric matrix of
            numbers in [0, 1]; the diagonal is ignored.
        name
            Name of the problem in tables and figures.
        allowed, worth
            As for `Problem`.

        Raises
        ------
        ProblemError
            The matrix is not square and symmetric, or an entry is not in [0, 1].

        Examples
        --------
        >>> problem = Problem.from_matrix([[0, 0.5, 0.9], [0.5, 0, 0.2], [0.9, 0.2, 0]])
        >>> problem.optimum, problem.best_games
        (Matching(0-2; waiting 1), 0.9)
        """
        return cls._made(families.matrix(couple_rates, allowed, worth), name)

    @classmethod
    def piecewise(
        cls, starts: Sequence[int], rates: Sequence[ArrayLike | Problem], name: str = ""
    ) -> Problem:
        """Build a problem whose rates change after given numbers of rounds.

        Regret is then counted against the best matching of the moment. What belongs to one moment,
        like `optimum`, is asked of `at`.

        Parameters
        ----------
        starts
            Number of rounds before each piece, ascending; the first is 0.
        rates
            For each piece the rates of the players, or a problem, for example `from_matrix`; all of
            them of the same players, allowed couples and worth.
        name
            Name of the problem in tables and figures.

        Raises
        ------
        ProblemError
            The starts do not ascend from 0, or the pieces do not fit them or each other.

        Examples
        --------
        >>> problem = Problem.piecewise([0, 1_000], [[0.9, 0.9, 0.1, 0.1], [0.9, 0.1, 0.9, 0.1]])
        >>> problem.at(999).optimum, problem.at(1_000).optimum
        (Matching(0-1, 2-3), Matching(0-2, 1-3))
        """
        given = checked_list("rates of a piecewise problem", rates, ProblemError, items="rates")
        pieces = [each if isinstance(each, Problem) else cls(each) for each in given]
        first = checked_starts(starts, [piece.players for piece in pieces])
        if any(piece._rules != pieces[0]._rules for piece in pieces):
            raise ProblemError(
                "rates change from piece to piece; allowed couples, worth, sides and draws do not: "
                "give all pieces the same"
            )
        weights = tuple(piece._only_weights for piece in pieces)
        parts = pieces[0]._parts._replace(weights=weights, starts=first, family="piecewise")
        return cls._made(parts._replace(parameters={}), name)

    @classmethod
    def two_sided(
        cls, rows: ArrayLike, columns: ArrayLike, name: str = "", *, draws: Draws = "independent"
    ) -> Problem:
        """Build a problem of two sides, whose players meet only those of the other side.

        Row i and column k, proposed to each other, play with probability ``rows[i] * columns[k]``.
        The optimum couples the best row with the best column, the second best with the second best,
        and so on; on the larger side the worst wait. So items (rows) are shown at the positions of
        a page (columns), and are clicked with the attraction of the item times the probability that
        the position is looked at: the position-based click model.

        Parameters
        ----------
        rows, columns : array_like of float
            Acceptance rate of each player of a side, in [0, 1], in any order; at least one on each
            side. The players 0 to ``len(rows) - 1`` are the rows, the rest are the columns.
        name
            Name of the problem in tables and figures.
        draws : {"independent", "common"}
            Couples of a round play independently. With "common", one uniform number per round
            decides all of them: couple (i, k) plays if it is below ``rows[i] * columns[k]``. Each
            couple plays as often, and the regret is the same function of the matchings, but the
            couples of a round play together.

        Raises
        ------
        ProblemError
            A side is empty, or a rate is not a number in [0, 1].

        Examples
        --------
        >>> problem = Problem.two_sided([0.1, 0.3, 0.2], [1.0, 0.6])
        >>> problem.optimum
        Matching(1-3, 2-4; waiting 0)
        >>> problem.sides
        (3, 2)
        """
        return cls._made(families.two_sided(rows, columns, draws), name)

    @classmethod
    def from_family(cls, family: str, **parameters: Any) -> Problem:
        """Build a problem of a family, by its name and its parameters.

        `pairup problems` lists the families, which are described in docs/reference/families.md.

        Raises
        ------
        ProblemError
            There is no such family, or a parameter is out of its range.

        Examples
        --------
        >>> Problem.from_family("around", mean=0.5, pairs=3, gap=0.1).rates
        array([0.6, 0.6, 0.5, 0.5, 0.4, 0.4])
        """
        check_choice("family", family, FAMILIES, ProblemError)
        parts = FAMILIES[family].build(**parameters)
        return cls._made(parts, parts.name)

    # Families with a constructor of their own.
    from_zero = _constructor(families.from_zero)
    around = _constructor(families.around)
    random = _constructor(families.random)
    click_model = _constructor(families.click_model)
    random_graph = _constructor(families.random_graph)
    line = _constructor(families.line)
    groups = _constructor(families.groups)

    @classmethod
    def _made(cls, parts: ProblemParts, name: str) -> Self:
        return cls.__new__(cls)._set(parts, name)

    @property
    def _parts(self) -> ProblemParts:
        graph, starts, draws = self._graph, self.starts, self.draws
        origin = self.family, self.parameters
        return ProblemParts(self._weights, graph, starts, draws, self.name, *origin)

    def renamed(self, name: str) -> Problem:
        """Return the same problem under another name.

        Examples
        --------
        >>> Problem([1, 0.25]).renamed("mine")
        Problem([1.0, 0.25], name='mine')
        """
        return self._made(self._parts, name)

    def at(self, round: int) -> Problem:
        """Return the problem as it is after a number of rounds: itself, unless its rates change.

        Parameters
        ----------
        round
            Number of rounds played before, at least 0.

        Examples
        --------
        >>> Problem.piecewise([0, 10], [[0.9, 0.1], [0.5, 0.5]], "mine").at(12)
        Problem([0.5, 0.5], name='mine from round 10')
        """
        after = checked_integer("round", round, ProblemError, minimum=0)
        return self.pieces[bisect.bisect(self.starts, after) - 1]

    @cached_property
    def pieces(self) -> tuple[Problem, ...]:
        """The problems between the changes: itself alone, unless its rates change."""
        if len(self.starts) == 1:
            return (self,)
        named = (f"{self.name} from round {start}".strip() for start in self.starts)
        parts = zip(named, self._weights, strict=True)
        return tuple(
            self._made(self._parts._replace(weights=(weights,), starts=(0,)), name)
            for name, weights in parts
        )

    @property
    def players(self) -> int:
        """Number of players, n. They are called 0 to n - 1."""
        return self._weights[0].players

    @property
    def pairs(self) -> int:
        """Number of couples in a full matching, n // 2 (the paper's L).

        On two sides, as many as the smaller side has players.
        """
        return self.players // 2 if self.sides is None else min(self.sides)

    @property
    def sides(self) -> tuple[int, int] | None:
        """Numbers of rows and columns; None if all players are on one side."""
        weights = self._weights[0]
        if not isinstance(weights, SideWeights):
            return None
        return weights.rows, weights.players - weights.rows

    @cached_property
    def graph(self) -> MeetingGraph | None:
        """The couples who may meet and the worth of their games.

        None if all may meet and every game is worth 1.
        """
        if self.sides is None:
            return self._graph
        return MeetingGraph.between_sides(np.arange(self.players) >= self.sides[0])

    @property
    def _rules(self) -> tuple[object, ...]:
        """All but the rates and the name."""
        return self.sides, self._graph, self.draws

    @property
    def is_complete(self) -> bool:
        """Whether all couples may meet and all games are worth the same.

        The theory needs it: only then is the optimum found by sorting, and only then do the
        neighbours of a leader show whether it is the best.
        """
        return self.sides is None and (self._graph is None or self._graph.is_complete)

    @property
    def has_player_rates(self) -> bool:
        """Whether a couple plays with the product of its players' rates, and rates never change.

        The theory needs it: the gaps, the limit and the theorems.
        """
        return len(self.starts) == 1 and isinstance(self._weights[0], ProductWeights)

    @property
    def rates(self) -> Floats:
        """Acceptance rate of each player; read-only.

        A `ProblemError` where players have no rates (`from_matrix`), or rates change (`piecewise`).
        """
        weights = self._only_weights
        if not isinstance(weights, ProductWeights):
            raise ProblemError(
                "acceptance rates of players, and gaps, need couples that play with the product of "
                f"their players' rates, got {self!r}: ask for couple_rates"
            )
        return weights.given

    @cached_property
    def couple_rates(self) -> Floats:
        """Probability that each couple plays, in a row and a column for each player; read-only.

        The diagonal is 0.

        Examples
        --------
        >>> Problem([0.5, 1.0]).couple_rates
        array([[0. , 0.5],
               [0.5, 0. ]])
        """
        matrix = self._only_weights.matrix
        matrix.setflags(write=False)
        return matrix

    @property
    def _only_weights(self) -> CoupleWeights:
        """The weights of all rounds; refused where they change."""
        if len(self.starts) > 1:
            raise ProblemError(
                f"the rates of this problem change after {self.starts[1]} rounds, so that this "
                "belongs to a moment: ask the problem that at(round) returns"
            )
        return self._weights[0]

    @cached_property
    def optimum(self) -> Matching:
        """The matching with the most expected games: neighbours in the order of the rates.

        The best couple comes first; inside a couple, the lower index. Among equal rates the lower
        index counts as the better. If n is odd, the last player waits. Where couples have rates of
        their own, not all may meet, or games differ in worth, it is an exact matching of greatest
        expected worth, one of them if there are several; of those, one with most couples. On two
        sides it couples the best row with the best column, and so on.

        Examples
        --------
        >>> Problem([0.2, 0.9, 0.3, 0.8]).optimum
        Matching(1-3, 0-2)
        """
        weights = self._only_weights
        if self._graph is None:
            return weights.best_matching()
        couples = np.stack([self._graph.low, self._graph.high], axis=1)
        return self._graph.best_matching(weights.of(couples))

    @cached_property
    def best_games(self) -> float:
        """Expected games of the optimum in one round."""
        return self.games(self.optimum)

    def games(self, matching: Iterable[Iterable[Hashable]]) -> float:
        """Return the expected number of games of a matching in one round, at most `best_games`.

        If games differ in worth, it is their expected worth. It is the same, bit for bit, for every
        order of the couples.

        Parameters
        ----------
        matching
            A `Matching` or any couples of player indices. It need not be full: a player in no
            couple plays no game.

        Raises
        ------
        MatchingError
            A player is unknown or appears twice, or a couple is not two players who may meet.

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
        expected = self._only_weights.of(couples)
        if self._graph is not None:
            expected = expected * self._graph.worth_of(couples)
        return math.fsum(expected)

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

    @property
    def _ranked_rates(self) -> Floats:
        if self._graph is not None or self.sides is not None:
            raise ProblemError(
                "gaps need a problem in which all couples may meet and every game is worth 1, got "
                f"{self!r}: ask for regret(matching)"
            )
        return self.rates

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
        return gaps.in_strict_order(self._ranked_rates)

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
        return gaps.neighbour_gaps(self._ranked_rates)

    @property
    def gap(self) -> float:
        """Least regret of a neighbour of the optimum (the paper's Delta).

        Infinite for two players, who have only one matching; 0 if `strict_order` fails.
        """
        return float(self.neighbour_gaps.min(initial=math.inf))

    @cached_property
    def player_gaps(self) -> Floats:
        """Least gap that comparing players must resolve, for each neighbour of the optimum.

        Theorem 2 writes i(i' - j') with primes that do not agree. It is read from the criterion:
        the neighbour {j, i'}, {i, j'} is explored while one of the couples {i, j'} and {j, i'} may
        still be better than the leader's {i, i'}. Their true gaps are i(i' - j') and i'(i - j);
        both couples are played together, so the smaller gap decides how often.

        The array has min(i(i' - j'), i'(i - j)) for each neighbour, in the order of
        `neighbour_gaps`; it is read-only. A couple with the phantom is never the smaller one.

        Examples
        --------
        >>> Problem([1.0, 0.75, 0.5, 0.25]).player_gaps
        array([0.375, 0.25 ])
        """
        return gaps.player_gaps(self._ranked_rates)

    @property
    def player_gap(self) -> float:
        """Least gap that comparing players must resolve (the paper's Delta-tilde).

        The smallest of `player_gaps`. Their comparisons are the four ways to label i, i' and
        j, j' in i(i' - j'), so that this is the minimum of Theorem 2 over all labellings. It is
        never less than `gap`; infinite for two players.
        """
        return float(self.player_gaps.min(initial=math.inf))

    def definition(self) -> dict[str, Any]:
        """Return all but the name as plain JSON values; `from_definition` turns them back.

        Examples
        --------
        >>> Problem([1, 0.25]).definition()
        {'rates': [1.0, 0.25]}
        """
        pieces = [weights.definition() for weights in self._weights]
        alike = {} if self._graph is None else self._graph.definition()
        if self.draws == "common":
            alike["draws"] = self.draws
        if len(pieces) > 1:
            return {"starts": list(self.starts), "pieces": pieces} | alike
        return pieces[0] | alike

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any], name: str = "") -> Problem:
        """Make a problem from what `definition` returned; other keys are ignored."""
        draws = definition.get("draws", "independent")
        if "pieces" in definition:
            pieces = [cls.from_definition(each | {"draws": draws}) for each in definition["pieces"]]
            problem = cls.piecewise(definition["starts"], pieces, name)
        elif "columns" in definition:
            problem = cls.two_sided(definition["rows"], definition["columns"], name, draws=draws)
        elif "couple_rates" in definition:
            problem = cls.from_matrix(definition["couple_rates"], name)
        else:
            problem = cls(definition["rates"], name)
        if "allowed" not in definition:
            return problem
        graph = MeetingGraph.from_definition(problem.players, definition)
        return cls._made(problem._parts._replace(graph=graph), name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return (self.starts, self._rules) == (other.starts, other._rules) and all(
            type(ours) is type(theirs) and np.array_equal(ours.given, theirs.given)
            for ours, theirs in zip(self._weights, other._weights, strict=True)
        )

    def __hash__(self) -> int:
        given = (weights.given.tobytes() for weights in self._weights)
        return hash((self.starts, self._rules, *given))

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, (self._parts, self.name)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        if self.draws == "common":
            name += ", draws='common'"
        if self._graph is not None:
            name = f", {len(self._graph.low)} couples allowed{name}"
        if self.has_player_rates and self.sides is not None:
            rows, columns = self.rates[: self.sides[0]], self.rates[self.sides[0] :]
            return f"Problem.two_sided([{_shown(rows)}], [{_shown(columns)}]{name})"
        if self.has_player_rates:
            return f"Problem([{_shown(self.rates)}]{name})"
        kind = "from_matrix(" if len(self.starts) == 1 else f"piecewise({list(self.starts)}, "
        return f"Problem.{kind}... {self.players} players{name})"

    def _repr_html_(self) -> str:
        return problem_html(self)


def _shown(rates: Floats) -> str:
    shown = ", ".join(str(rate) for rate in rates[:_SHOWN].tolist())
    return shown + (f", ... {len(rates)} players" if len(rates) > _SHOWN else "")
