"""A GPU by way of CUDA's driver: memory, machine code, and launches in an order of their own."""

from __future__ import annotations

import functools
import importlib.util
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.errors import SimulationError

_MIN_CAPABILITY = (7, 0)
_MIN_DRIVER = 13_000  # as CUDA counts its versions
_WAY_OUT = 'use engine="cpu", without --cuda on the command line'
_loading = threading.Lock()


def _failed(error: Any) -> bool:
    return int(error) != 0


def _checked(returned: tuple[Any, ...]) -> Any:
    """Return what a function of the driver gave, or raise its error."""
    error, *values = returned
    if _failed(error):
        raise SimulationError(f"the GPU failed ({error.name}): {_WAY_OUT}")
    return values[0] if len(values) == 1 else tuple(values)


@functools.cache
def open_device() -> Device:
    """Open the first GPU that this process may use, or say in one line what is missing.

    `CUDA_VISIBLE_DEVICES` chooses among several.
    """
    for package in ("numba_cuda", "cuda.bindings"):
        if not _is_installed(package):
            raise SimulationError(
                'engine="cuda" needs numba-cuda, which is not installed: '
                f'pip install "pairup[cuda]", or {_WAY_OUT}'
            )
    from cuda.bindings import driver

    try:
        status = driver.cuInit(0)[0]
    except Exception as error:  # of the library that looks for the driver, in several forms
        raise SimulationError(
            'engine="cuda" needs the driver of an NVIDIA GPU, and finds none '
            f"({type(error).__name__}): install the driver, or {_WAY_OUT}"
        ) from error
    if _failed(status):
        raise SimulationError(
            f'engine="cuda" needs an NVIDIA GPU, and finds none ({status.name}): see nvidia-smi '
            f"and CUDA_VISIBLE_DEVICES, or {_WAY_OUT}"
        )
    return Device(driver)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def check_versions(name: str, capability: tuple[int, int], driver_version: int) -> None:
    """Refuse a GPU or a driver that is too old."""
    if driver_version < _MIN_DRIVER:
        raise SimulationError(
            f'engine="cuda" needs a driver for CUDA {_MIN_DRIVER // 1000} or later, that of '
            f"{name} is for CUDA {driver_version / 1000:.1f}: update it, or {_WAY_OUT}"
        )
    if capability < _MIN_CAPABILITY:
        shown, least = (".".join(map(str, each)) for each in (capability, _MIN_CAPABILITY))
        raise SimulationError(
            f'engine="cuda" needs a GPU of compute capability {least} or later, {name} has '
            f"{shown}: take another, or {_WAY_OUT}"
        )


class Device:
    """A GPU, and the machine code that was loaded into it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        device = _checked(driver.cuDeviceGet(0))
        attribute = driver.CUdevice_attribute

        def ask(name: str) -> int:
            code = getattr(attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(_checked(driver.cuDeviceGetAttribute(code, device)))

        self.name = _checked(driver.cuDeviceGetName(128, device)).split(b"\0")[0].decode()
        self.capability = (ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR"))
        check_versions(self.name, self.capability, _checked(driver.cuDriverGetVersion()))
        self.multiprocessors = ask("MULTIPROCESSOR_COUNT")
        self.shared_bytes = ask("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR")
        # Threads that wait must not take the cores from those that compute.
        waiting = driver.CUctx_flags.CU_CTX_SCHED_BLOCKING_SYNC
        _checked(driver.cuDevicePrimaryCtxSetFlags(device, waiting.value))
        self.context = _checked(driver.cuDevicePrimaryCtxRetain(device))
        self._functions: dict[bytes, Any] = {}
        self._streams: list[Any] = []

    def enter(self) -> None:
        """Make the GPU current in this thread."""
        _checked(self.driver.cuCtxSetCurrent(self.context))

    def take_stream(self) -> Any:
        """Return a stream that nobody uses."""
        if self._streams:
            return self._streams.pop()
        flag = self.driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        return _checked(self.driver.cuStreamCreate(flag.value))

    def return_stream(self, stream: Any) -> None:
        """Take a stream back: it stays, because arrays that are freed later refer to it."""
        self._streams.append(stream)

    def load(self, machine_code: bytes, name: str, shared_bytes: int) -> Any:
        """Load a kernel, whose blocks share `shared_bytes` of memory, once."""
        with _loading:
            if machine_code not in self._functions:
                module = _checked(self.driver.cuModuleLoadData(machine_code))
                function = _checked(self.driver.cuModuleGetFunction(module, name.encode()))
                attributes = self.driver.CUfunction_attribute
                limit = attributes.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                _checked(self.driver.cuFuncSetAttribute(function, limit, shared_bytes))
                self._functions[machine_code] = function
            return self._functions[machine_code]

    @property
    def free_bytes(self) -> int:
        """Memory that nobody uses."""
        return int(_checked(self.driver.cuMemGetInfo())[0])


class DeviceArray:
    """An array in the memory of a GPU, until nobody refers to it."""

    def __init__(self, queue: Queue, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype, self._queue = shape, np.dtype(dtype), queue
        self.nbytes = int(np.prod(shape)) * self.dtype.itemsize
        self.address = queue.allocate(max(self.nbytes, 1))

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._queue.free(self.address)


class Queue:
    """Work for a GPU, done in the order in which it is given, by one thread."""

    def __init__(self, device: Device) -> None:
        self.device, self._driver = device, device.driver
        device.enter()
        self._stream = device.take_stream()

    def allocate(self, nbytes: int) -> int:
        """Allocate memory and return its address."""
        error, address = self._driver.cuMemAllocAsync(nbytes, self._stream)
        if _failed(error):
            raise SimulationError(
                f"{self.device.name} has no memory left for {nbytes:,} bytes: ask for fewer "
                f"replications or players, or {_WAY_OUT}"
            )
        return int(address)

    def free(self, address: int) -> None:
        """Free memory; called by any thread, when nobody refers to it."""
        self._driver.cuCtxSetCurrent(self.device.context)
        self._driver.cuMemFreeAsync(address, self._stream)

    def put(self, array: NDArray[Any]) -> DeviceArray:
        """Copy an array to the GPU."""
        array = np.ascontiguousarray(array)
        placed = DeviceArray(self, array.shape, array.dtype)
        if array.nbytes:
            copied = self._driver.cuMemcpyHtoDAsync(
                placed.address, array.ctypes.data, array.nbytes, self._stream
            )
            _checked(copied)
            self.wait()  # the array may go
        return placed

    def get(self, placed: DeviceArray) -> NDArray[Any]:
        """Copy an array from the GPU."""
        array = np.empty(placed.shape, placed.dtype)
        if array.nbytes:
            copied = self._driver.cuMemcpyDtoHAsync(
                array.ctypes.data, placed.address, array.nbytes, self._stream
            )
            _checked(copied)
            self.wait()
        return array

    def launch(self, function: Any, grid: tuple[int, int, int], arguments: tuple[int, ...]) -> None:
        """Run a kernel of 64-bit integers, and wait for it.

        `grid` is the number of blocks, of the threads of a block, and of the bytes that they share.
        """
        values = np.array(arguments, np.int64)
        places = np.arange(len(values), dtype=np.uint64) * 8 + np.uint64(values.ctypes.data)
        blocks, threads, shared = grid
        launched = self._driver.cuLaunchKernel(
            function, blocks, 1, 1, threads, 1, 1, shared, self._stream, places.ctypes.data, 0
        )
        _checked(launched)
        self.wait()

    def wait(self) -> None:
        """Wait for all pending work."""
        _checked(self._driver.cuStreamSynchronize(self._stream))

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self.device.return_stream(self._stream)
