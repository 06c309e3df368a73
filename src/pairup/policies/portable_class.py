"""Policy classes on their way to another process: third-party ones take their code along.

By reference, as pickle does it, a worker would import the module: it may not have it, or may have
imported it before it was edited.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.numba_internals import cloudpickle as numba_pickle

_REGISTERED = threading.Lock()  # what is pickled by value is registered in a global table


def portable_class(policy_class: type) -> type | bytes:
    """Return what stands for a policy class in a pickle: itself, or bytes that hold its code."""
    try:
        import cloudpickle  # comes with Dask; without it the class is found by its name
    except ImportError:
        return policy_class
    if is_ours(policy_class):
        return policy_class
    with _REGISTERED, _by_value(policy_class.__module__, (cloudpickle, numba_pickle)):
        return bytes(cloudpickle.dumps(policy_class))


def restored_class(portable: type | bytes) -> type:
    """Return the class that `portable_class` stands for."""
    if isinstance(portable, type):
        return portable
    import cloudpickle

    found: type = cloudpickle.loads(portable)
    return found


@contextmanager
def _by_value(name: str, picklers: tuple[Any, ...]) -> Iterator[None]:
    """Let the names of a module be pickled by value, in its functions and in Numba's kernels."""
    module = sys.modules.get(name)
    if module is None or name == "__main__":  # by value anyway
        yield
        return
    for pickler in picklers:
        pickler.register_pickle_by_value(module)
    try:
        yield
    finally:
        for pickler in picklers:
            pickler.unregister_pickle_by_value(module)
