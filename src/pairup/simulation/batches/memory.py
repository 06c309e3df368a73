"""Memory: where batches lie, and what plays them there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from pairup.simulation.batches.cuda_driver import DeviceArray, Queue, open_device
from pairup.simulation.batches.layout import (
    BLOCKS_PER_MULTIPROCESSOR,
    THREADS_PER_BLOCK,
    Layout,
)
from pairup.simulation.batches.machine_code import get_machine_code

_ENTRY = "pairup_loop"  # as in `cuda_target`, which only a compiler imports
_MAX_LOCAL_BYTES = 8_192  # an array up to this size is copied into the memory of its thread
MAX_SHARED_BYTES = 850  # of a replication: more would leave too little for the first cache
_RESERVED_BYTES = 1_024  # of shared memory, by the driver, for each block
_WARP = 32  # threads that take each step together
_WARPS = 2  # per multiprocessor, up to which replications have some for themselves

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
        """Tell where an array lies."""

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
        """Tell where an array lies."""
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
