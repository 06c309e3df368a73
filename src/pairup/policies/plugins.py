"""Third-party policies: by name, and on their way to another process.

A name is an entry point of an installed package, or "module:Class". A class that is sent to another
process takes its code along. By reference, as pickle does it, a worker would import the module: it
may not have it, or may have imported it before it was edited.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.numba_internals import cloudpickle as numba_pickle
from pairup.compiled.source_digest import computation_digest
from pairup.errors import PolicyError

GROUP = "pairup.policies"
_REGISTERED = threading.Lock()  # what is pickled by value is registered in a global table


def reference_of(policy_class: type) -> str:
    """Return the place of a class, "module:Class".

    Examples
    --------
    >>> from pairup import SAM
    >>> reference_of(SAM)
    'pairup.policies.sam:SAM'
    """
    return f"{policy_class.__module__}:{policy_class.__qualname__}"


def code_digest(policy_class: type, module: str) -> str:
    """Return a digest of what a policy and a module of pairup compute, with all that they import.

    Of a third-party policy what it takes from pairup counts: the classes that it derives from, and
    all of `pairup.extending`. Its own source is not covered, see `source_of`.
    """
    homes = {each.__module__ for each in policy_class.__mro__ if is_ours(each)}
    if not is_ours(policy_class):
        homes.add("pairup.extending")
    return computation_digest(module, *homes)


def source_of(policy_class: type) -> bytes | None:
    """Return the file of a policy's class; None if it is not in a file, as in a notebook."""
    with suppress(OSError, TypeError):
        return Path(inspect.getsourcefile(policy_class) or "").read_bytes()
    return None


@functools.cache
def _plugins() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=GROUP)}


def plugin_names() -> tuple[str, ...]:
    """Return the names of the entry points in the group `pairup.policies`."""
    return tuple(sorted(_plugins()))


def load_plugin(name: str) -> object:
    """Import what an entry point names."""
    return import_reference(_plugins()[name].value)


def import_reference(reference: str, folder: str | Path | None = None) -> object:
    """Import "module:Class"; modules are also found in `folder`, after all other places."""
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))  # for good: the module may import others later
    module, _, _ = reference.partition(":")
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever the module raises
        raise PolicyError(
            f"the policy {reference!r} cannot be imported, {type(error).__name__}: {error}: "
            "correct the module, or run where it can be imported"
        ) from error
    found = find_imported(reference)
    if found is None:
        file = getattr(sys.modules[module], "__file__", None)
        raise PolicyError(f"the policy {reference!r} is not in {file or module}: correct the name")
    return found


def find_imported(reference: str) -> object | None:
    """Return the object at "module:name" if its module is imported, and import nothing."""
    module, _, path = reference.partition(":")
    found: object | None = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


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
    """Pickle the names of a module by value, in its functions and in Numba's kernels."""
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
