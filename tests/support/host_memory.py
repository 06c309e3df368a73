"""Batches on the CPU, for tests of all but a GPU: the loop is compiled, or interpreted.

Interpreted it only copies arrays between the compiled steps of `play_rounds`, so that it plays
every policy without compiling anything more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from pairup.compiled.numba_internals import OPTIONS
from pairup.compiled.simulation_loop import play_rounds
from pairup.compiled.steps import set_available, set_available_step
from pairup.simulation.batches.array_intrinsics import make_intrinsics
from pairup.simulation.batches.layout import Layout
from pairup.simulation.batches.loop_source import COPIES, define_loop
from pairup.simulation.batches.memory import MAX_SHARED_BYTES, Loop

_SHARERS = 2  # elements lie apart here too, as if another thread had those between


class HostMemory:
    """The memory of this machine, where its CPU plays."""

    max_local_bytes: float = np.inf
    free_bytes = 2**30

    def __init__(self, compiled: bool = True) -> None:
        self._make = _compiled_loop if compiled else _interpreted_loop
        # Interpreted, arrays in shared memory would be of another type: all steps compiled again.
        self.shared_bytes = MAX_SHARED_BYTES if compiled else 0

    def put(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array in C order."""
        return np.ascontiguousarray(array)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Make an array whose numbers are not set."""
        return np.empty(shape, dtype)

    def get(self, placed: NDArray[Any]) -> NDArray[Any]:
        """Return the array itself."""
        return placed

    def address(self, placed: NDArray[Any]) -> int:
        """Return the address of an array."""
        return int(placed.ctypes.data)

    def make_loop(self, layout: Layout) -> Loop:
        """Define the loop of a layout, and compile it if asked to."""
        loop = self._make(layout)
        return lambda until, count, table: loop(until, count, 1, self.address(table))


def _interpreted_loop(layout: Layout) -> Callable[..., None]:
    """Return the loop as plain Python."""
    return define_loop(layout, _PYTHON)


def _compiled_loop(layout: Layout) -> Callable[..., None]:
    """Compile the loop for the CPU."""
    loop: Callable[..., None] = _compile(define_loop(layout, _compiled_names()))
    return loop


def _array_at(address: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size == 0:
        return np.zeros(shape, dtype)
    memory = (ctypes.c_char * size).from_address(int(address))
    return np.frombuffer(memory, dtype).reshape(shape)


def _shaped(memory: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return memory[: int(np.prod(shape))].reshape(shape)


def _shared_memory(builder: Any, element: Any, count: int, at: int) -> tuple[Any, int]:
    return cgutils.alloca_once(builder, element, size=count * _SHARERS), _SHARERS


def _first(count: int, spread: int) -> int:
    return 0


def _step(spread: int) -> int:
    return 1


def _take(own: Any, batch: Any, r: int) -> None:
    own[: len(batch)] = batch[:, r]


def _give(own: Any, batch: Any, r: int) -> None:
    batch[:, r] = own[: len(batch)]


_PYTHON: dict[str, Any] = (
    {
        "array_at": _array_at,
        "local_array": np.empty,
        "shaped": _shaped,
        "first": _first,
        "step": _step,
        "play_rounds": play_rounds,
        "set_available": set_available_step,
    }
    | COPIES
    | {"take": _take, "give": _give}
)


def _compile(function: Callable[..., Any]) -> Any:
    return numba.njit(nogil=True, **OPTIONS)(function)


def _compiled_names() -> dict[str, Any]:
    functions: dict[str, Any] = COPIES | {"first": _first, "step": _step}
    return {
        **make_intrinsics(intrinsic, types, cgutils, populate_array, _shared_memory),
        **{name: _compile(function) for name, function in functions.items()},
        "play_rounds": play_rounds,
        "set_available": set_available,
    }
