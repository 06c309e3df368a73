"""What `Learner.learn` is given: outcomes in bulk, in rows or in columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pairup.checks import checked_list
from pairup.errors import MatchingError, ObservationError, PairupError, PlayerError
from pairup.learning.feedback import CODES, Codes, ObservedCouples, decide
from pairup.learning.roster import Roster
from pairup.matching import as_couple

Column: TypeAlias = Any  # a NumPy array or a Series, of polars for example
CouplesGiven: TypeAlias = Iterable[Iterable[Hashable]] | tuple[Column, Column]
PlayedGiven: TypeAlias = Iterable[bool | None] | None
AcceptedGiven: TypeAlias = Iterable[Iterable[bool | None]] | tuple[Column, Column] | None

_IN_ROWS = "give rows of two, or a tuple of two arrays"


class History(NamedTuple):
    """Outcomes, a row each: the names of the two players, their answers, whether they played."""

    one: Sequence[Hashable]
    other: Sequence[Hashable]
    answers: Codes  # of shape (rows, 2)
    played: Codes

    @property
    def players(self) -> list[Hashable]:
        """The players, each once."""
        try:
            return list(dict.fromkeys(chain(self.one, self.other)))
        except TypeError:
            wrong = next(p for p in chain(self.one, self.other) if not isinstance(p, Hashable))
            raise PlayerError(
                f"player {wrong!r} is not hashable: give a string, a number or a tuple"
            ) from None

    def observed(self, roster: Roster) -> ObservedCouples:
        """Return the outcomes that are known, of players who are on the roster."""
        slots = np.stack([roster.find_slots(self.one), roster.find_slots(self.other)], axis=1)
        ascending = slots[:, :1] < slots[:, 1:]
        answers = np.where(ascending, self.answers, self.answers[:, ::-1])
        return decide(np.sort(slots, axis=1), answers, self.played, self.describe)

    def describe(self, row: int) -> str:
        """Name the couple of a row, for a message."""
        return f"row {row}, counted from 0: {self.one[row]!r} and {self.other[row]!r}"


def read_history(couples: CouplesGiven, played: PlayedGiven, accepted: AcceptedGiven) -> History:
    """Read outcomes in bulk, or refuse them.

    Examples
    --------
    >>> history = read_history([("ann", "bob"), ("ann", "cyd")], [True, None], None)
    >>> history.one, history.other, history.played.tolist()
    (['ann', 'ann'], ['bob', 'cyd'], [1, -1])
    """
    if played is None and accepted is None:
        raise ObservationError(
            "nothing is said of what became of the couples: give `played`, `accepted` or both"
        )
    one, other = _names(couples)
    answers, outcomes = np.full((len(one), 2), -1, np.int8), np.full(len(one), -1, np.int8)
    if accepted is not None:
        answers[:, 0], answers[:, 1] = _answers(accepted, len(one))
    if played is not None:
        values = _values(played, "`played`", ObservationError)
        outcomes[:] = _codes("`played`", values, len(one))
    return History(one, other, answers, outcomes)


def _names(couples: CouplesGiven) -> tuple[list[Any], list[Any]]:
    one, other = _columns("couples", couples, MatchingError, as_couple)
    if len(one) != len(other):
        raise MatchingError(
            f"each couple has two players, got {len(one)} and {len(other)} names: {_IN_ROWS}"
        )
    for row, (name, partner) in enumerate(zip(one, other, strict=True)):
        if name == partner:
            raise MatchingError(
                f"{name!r} is coupled with itself in row {row}, counted from 0: a couple is two "
                "distinct players"
            )
    return one, other


def _answers(accepted: AcceptedGiven, count: int) -> tuple[Codes, Codes]:
    one, other = _columns("`accepted`", accepted, ObservationError, _as_answers)
    return _codes("`accepted`", one, count), _codes("`accepted`", other, count)


def _as_answers(answers: Any) -> tuple[Any, Any]:
    if isinstance(answers, str | bytes) or not isinstance(answers, Iterable):
        raise ObservationError(f"`accepted` has two answers per row, got {answers!r}: {_IN_ROWS}")
    both = tuple(answers)
    if len(both) != 2:
        raise ObservationError(f"`accepted` has two answers per row, got {both!r}: {_IN_ROWS}")
    return both


def _columns(
    what: str, given: Any, error: type[PairupError], as_pair: Any
) -> tuple[list[Any], list[Any]]:
    """Take two columns apart, or rows of two."""
    # A tuple of two arrays is never two rows: arrays are columns.
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_column, given)):
        return _values(given[0], what, error), _values(given[1], what, error)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == 2:
        return given[:, 0].tolist(), given[:, 1].tolist()
    rows = checked_list(what, given, error, items="pairs", advice=_IN_ROWS)
    if not (set(map(type, rows)) <= {tuple, list} and set(map(len, rows)) <= {2}):
        rows = [as_pair(row) for row in rows]
    return [one for one, _ in rows], [other for _, other in rows]


def _is_column(given: Any) -> bool:
    return hasattr(given, "__array__") and np.ndim(given) == 1


def _values(given: Any, what: str, error: type[PairupError]) -> list[Any]:
    """Return the values of a column, or of any iterable, as Python objects where it has them."""
    if _is_column(given):
        values: list[Any] = given.tolist() if isinstance(given, np.ndarray) else list(given)
        return values
    return checked_list(what, given, error, items="values", advice=_IN_ROWS)


def _codes(what: str, values: Sequence[Any], count: int) -> Codes:
    """Return codes of True, False and what is missing: None, or NaN as in tables of pandas."""
    if len(values) != count:
        raise ObservationError(
            f"{what} has {len(values)} rows for {count} couples: give one for each couple"
        )
    if not set(map(type, values)) <= {bool, type(None)}:
        values = [_checked(what, row, value) for row, value in enumerate(values)]
    return np.fromiter(map(CODES.__getitem__, values), np.int8, count)


def _checked(what: str, row: int, value: Any) -> bool | None:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if not isinstance(value, bool | np.bool_):
        raise ObservationError(
            f"{what} is True, False or None where it is not known, got {value!r} in row {row}, "
            "counted from 0"
        )
    return bool(value)
