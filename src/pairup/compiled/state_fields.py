"""What the arrays of a state are: each field of a state declares its own.

A field of a NamedTuple has such a declaration as its default, for example

    members: np.ndarray = Integers("slots + 1")

From it `new_state` makes the array, and a GPU knows its size for every number of players.
"""

import functools
from typing import Any, NamedTuple, get_type_hints

import numpy as np


class Field(NamedTuple):
    """What an array of a state is, as the default of its field: sizes, type, what it begins with.

    Of each axis `sizes` has the size: a number, or an expression of the sizes that are named when a
    state is made, such as "slots, slots // 2 + 1". The last place of an axis of slots is the
    phantom's; `phantom` is what stands there, if that is something else.
    """

    sizes: str | int
    dtype: Any = np.float64
    fill: float = 0
    phantom: float | None = None
    can_grow: bool = False  # while it is played

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
    return Field(sizes, dtype, fill, **more)


def Integers(sizes, fill=0, dtype=np.int64, **more):
    """An array of counts, slots or other integers."""
    return Field(sizes, dtype, fill, **more)


def Flags(sizes):
    """An array of truth values."""
    return Field(sizes, np.bool_)


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
        for name, kind in declared(state_class).items()
        if name not in given
    }
    return state_class(**made, **given)


@functools.cache
def declared(state_class):
    """What each field of a state is: a `Field`, its default, or the class of a state within it."""
    return get_type_hints(state_class) | state_class._field_defaults


def fields_of(state):
    """What each array of a state is, those of states within it included, in their order."""
    kinds, found = declared(state.__class__), list[Field]()
    for name, part in zip(state._fields, state, strict=True):
        found += fields_of(part) if isinstance(part, tuple) else [kinds[name]]
    return found
