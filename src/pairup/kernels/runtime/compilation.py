"""How kernels are compiled, and where their machine code is kept between processes.

Numba decides whether cached machine code is stale by looking at the one file that holds the
cached function, yet our loops inline kernels from other files. So the cache lives in a folder
named after a digest of *all* kernel sources: any edit starts a fresh folder.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    UserProvidedCacheLocator,
)
from numba.core.registry import CPUDispatcher

from pairup.kernels.runtime.source_digest import bytes_digest

# Without Numba's run time no references to arrays are counted, which took nine tenths of a round,
# and a kernel that would allocate does not compile. The numpy error model divides without a branch.
OPTIONS = {"_nrt": False, "forceinline": True, "error_model": "numpy"}

# What only compiled code calls needs no wrappers, by which Python would call it. Each has all of
# the function inlined: to compile them took half of the time.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_SOURCES = Path(__file__).parents[1]
_FOLDERS_KEPT = 8


def cache_root():
    """The folder above all digests; `NUMBA_CACHE_DIR` and `XDG_CACHE_HOME` are honoured."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "pairup"


def compile_digest():
    """A short digest of all kernel sources and of what compiles them."""
    sources = bytes_digest(_SOURCES, _SOURCES.rglob("*.py"))
    text = f"{numba.__version__} {sys.version} {sources}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cache_folder():
    """The cache folder of the kernels as they are now; the oldest folders are deleted."""
    root = cache_root()
    folder = root / f"kernels-{compile_digest()}"
    if not folder.exists():
        _delete_oldest(root)
    return folder


def _delete_oldest(root):
    try:
        folders = sorted(root.glob("kernels-*"), key=lambda folder: folder.stat().st_mtime)
    except OSError:  # another process deletes them at this moment
        return
    for folder in folders[: -_FOLDERS_KEPT + 1]:
        shutil.rmtree(folder, ignore_errors=True)


_FOLDER = str(cache_folder())


@functools.cache  # once
def say_compiling():
    """Say on standard error, where that is a terminal, that kernels are being compiled."""
    if sys.stderr.isatty():
        print(
            "pairup: compiling kernels, which takes up to a minute once on this machine "
            f"(they are kept in {_FOLDER})",
            file=sys.stderr,
        )


class _CompileNotice(event.Listener):  # type: ignore[misc] # Numba is not annotated
    """Hears when a kernel is compiled."""

    def on_start(self, event):
        """A function is about to be compiled: it was not found in the cache."""
        cache = event.data["dispatcher"].stats.cache_path
        if cache is not None and cache.startswith(_FOLDER):
            say_compiling()

    def on_end(self, event):
        """Nothing to say."""


event.register("numba:compile", _CompileNotice())


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc] # Numba is not annotated
    """Our folder, whatever Numba's settings are: those are for the caches of other libraries."""

    def __init__(self, py_func, py_file):
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(_FOLDER, self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func, py_file):
        """Locate a function's machine code; None where nothing can be written."""
        locator = cls(py_func, py_file)
        return locator if _is_writable(locator.get_cache_path()) else None


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


class _SharedCache(FunctionCache):  # type: ignore[misc] # Numba is not annotated
    """Numba's cache, in which one process at a time saves.

    Each function has a numbered file for each type of its arguments. Two processes that save at
    once would both take the next number, and one of them later read the other's machine code.
    """

    _impl_class = _Files

    def save_overload(self, sig, data):
        """Save what was compiled for a signature."""
        with self._guard_against_spurious_io_errors():
            Path(self.cache_path).mkdir(parents=True, exist_ok=True)
            with open(Path(self.cache_path) / "lock", "wb") as lock:
                # On POSIX only, and not on every file system; the system frees it, even on kill -9.
                with contextlib.suppress(ImportError, OSError):
                    import fcntl

                    fcntl.flock(lock, fcntl.LOCK_EX)
                super().save_overload(sig, data)


class _InnerCache(_SharedCache):
    """The cache of functions that only kernels call: several kernels inline the same."""

    _impl_class = _InnerFiles


class _Kernel(CPUDispatcher):  # type: ignore[misc] # Numba is not annotated
    """A function that Python calls, or another kernel: it is compiled for the one that does."""

    @functools.cached_property
    def _inner(self):
        made = CPUDispatcher(self.py_func, targetoptions=self.targetoptions | INNER)
        # If two threads make one at once, both take the same: Numba refers to it weakly.
        return self.__dict__.setdefault("_inner", _kept_on_disk(made, _InnerCache))

    @property
    def _numba_type_(self):
        """What other kernels call."""
        return self._inner._numba_type_


def kernel(function):
    """Compile `function` without the GIL, without allocation, on its first call.

    Machine code of pairup's own kernels is kept on disk under the digest of all of them.
    """
    return _compiled(function, OPTIONS)


def outlined(function):
    """Compile `function` as `kernel` does, but call it: for what is long and seldom called.

    A call costs tens of nanoseconds, but each place in which it is inlined seconds to compile.
    """
    return _compiled(function, OPTIONS | {"forceinline": False})


def _compiled(function, options):
    options = {"nopython": True, "nogil": True, **options}
    return _kept_on_disk(_Kernel(function, targetoptions=options), _SharedCache)


def _kept_on_disk(compiled, cache_class):
    """The same function, whose machine code is kept on disk if it is of pairup."""
    if is_ours(compiled.py_func):  # the digest does not cover the sources of others
        with contextlib.suppress(OSError, RuntimeError):  # nothing can be written there
            compiled._cache = cache_class(compiled.py_func)
    return compiled


def is_on_disk(function):
    """Whether machine code of a kernel is on disk, for arguments of some types."""
    cache = function._cache
    return isinstance(cache, _SharedCache) and Path(cache._cache_file._index_path).exists()


def is_ours(thing):
    """Whether a class or a function is of pairup itself, and so watched by the digest."""
    return str(thing.__module__).partition(".")[0] == "pairup"


@kernel
def slot(i):
    """The slot of a player as an index that cannot count from the end.

    With a signed index the length of the array is read, in case the index is negative: in the loops
    over couples that took a tenth to a fifth of a round.
    """
    return np.uint32(i)
