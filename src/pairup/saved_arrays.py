"""Arrays of a saved state, checked before they reach compiled steps, which check no bounds."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.errors import ArchiveError, PairupError

Arrays = Mapping[str, NDArray[Any]]

_UNREADABLE = (
    AttributeError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)


@contextmanager
def reading() -> Iterator[None]:
    """Turn every error of the block, which reads saved bytes, into an `ArchiveError`."""
    try:
        yield
    except ArchiveError:
        raise
    except PairupError as error:  # a policy or an option of another pairup
        raise ArchiveError(
            f"the learner cannot be loaded, {error}: load it with the pairup that wrote it"
        ) from error
    except _UNREADABLE as error:
        raise ArchiveError(
            f"the saved learner is damaged, {error!r} while reading it: take an older copy"
        ) from error


def require(fact: bool | np.bool_, what: str) -> None:
    """Refuse the saved learner unless `fact` holds; `what` states the broken rule."""
    if not fact:
        raise ArchiveError(f"the saved learner is damaged, {what}: take an older copy")


def numbers(arrays: Arrays, name: str, minimum: int = 0) -> NDArray[np.int64]:
    """Return a flat saved array of integers, none of them below `minimum`."""
    array = arrays[name]
    require(array.dtype == np.int64 and array.ndim == 1, f"{name} is not a flat array of integers")
    require(np.all(array >= minimum), f"some of {name} are below {minimum}")
    return array


def real_numbers(
    arrays: Arrays, name: str, minimum: float = 0.0, maximum: float = np.inf
) -> NDArray[np.float64]:
    """Return a flat saved array of finite real numbers between `minimum` and `maximum`."""
    array = arrays[name]
    require(array.dtype == np.float64 and array.ndim == 1, f"{name} is not a flat array of reals")
    fits = np.isfinite(array) & (array >= minimum) & (array <= maximum)
    require(np.all(fits), f"{name} are out of range")
    return array
