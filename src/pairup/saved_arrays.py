"""Saved states: one codec for all of them, by what the fields of a state declare.

A field declares whether its array is saved, what its values are and in which range they lie; see
`pairup.compiled.state_fields`. What is loaded is checked before it reaches compiled steps, which
check no bounds. A state may be loaded into a larger one: players keep their slots, and the phantom
moves to the new last slot.
"""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.state_fields import Field, field_of, named_arrays
from pairup.errors import PairupError, SavingError

Arrays = Mapping[str, NDArray[Any]]

_PATH = "state."  # before the names of saved arrays: those of evidence may be the same
_SLOTS = "state.slots"
_BY_SLOT = ("slots", "players")  # sizes of axes that have a place for each slot
_NOBODY = -1

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
    """Turn every error of the block, which reads saved bytes, into an `SavingError`."""
    try:
        yield
    except SavingError:
        raise
    except PairupError as error:  # a policy or an option of another pairup
        raise SavingError(
            f"the learner cannot be loaded, {error}: load it with the pairup that wrote it"
        ) from error
    except _UNREADABLE as error:
        raise SavingError(
            f"the saved learner is damaged, {error!r} while reading it: take an older copy"
        ) from error


def require(fact: bool | np.bool_, what: str) -> None:
    """Refuse the saved learner unless `fact` holds; `what` states the broken rule."""
    if not fact:
        raise SavingError(f"the saved learner is damaged, {what}: take an older copy")


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


def saved_arrays(state: Any) -> dict[str, NDArray[Any]]:
    """Pick the arrays of a state that its fields declare as saved, by their names."""
    saved = {
        name: array if field.saved is True else array[list(field.saved)]
        for name, field, array in named_arrays(state, _PATH)
        if field is not None and field.saved
    }
    return {_SLOTS: np.array([_slots(state)])} | saved if saved else {}


def load_arrays(state: Any, arrays: Arrays) -> Any:
    """Fill a state from saved arrays, or refuse them with an `SavingError`.

    The state, which may have more slots than the one that was saved, is modified in place, and
    returned with the tables that have grown.
    """
    slots = _slots(state)
    (before,) = numbers(arrays, _SLOTS) if saved_arrays(state) else (slots,)
    require(min(slots, 1) <= before <= slots, f"it has {before} slots, of which there are {slots}")
    return _loaded(state, arrays, (int(before), slots), _PATH)


def _loaded(state: Any, arrays: Arrays, slots: tuple[int, int], path: str) -> Any:
    grown = {}
    for name, part in zip(state._fields, state, strict=True):
        field = field_of(state, name)
        if isinstance(part, tuple):
            grown[name] = _loaded(part, arrays, slots, f"{path}{name}.")
        elif field is not None and field.saved:
            saved = _checked(field, arrays, path + name, slots)
            if field.can_grow:
                grown[name] = saved.copy()
            else:
                part[_places(field, part, saved, slots, path + name)] = saved
    return state._replace(**grown)


def _checked(field: Field, arrays: Arrays, name: str, slots: tuple[int, int]) -> NDArray[Any]:
    """Return a saved array, in which the phantom has moved, if all values are in their range."""
    array = arrays[name]
    fits = array.dtype == field.dtype and array.ndim == len(field.axes)
    require(fits, f"{name} is not an array of {np.dtype(field.dtype).name} of {field.sizes}")
    if isinstance(field.saved, tuple):
        require(len(array) == len(field.saved), f"{name} does not have {len(field.saved)} places")
    if field.has_slots:
        require(np.all((array >= -1) & (array < slots[0])), f"{name} has unknown players")
        return np.where(array == slots[0] - 1, slots[1] - 1, array)
    if field.least is not None:
        in_range = np.isfinite(array) & (array >= field.least) & (array <= field.most)
        if np.isinf(field.fill):
            in_range |= array == field.fill
        require(np.all(in_range), f"{name} is out of range")
    return array


def _places(
    field: Field, array: NDArray[Any], saved: NDArray[Any], slots: tuple[int, int], name: str
) -> Any:
    """Return where the values of a saved array belong in a larger one."""
    if isinstance(field.saved, tuple):
        return list(field.saved)
    places = []
    for axis, count, room in zip(field.axes, saved.shape, array.shape, strict=True):
        place = np.arange(count)
        if axis == "slots":
            require(count == slots[0], f"{name} is not of {slots[0]} slots")
            place[-1:] = slots[1] - 1
        require(count <= room, f"{name} has {count} places, of which there are {room}")
        places.append(place)
    return np.ix_(*places)


def load_array(state: Any, name: str, arrays: Arrays) -> None:
    """Fill one array of a state, in place, with a saved one of at most its size."""
    field, array = field_of(state, name), getattr(state, name)
    saved = _checked(field, arrays, name, (0, 0))
    require(saved.shape <= array.shape, f"{name} has more places than there are")
    array[: len(saved)] = saved


def forget_slot(state: Any, slot: int) -> None:
    """Erase a slot in all arrays by couples, and in saved ones, in place.

    What arrays by couples have of the phantom stays. Of saved arrays the places of the slot are
    erased, and where -1 is what a place begins with, the player in that slot is replaced by it.
    """
    slots = _slots(state)
    for _, field, array in named_arrays(state):
        if field is not None and field.by_couple and array.size:
            table = array.reshape(slots, slots, -1)
            table[slot, :-1] = table[:-1, slot] = field.fill
        elif field is not None and field.saved is True:
            if field.has_slots and field.fill == _NOBODY:
                array[array == slot] = _NOBODY
            for axis, size in enumerate(field.axes):
                if size in _BY_SLOT:
                    array[(slice(None),) * axis + (slot,)] = field.fill


def is_declared(state: Any) -> bool:
    """Whether all fields of a state declare their arrays."""
    return all(field is not None for _, field, _ in named_arrays(state))


def _slots(state: Any) -> int:
    """Return the number of slots of a state, the phantom's included; 0 if no array is by slot."""
    for _, field, array in named_arrays(state):
        if field is not None and field.axes[0] == "slots":
            return len(array)
    return 0
