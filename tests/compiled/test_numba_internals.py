"""Numba has what `numba_internals` uses of it beyond its documented interface.

Nothing of Numba's internals, nor of pairup, is imported before a test asks for it: what is missing
is told by name. Also run with the lowest version that is allowed, by `make test-lowest`.
"""

import inspect
from collections import namedtuple
from pkgutil import resolve_name

import numba
import pytest

from tests.support.requirements import check_internals, imported_names

FILE = "compiled/numba_internals.py"
IMPORTED = imported_names("numba", FILE)
CACHING = "numba.core.caching:"


def takes(function, *names):
    """Whether a function has parameters of these names, in this order, and needs no others."""
    parameters = inspect.signature(function).parameters
    needed = {name for name, each in parameters.items() if each.default is each.empty}
    chosen = [name for name in parameters if name in names]
    return chosen == list(names) and needed <= {"self", "cls", *names}


def flags():
    """Return what Numba makes of our options."""
    from numba.core.compiler import Flags
    from numba.core.cpu import CPUTargetOptions

    from pairup.compiled.numba_internals import INNER, OPTIONS

    options = {"nopython": True, "nogil": True, **OPTIONS, **INNER}
    return CPUTargetOptions.parse_as_flags(Flags(), options)


def twice():
    """Return a function that was compiled for one type, in this process."""

    @numba.njit
    def twice(x):
        return x + x

    twice.compile((numba.int64,))
    return twice


def slot():
    """Return a kernel, which is kept on disk."""
    from pairup.compiled.kernels import slot

    return slot


def is_dispatcher():
    found = resolve_name("numba.core.registry:CPUDispatcher")
    by_type = inspect.getattr_static(found, "_numba_type_")
    return (
        issubclass(found, resolve_name("numba.core.dispatcher:Dispatcher"))
        and takes(found, "py_func", "targetoptions")
        and isinstance(by_type, property)
        and not hasattr(found, "_inner")
    )


def is_event():
    found = resolve_name("numba.core.event")
    with found.install_recorder("numba:compile") as recorder:
        twice()
    paths = [each.data["dispatcher"].stats.cache_path for _, each in recorder.buffer]
    return (
        {"on_start", "on_end"} <= found.Listener.__abstractmethods__
        and takes(found.register, "kind", "listener")
        and paths == [None, None]  # at its start and at its end
    )


def is_locator():
    found = resolve_name(f"{CACHING}UserProvidedCacheLocator")
    located = found(takes, __file__)
    return (
        takes(found.from_function, "py_func", "py_file")
        and isinstance(found.get_suitable_cache_subpath(__file__), str)
        and located.get_cache_path() == located._cache_path
    )


def is_cache():
    found = resolve_name(f"{CACHING}FunctionCache")
    files = resolve_name(f"{CACHING}CompileResultCacheImpl")
    return (
        found._impl_class is files
        and resolve_name(f"{CACHING}UserProvidedCacheLocator") in files._locator_classes
        and takes(files.get_filename_base, "self", "fullname", "abiflags")
        and takes(found.save_overload, "self", "sig", "data")
        and takes(found._guard_against_spurious_io_errors, "self")
        and slot()._cache._cache_file._index_path.endswith(".nbi")
    )


def is_context():
    found = resolve_name("numba.core.base:BaseContext")
    used = ("get_abi_sizeof", "get_data_type", "get_constant", "make_array", "cast")
    return all(callable(getattr(found, name)) for name in used)


def pickles_by_value():
    found = resolve_name("numba.cloudpickle")
    both = (found.register_pickle_by_value, found.unregister_pickle_by_value)
    return all(takes(each, "module") for each in both)


Pair = namedtuple("Pair", ["first", "second"])

NEEDED = {name: name for name in IMPORTED} | {
    "the option _nrt": lambda: flags().nrt is False,
    "the option forceinline": lambda: flags().forceinline is True,
    "the option error_model": lambda: flags().error_model == "numpy",
    "the option no_cpython_wrapper": lambda: flags().no_cpython_wrapper is True,
    "the option no_cfunc_wrapper": lambda: flags().no_cfunc_wrapper is True,
    "CPUDispatcher, called by its type": is_dispatcher,
    "targetoptions of a dispatcher": lambda: twice().targetoptions["nopython"] is True,
    "nopython_signatures of a dispatcher": lambda: (
        [each.return_type for each in twice().nopython_signatures] == [numba.int64]
    ),
    "_cache of a dispatcher, and its path": lambda: (
        slot().stats.cache_path == slot()._cache.cache_path
    ),
    "instance_class of the type of a NamedTuple": lambda: (
        numba.typeof(Pair(1, 2)).instance_class is Pair
    ),
    "events of compilations": is_event,
    "the folder of UserProvidedCacheLocator": is_locator,
    "the files of FunctionCache": is_cache,
    "the place of a NumbaError": lambda: numba.TypingError("no").loc is None,
    "cloudpickle of modules by value": pickles_by_value,
    "a context that generates arrays": is_context,
}


@pytest.mark.parametrize("name", NEEDED)
def test_numba_has_what_is_used_of_its_internals(name):
    check_internals("numba", FILE, {name: NEEDED[name]})


def test_what_is_missing_is_told_with_the_bound_to_move(monkeypatch):
    assert f"{CACHING}FunctionCache".replace(":", ".") in IMPORTED
    monkeypatch.delattr(resolve_name("numba.core.caching"), "FunctionCache")
    with pytest.raises(AssertionError, match=r"FunctionCache.* move the bound numba[<>=.,\d]+ in"):
        check_internals("numba", FILE, NEEDED)
