"""Where the machine code of kernels is kept between processes.

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
from numba.core import config
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    UserProvidedCacheLocator,
)

from pairup.kernels.runtime.source_digest import bytes_digest

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
    sources = bytes_digest(_SOURCES, "**/*.py")
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


FOLDER = str(cache_folder())


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc] # Numba is not annotated
    """Our folder, whatever Numba's settings are: those are for the caches of other libraries."""

    def __init__(self, py_func, py_file):
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(FOLDER, self.get_suitable_cache_subpath(py_file))

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


class KernelCache(FunctionCache):  # type: ignore[misc] # Numba is not annotated
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


class InnerKernelCache(KernelCache):
    """The cache of functions that only kernels call: several kernels inline the same."""

    _impl_class = _InnerFiles


def is_on_disk(function):
    """Whether machine code of a kernel is on disk, for arguments of some types."""
    cache = function._cache
    return isinstance(cache, KernelCache) and Path(cache._cache_file._index_path).exists()
