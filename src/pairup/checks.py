"""Checks of arguments, each with one message: the value, the rule and the way out.

The caller passes the class of the error. `what` begins the message, for example "rounds" or
"horizon of sam".
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from pairup.errors import PairupError, PolicyError, did_you_mean

Floats = NDArray[np.float64]
_ROUNDING = 1e-12  # share of the largest number in a table: sums of products are rounded by less


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number, NaN included; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def checked_integer(
    what: str,
    value: object,
    error: type[PairupError],
    *,
    minimum: int,
    max_bits: int | None = None,
    advice: str = "",
) -> int:
    """Return a value as a Python integer, or refuse it; the default advice is to try the minimum.

    Examples
    --------
    >>> checked_integer("pairs", 1, PolicyError, minimum=2)
    Traceback (most recent call last):
    ...
    pairup.errors.PolicyError: pairs must be an integer of at least 2, got 1: try 2
    """
    too_large = is_integer(value) and max_bits is not None and value >= 2**max_bits
    if not is_integer(value) or value < minimum or too_large:
        rule = f"below 2**{max_bits}" if too_large else f"of at least {minimum}"
        raise error(
            f"{what} must be an integer {rule}, got {value!r}: {advice or f'try {minimum}'}"
        )
    return int(value)


def checked_seed(
    seed: object, error: type[PairupError] = PolicyError, *, what: str = "seed"
) -> int:
    """Return a seed as a Python integer in [0, 2**63), or refuse it."""
    return checked_integer(what, seed, error, minimum=0, max_bits=63)


def check_number(what: str, value: object, error: type[PairupError], *, advice: str) -> None:
    """Refuse a value that is not a real number."""
    if not is_number(value):
        raise error(f"{what} must be a number, got {value!r}: {advice}")


def check_choice(
    what: str, value: object, choices: Iterable[str], error: type[PairupError]
) -> None:
    """Refuse a value that is not one of `choices`."""
    known = tuple(choices)  # unlike a set, it takes values that are not hashable
    if value not in known:
        raise error(f"{what} cannot be {value!r}{did_you_mean(value, known)}")


def check_instance(
    what: str, value: object, kind: type, error: type[PairupError], *, example: str
) -> None:
    """Refuse a value of another class."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise error(f"{what} must be {article} {kind.__name__}, got {value!r}: try {example}")


def checked_symmetric(what: str, table: Floats, error: type[PairupError]) -> Floats:
    """Return a square of numbers as an exactly symmetric one, or refuse it.

    Differences by rounding are averaged. The advice names the table by the first word of `what`.

    Examples
    --------
    >>> checked_symmetric("weights", np.array([[0, 0.1 + 0.2], [0.3, 0]]), PolicyError)
    array([[0. , 0.3],
           [0.3, 0. ]])
    """
    evened, wrong = even_out(table, table.T)
    for i, j in np.argwhere(wrong):
        name = what.partition(" ")[0]
        raise error(
            f"{what} must be symmetric, got {table[i, j]} for players {i} and {j} but "
            f"{table[j, i]} for {j} and {i}: try ({name} + {name}.T) / 2"
        )
    return evened


def even_out(entries: Floats, mirrored: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the means of mirrored entries, and which of them differ by more than rounding.

    Entries that equal their mirror images stay as they are, to the bit.
    """
    same = entries == mirrored
    if same.all():
        return entries, ~same
    finite = np.isfinite(entries) & np.isfinite(mirrored)
    one, other = (np.where(finite, each, 0.0) / 2 for each in (entries, mirrored))
    near = finite & (np.abs(one - other) <= _ROUNDING * np.abs(one).max())
    return np.where(same, entries, one + other), ~(same | near)


def checked_list(
    what: str, values: object, error: type[PairupError], *, items: str = "", advice: str = ""
) -> list[Any]:
    """Return the values of an iterable as a list, or refuse it.

    A string is refused too: it would pass for a list of its letters.

    Examples
    --------
    >>> checked_list("available", "ann", PolicyError, items="players")
    Traceback (most recent call last):
    ...
    pairup.errors.PolicyError: available must be a list of players, got 'ann': write ['ann']
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        of = f" of {items}" if items else ""
        raise error(f"{what} must be a list{of}, got {values!r}: {advice or f'write [{values!r}]'}")
    return list(values)
