"""Machine code for GPUs: compiled in side processes, and kept on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

from pairup.compiled.kernel_cache import cache_folder
from pairup.compiled.source_digest import bytes_digest
from pairup.errors import SimulationError
from pairup.side_process import SideProcessError, call_aside
from pairup.simulation.batches.layout import Layout
from pairup.simulation.batches.loop_source import loop_source

_TARGET = "pairup.simulation.batches.cuda_target"
_LIBRARIES = ("numba-cuda", "numba", "numpy")
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
_compilers = threading.Semaphore(os.cpu_count() or 1)


def get_machine_code(layout: Layout, capability: tuple[int, int]) -> bytes:
    """Return the machine code of a layout's loop for GPUs of a compute capability.

    It is read from the folder of compiled kernels, or compiled: in half a minute. Threads that ask
    for several layouts compile them side by side.
    """
    path = cache_folder() / f"cuda-{_digest(layout, capability)}.cubin"
    with _locks[path.name]:
        if not path.exists():
            with _compilers:
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
