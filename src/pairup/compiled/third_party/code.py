"""Third-party code: what a function computes, and a copy of it that nothing was compiled of.

Numba takes what a function calls, and the constants that it reads, as they are when it compiles.
If one of them is defined again later, as happens in a notebook, the machine code is stale. So a
third-party function is known by the *meaning* of all that it reaches, and compiled from a copy
of it.
"""

import types

import numba
import numpy as np

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.numba_internals import OPTIONS, Dispatcher, options_of

_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic)


class _Same:
    """An object that equals itself alone."""

    def __init__(self, thing):
        self.thing = thing

    def __eq__(self, other):
        return isinstance(other, _Same) and self.thing is other.thing

    def __hash__(self):
        return id(self.thing)


def meaning(thing, _seen=()):
    """Return a hashable value that differs when what `thing` computes, or a constant, differs.

    Third-party functions are followed to all that they call and read; two with the same code are
    equal. All else counts by its identity.
    """
    if isinstance(thing, _SCALARS):
        return type(thing), repr(thing)
    if isinstance(thing, np.ndarray):
        return np.ndarray, thing.dtype.str, thing.shape, thing.tobytes()
    if type(thing) is tuple:
        return tuple, tuple(meaning(part, _seen) for part in thing)
    if not _is_third_party(thing):
        return _Same(thing)
    function = _plain(thing)
    if function in _seen:  # it calls itself
        return "recursion", _seen.index(function)
    seen = (*_seen, function)
    reached = tuple((name, meaning(value, seen)) for name, value in _reached(function).items())
    return function.__code__, meaning(function.__defaults__, seen), _options(thing), reached


def source_files(thing, _seen=()):
    """Return the files of all third-party functions that a function reaches, its own first."""
    function = _plain(thing)
    files = [function.__code__.co_filename]
    if function not in _seen:
        for value in _reached(function).values():
            if _is_third_party(value):
                files += source_files(value, (*_seen, function))
    return list(dict.fromkeys(files))


def compiled_copy(thing, copies, bounds=False):
    """Compile a copy of a function, for kernels, and of all third-party ones that it calls.

    `copies` has the copies made so far, by function. With `bounds`, indices are checked in it and
    in all that it calls, kernels of ours included.
    """
    function = _plain(thing)
    if function not in copies:
        names = dict(function.__globals__)
        cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
        copy = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells
        )
        options = dict(_options(thing)) | ({"boundscheck": True} if bounds else {})
        # Only kernels call it, but they may also choose it as a value, which takes a wrapper for C.
        options |= {"no_cpython_wrapper": True}
        copies[function] = numba.njit(**options)(copy)  # before those that call it
        for name, value in _reached(function).items():
            if isinstance(value, Dispatcher) and (bounds or _is_third_party(value)):
                _replace(copy, name, compiled_copy(value, copies, bounds))
    return copies[function]


def _replace(function, name, value):
    if name in function.__code__.co_freevars:
        function.__closure__[function.__code__.co_freevars.index(name)].cell_contents = value
    else:
        function.__globals__[name] = value


def _plain(thing):
    return getattr(thing, "py_func", thing)


def _options(thing):
    """The options with which a function is compiled; for a plain function those of kernels."""
    given = options_of(thing)
    options = {"nogil": True, **OPTIONS} if given is None else given
    return tuple(sorted((name, value) for name, value in options.items() if name != "nopython"))


def _is_third_party(thing):
    plain = _plain(thing)
    return isinstance(plain, types.FunctionType) and not is_ours(plain) and not _is_library(plain)


def _is_library(function):
    return str(function.__module__).partition(".")[0] in ("numba", "numpy", "math")


def _reached(function):
    """What a function refers to by name, in its closure, its globals and modules among them."""
    code, reached = function.__code__, {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        reached[name] = cell.cell_contents
    names = _names(code)
    for name in names:
        if name in function.__globals__:
            reached[name] = value = function.__globals__[name]
            if isinstance(value, types.ModuleType):
                members = {f"{name}.{each}": vars(value).get(each) for each in names}
                reached |= {each: member for each, member in members.items() if member is not None}
    return reached


def _names(code):
    """The names in a code object and in those within it, such as comprehensions."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _names(constant)
    return names
