"""Fields of states: each declares its array.

A field of a NamedTuple has such a declaration as its default, for example

    members: np.ndarray = Players("slots + 1", saved=True)

From it `new_state` makes the array, a GPU knows its size for every number of players, and
`pairup.saved_arrays` saves, loads and checks it, and erases what it has of a player who leaves.
"""

import functools
from typing import Any, NamedTuple, get_type_hints

import numpy as np

MAX_COUNT = 2**53  # integers up to here are real numbers too


class Field(NamedTuple):
    """The declaration of an array of a state, as the default of its field.

    The size of each axis is a number, or an expression of the sizes that are named when a state is
    made, such as "slots, slots // 2 + 1". The last place of an axis "slots" is the phantom's.
    """

    sizes: str | int
    dtype: Any = np.float64
    fill: float = 0
    phantom: float | None = None  # what the phantom's places begin with, if that is not `fill`
    can_grow: bool = False  # while it is played
    saved: bool | tuple[int, ...] = False  # whether a learner saves it, or which places of it
    # The range of saved values: one number, or one for each place that is saved. An infinite `fill`
    # is valid too.
    least: Any = None
    most: Any = None
    has_slots: bool = False  # its values are slots, -1 for nobody
    # Whether it has a place for each two slots, erased when one of them is forgotten. Of other
    # arrays only saved ones are erased, along axes of size "slots" or "players".
    by_couple: bool = False

    @property
    def axes(self):
        """The size of each axis, as it is declared."""
        return [axis.strip() for axis in str(self.sizes).split(",")]

    def shape(self, sizes):
        """Its shape, given the named sizes."""
        return eval(_expression(self.sizes), {}, sizes)

    def new(self, sizes):
        """The array as it begins."""
        shape = self.shape(sizes)
        if self.fill == 0:  # zeros take no memory until they are written
            array = np.zeros(shape, self.dtype)
        else:
            array = np.full(shape, self.fill, self.dtype)
        for axis in range(len(shape)) if self.phantom is not None else ():
            array[(slice(None),) * axis + (-1,)] = self.phantom
        return array


def Reals(sizes, fill=0.0, dtype=np.float64, **more):
    """An array of real numbers, as the default of a field."""
    return Field(sizes, dtype, fill, **{"least": -np.inf, "most": np.inf} | more)


def Integers(sizes, fill=0, dtype=np.int64, **more):
    """An array of counts or other integers."""
    return Field(sizes, dtype, fill, **{"least": 0, "most": MAX_COUNT} | more)


def Players(sizes, fill=0, dtype=np.int64, **more):
    """An array of the slots of players, the phantom's among them; -1 is nobody."""
    return Field(sizes, dtype, fill, has_slots=True, **more)


def Flags(sizes, **more):
    """An array of truth values."""
    return Field(sizes, np.bool_, **more)


def Keys(sizes, **more):
    """An array of keys of random streams, or of fingerprints."""
    return Field(sizes, np.uint64, **more)


@functools.cache
def _expression(sizes):
    return compile(f"({sizes},)", "sizes of an array", "eval")


def new_state(state_class, sizes, **given):
    """A state as its fields declare it, with named `sizes`; some arrays may be given."""
    made = {
        name: kind.new(sizes) if isinstance(kind, Field) else new_state(kind, sizes)
        for name, kind in _declared(state_class).items()
        if name not in given
    }
    return state_class(**made, **given)


@functools.cache
def _declared(state_class):
    """What each field of a state is: a `Field`, its default, or the class of a state within it."""
    return get_type_hints(state_class) | state_class._field_defaults


def field_of(state, name):
    """The declaration of an array of a state, None if there is none."""
    default = state._field_defaults.get(name)
    return default if isinstance(default, Field) else None


def named_arrays(state, path=""):
    """Yield the name, the declaration and the array of all that a state has, inner states too."""
    for name, part in zip(state._fields, state, strict=True):
        if isinstance(part, tuple):
            yield from named_arrays(part, f"{path}{name}.")
        else:
            yield path + name, field_of(state, name), part


def fields_of(state):
    """What each array of a state is, those of states within it included, in their order."""
    return [field for _, field, _ in named_arrays(state)]


# --- counters ------------------------------------------------------------------------------------

# Compiled steps can change arrays only. So counters, sizes and switches of a state stand together
# in one array of integers, `counters`, and a few real numbers in `reals`. The first places are the
# same for all policies; those of a policy follow, and are named beside its state.
# fmt: off
(
    ROUND,      # proposals so far
    PRESENT,    # players present
    AVAILABLE,  # players available
    MEMBERS,    # ... and the phantom, where they are odd
    OWN,        # the first place of a policy's own
) = range(5)
# fmt: on


def new_counters(values=None, size=OWN):
    """Zeros, except for the counters in the mapping `values`."""
    return _filled(np.zeros(size, np.int64), values)


def new_reals(values, size):
    """Zeros, except for the real numbers in the mapping `values`."""
    return _filled(np.zeros(size), values)


def _filled(array, values):
    for place, value in (values or {}).items():
        array[place] = value
    return array
