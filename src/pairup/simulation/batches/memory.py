"""Memory: where batches lie, and what plays them there.

Machine code for GPUs is compiled in side processes, and kept on disk.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from pairup.compiled.kernel_cache import cache_folder
from pairup.compiled.source_digest import bytes_digest
from pairup.errors import SimulationError
from pairup.side_process import SideProcessError, call_aside
from pairup.simulation.batches.cuda_driver import DeviceArray, Queue, open_device
from pairup.simulation.batches.layout import BLOCKS_PER_MULTIPROCESSOR, THREADS_PER_BLOCK, Layout
from pairup.simulation.batches.loop_source import loop_source

_ENTRY = "pairup_loop"  # as in `cuda_target`, which only a compiler imports
_MAX_LOCAL_BYTES = 8_192  # an array up to this size is copied into the memory of its thread
MAX_SHARED_BYTES = 850  # of a replication: more would leave too little for the first cache
_RESERVED_BYTES = 1_024  # of shared memory, by the driver, for each block
_WARP = 32  # threads that take each step together
_WARPS = 2  # per multiprocessor, up to which replications have some for themselves
_TARGET = "pairup.simulation.batches.cuda_target"
_LIBRARIES = ("numba-cuda", "numba", "numpy")
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

Loop = Callable[[int, int, Any], None]  # takes a round, a number of replications, and a table


class Memory(Protocol):
    """Where batches lie. Arrays of more than `max_local_bytes` are used in place.

    Of the memory that threads share, a replication has `shared_bytes`: as fast where the threads
    read different elements of an array as where they read the same one.
    """

    max_local_bytes: float
    shared_bytes: int

    @property
    def free_bytes(self) -> int:
        """Memory that nobody uses."""

    def put(self, array: NDArray[Any]) -> Any:
        """Place an array where the loop can reach it."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Place an array whose numbers are not set."""

    def get(self, placed: Any) -> NDArray[Any]:
        """Read an array that was placed."""

    def address(self, placed: Any) -> int:
        """Return the address of an array."""

    def make_loop(self, layout: Layout) -> Loop:
        """Compile the loop of a layout."""


class DeviceMemory:
    """The memory of a GPU. Each thread that plays has one of its own."""

    max_local_bytes: float = _MAX_LOCAL_BYTES

    def __init__(self) -> None:
        self.device = open_device()
        self._queue = Queue(self.device)
        block = self.device.shared_bytes // BLOCKS_PER_MULTIPROCESSOR - _RESERVED_BYTES
        self.shared_bytes = min(block // THREADS_PER_BLOCK, MAX_SHARED_BYTES)

    @property
    def free_bytes(self) -> int:
        """Memory of the GPU that nobody uses."""
        return self.device.free_bytes

    def put(self, array: NDArray[Any]) -> DeviceArray:
        """Copy an array to the GPU."""
        return self._queue.put(array)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        """Make an array on the GPU whose numbers are not set."""
        return DeviceArray(self._queue, shape, dtype)

    def get(self, placed: DeviceArray) -> NDArray[Any]:
        """Copy an array from the GPU."""
        return self._queue.get(placed)

    def address(self, placed: DeviceArray) -> int:
        """Return the address of an array."""
        return placed.address

    def make_loop(self, layout: Layout) -> Loop:
        """Compile the loop of a layout, or find it compiled."""
        shared = layout.shared_bytes * THREADS_PER_BLOCK
        code = get_machine_code(layout, self.device.capability)
        function = self.device.load(code, _ENTRY, shared)

        def play(until: int, count: int, table: DeviceArray) -> None:
            spread = self._spread(count)
            grid = -(-count * spread // THREADS_PER_BLOCK), THREADS_PER_BLOCK, shared
            self._queue.launch(function, grid, (until, count, spread, table.address))

        return play

    def _spread(self, count: int) -> int:
        """Return over how many threads to spread each replication: idle ones do not hold it up."""
        room = self.device.multiprocessors * _WARPS * _WARP // count
        return min(1 << max(room.bit_length() - 1, 0), _WARP)


def get_machine_code(layout: Layout, capability: tuple[int, int]) -> bytes:
    """Return the machine code of a layout's loop for GPUs of a compute capability.

    It is read from the folder of compiled kernels, or compiled: in half a minute. Threads that ask
    for several layouts compile them side by side.
    """
    path = cache_folder() / f"cuda-{_digest(layout, capability)}.cubin"
    with _locks[path.name]:
        if not path.exists():
            _compile(layout, capability, path)
        return path.read_bytes()


def _digest(layout: Layout, capability: tuple[int, int]) -> str:
    text = f"{capability} {_compiler()} {layout.trees} {loop_source(layout)}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@functools.cache
def _compiler() -> str:
    return f"{version('numba-cuda')} {bytes_digest(Path(__file__).parent, '*.py')}"


def _check_compiler(capability: tuple[int, int]) -> None:
    """Refuse libraries that do not work together, which is not the fault of a policy's steps."""
    try:
        call_aside(f"{_TARGET}:check_compiler", capability)
    except SideProcessError as error:
        versions = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
        raise SimulationError(
            f"the compiler for GPUs does not work with these versions, {versions} ({error}): "
            'pip install "pairup[cuda]" installs versions that do, or use engine="cpu"'
        ) from None


def _compile(layout: Layout, capability: tuple[int, int], path: Path) -> None:
    try:
        code = call_aside(f"{_TARGET}:compile_loop", layout, capability)
    except SideProcessError as error:
        _check_compiler(capability)
        state = type(layout.trees[0]).__name__
        raise SimulationError(
            f'the steps of {state} cannot be compiled for a GPU ({error}): use engine="cpu"'
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}")
    made.write_bytes(code)
    made.replace(path)  # at once: another process may look for it
