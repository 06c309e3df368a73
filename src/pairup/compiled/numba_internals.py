"""Numba beyond its documented interface: all that pairup uses of it is in this file.

Any version of Numba may change it. So `pyproject.toml` allows only versions that were tried, and
`tests/compiled/test_numba_internals.py` names what they must have.
"""

import contextlib
import functools
import os
import tempfile
from pathlib import Path

# Given to others by name: what Numba calls a compiled function, how it fails, and the pickler that
# `portable_class` is made with.
from numba import cloudpickle as cloudpickle
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.dispatcher import Dispatcher as Dispatcher
from numba.core.errors import NumbaError as NumbaError
from numba.core.registry import CPUDispatcher

from pairup.compiled.kernel_cache import FOLDER, is_ours

# Without Numba's run time no references to arrays are counted, which took nine tenths of a round,
# and a kernel that would allocate does not compile. The numpy error model divides without a branch.
OPTIONS = {"_nrt": False, "forceinline": True, "error_model": "numpy"}

# What only compiled code calls needs no wrappers, by which Python would call it. Each has all of
# the function inlined: to compile them took half of the time.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class Kernel(CPUDispatcher):  # type: ignore[misc] # Numba is not annotated
    """A function that Python calls, or another kernel: it is compiled for the one that does."""

    @functools.cached_property
    def _inner(self):
        made = CPUDispatcher(self.py_func, targetoptions=self.targetoptions | INNER)
        # If two threads make one at once, both take the same: Numba refers to it weakly.
        return self.__dict__.setdefault("_inner", keep_on_disk(made, InnerKernelCache))

    @property
    def _numba_type_(self):
        """What other kernels call."""
        return self._inner._numba_type_


def new_kernel(function, options):
    """A function that is compiled without the GIL; it is kept on disk if it is of pairup."""
    options = {"nopython": True, "nogil": True, **options}
    return keep_on_disk(Kernel(function, targetoptions=options), KernelCache)


def compile_for(function, types):
    """Compile a function for arguments of some types, and return the type of its result."""
    function.compile(types)
    return function.nopython_signatures[-1].return_type


def options_of(function):
    """The options that a compiled function was given, None if it is a plain one."""
    return getattr(function, "targetoptions", None)


def class_of(state_type):
    """The NamedTuple class of a state, of which Numba knows the type; None if it is not a state."""
    return getattr(state_type, "instance_class", None)


def tell_of_compilation(tell):
    """Call `tell` when a function that is kept on disk is about to be compiled."""
    event.register("numba:compile", _CompileListener(tell))


class _CompileListener(event.Listener):  # type: ignore[misc] # Numba is not annotated
    """Called when a kernel is compiled."""

    def __init__(self, tell):
        self._tell = tell

    def on_start(self, event):
        """A function is about to be compiled: it was not found in the cache."""
        cache = event.data["dispatcher"].stats.cache_path
        if cache is not None and cache.startswith(FOLDER):
            self._tell()

    def on_end(self, event):
        """Nothing to say."""


def keep_on_disk(compiled, cache_class):
    """The same function, whose machine code is kept on disk if it is of pairup."""
    if is_ours(compiled.py_func):  # the digest does not cover the sources of others
        with contextlib.suppress(OSError, RuntimeError):  # nothing can be written there
            compiled._cache = cache_class(compiled.py_func)
    return compiled


def cache_subpath(file):
    """The folder, below that of all kernels, of the machine code of functions in a file."""
    return UserProvidedCacheLocator.get_suitable_cache_subpath(file)


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc] # Numba is not annotated
    """Our folder, whatever Numba's settings are: those are for the caches of other libraries."""

    def __init__(self, py_func, py_file):
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(FOLDER, cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func, py_file):
        """Locate a function's machine code; None where there is none and none can be written."""
        locator = cls(py_func, py_file)
        folder = locator.get_cache_path()
        return locator if os.access(folder, os.R_OK | os.X_OK) or _is_writable(folder) else None


@functools.cache  # once for each folder, not for each function
def _is_writable(folder):
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


class _Files(CompileResultCacheImpl):  # type: ignore[misc] # Numba is not annotated
    _locator_classes = (_Locator,)


class _InnerFiles(_Files):
    """Files of functions that only kernels call."""

    def get_filename_base(self, fullname, abiflags):
        """Name them apart from those of functions that Python calls."""
        return f"inner-{super().get_filename_base(fullname, abiflags)}"


class KernelCache(FunctionCache):  # type: ignore[misc] # Numba is not annotated
    """Numba's cache, in which one process at a time saves.

    Each function has a numbered file for each type of its arguments. Two processes that save at
    once would both take the next number, and one of them later read the other's machine code.
    """

    _impl_class = _Files

    def save_overload(self, sig, data):
        """Save what was compiled for a signature, unless the folder is read-only."""
        if not _is_writable(self.cache_path):
            return
        with self._guard_against_spurious_io_errors():
            Path(self.cache_path).mkdir(parents=True, exist_ok=True)
            with open(Path(self.cache_path) / "lock", "wb") as lock:
                # On POSIX only, and not on every file system; the system frees it, even on kill -9.
                with contextlib.suppress(ImportError, OSError):
                    import fcntl

                    fcntl.flock(lock, fcntl.LOCK_EX)
                super().save_overload(sig, data)


class InnerKernelCache(KernelCache):
    """The cache of functions that only kernels call: several kernels inline the same."""

    _impl_class = _InnerFiles
