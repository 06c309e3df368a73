"""How kernels are compiled: by which options, for Python or for other kernels."""

import contextlib
import functools
import sys

import numpy as np
from numba.core import event
from numba.core.registry import CPUDispatcher

from pairup.kernels.runtime.kernel_cache import FOLDER, InnerKernelCache, KernelCache

# Without Numba's run time no references to arrays are counted, which took nine tenths of a round,
# and a kernel that would allocate does not compile. The numpy error model divides without a branch.
OPTIONS = {"_nrt": False, "forceinline": True, "error_model": "numpy"}

# What only compiled code calls needs no wrappers, by which Python would call it. Each has all of
# the function inlined: to compile them took half of the time.
INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@functools.cache  # once
def say_compiling():
    """Say on standard error, where that is a terminal, that kernels are being compiled."""
    if sys.stderr.isatty():
        print(
            "pairup: compiling kernels, which takes up to a minute once on this machine "
            f"(they are kept in {FOLDER})",
            file=sys.stderr,
        )


class _CompileNotice(event.Listener):  # type: ignore[misc] # Numba is not annotated
    """Hears when a kernel is compiled."""

    def on_start(self, event):
        """A function is about to be compiled: it was not found in the cache."""
        cache = event.data["dispatcher"].stats.cache_path
        if cache is not None and cache.startswith(FOLDER):
            say_compiling()

    def on_end(self, event):
        """Nothing to say."""


event.register("numba:compile", _CompileNotice())


class _Kernel(CPUDispatcher):  # type: ignore[misc] # Numba is not annotated
    """A function that Python calls, or another kernel: it is compiled for the one that does."""

    @functools.cached_property
    def _inner(self):
        made = CPUDispatcher(self.py_func, targetoptions=self.targetoptions | INNER)
        # If two threads make one at once, both take the same: Numba refers to it weakly.
        return self.__dict__.setdefault("_inner", _kept_on_disk(made, InnerKernelCache))

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
    return _kept_on_disk(_Kernel(function, targetoptions=options), KernelCache)


def _kept_on_disk(compiled, cache_class):
    """The same function, whose machine code is kept on disk if it is of pairup."""
    if is_ours(compiled.py_func):  # the digest does not cover the sources of others
        with contextlib.suppress(OSError, RuntimeError):  # nothing can be written there
            compiled._cache = cache_class(compiled.py_func)
    return compiled


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
