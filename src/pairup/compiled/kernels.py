"""How kernels are compiled: inlined or called, and announced on a terminal."""

import functools
import sys

import numpy as np
from numba.extending import overload

from pairup.compiled.kernel_cache import FOLDER
from pairup.compiled.numba_internals import (
    INNER,
    OPTIONS,
    class_of,
    new_kernel,
    tell_of_compilation,
)


@functools.cache  # once
def announce_compiling():
    """Announce on standard error, if that is a terminal, that kernels are being compiled."""
    if sys.stderr.isatty():
        print(
            "pairup: compiling kernels, which takes up to a minute once on this machine "
            f"(they are kept in {FOLDER})",
            file=sys.stderr,
        )


tell_of_compilation(announce_compiling)


def kernel(function):
    """Compile `function` without the GIL, without allocation, on its first call.

    Machine code of pairup's own kernels is kept on disk under the digest of all of them.
    """
    return new_kernel(function, OPTIONS)


def outlined(function):
    """Compile `function` as `kernel` does, but call it: for what is long and seldom called.

    A call costs tens of nanoseconds, but each place in which it is inlined seconds to compile.
    """
    return new_kernel(function, OPTIONS | {"forceinline": False})


def bind(name, state_class, function):
    """Make kernels that call `name` on a state of this class call `function`.

    `name` is a function without a body, `function` a plain one or a kernel. Numba chooses by the
    type of the first argument, at compile time. Unlike functions passed as arguments, kernels that
    call it are found again in the cache on disk by the next process.
    """
    function = getattr(function, "py_func", function)

    # Not strict: `choose` need not name the parameters as the function does.
    @overload(name, jit_options=OPTIONS | INNER, strict=False)
    def choose(state, *_):
        return function if class_of(state) is state_class else None


@kernel
def slot(i):
    """The slot of a player as an index that cannot count from the end.

    With a signed index the length of the array is read, in case the index is negative: in the loops
    over couples that took a tenth to a fifth of a round.
    """
    return np.uint32(i)
