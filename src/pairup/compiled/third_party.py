"""Steps of third-party policies, compiled into our loops in every process, and never stale.

Numba tells NamedTuple types apart by the name of the class and the types of its fields. Two classes
called `State`, in two modules or in two runs of one notebook cell, would share machine code. So the
loops never see the state itself, but a *view* of it: a NamedTuple of the same arrays whose name
belongs to one layout alone. And the loops do not find the steps by a type: each is compiled for the
steps that the class was given, as they are now.

Numba takes what a function calls, and the constants that it reads, as they are when it compiles.
If one of them is defined again later, as happens in a notebook, the machine code is stale. So a
third-party function is known by the *meaning* of all that it reaches, and compiled from a copy
of it.

An error of Numba becomes one line: the step, the line in the user's file, and what cannot be
compiled. Numba's own text, dozens of lines, stays at hand as the cause of the error.
"""

import itertools
import re
import types
from collections import namedtuple
from contextlib import contextmanager

import numba
import numpy as np

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.numba_internals import OPTIONS, Dispatcher, NumbaError, compile_for, options_of
from pairup.errors import PolicyError

_PROGRAMS: dict = {}  # by layout and by the meaning of the steps
_numbers = itertools.count(1)
_checks = {"bounds": False}

_SLOTS, _COUPLES = numba.int64[::1], numba.int64[:, ::1]
_ARGUMENTS = {  # of each step, after the state
    "set_available": (_SLOTS,),
    "propose": (_COUPLES,),
    "observe": (_COUPLES, numba.boolean[::1]),
    "observe_answers": (_COUPLES, _COUPLES),
}


def for_state(function, state):
    """`function`, a kernel on policies' states, as it is to be called on this state."""
    if is_ours(type(state)):
        return function
    steps = _steps_of(type(state))
    _check_current(type(state), steps)
    meanings = tuple(None if step is None else _meaning(step) for step in steps)
    key = _layout(state), meanings, _checks["bounds"]
    if key not in _PROGRAMS:
        _PROGRAMS[key] = _Program(state, steps, _checks["bounds"])
    return _PROGRAMS[key].bound(function)


@contextmanager
def checked_bounds():
    """Check each index in third-party steps, and raise an `IndexError`: slowly, for tests."""
    _checks["bounds"] = True
    try:
        yield
    finally:
        _checks["bounds"] = False


def _steps_of(state_class):
    """The steps of a state class, or a refusal."""
    steps = getattr(state_class, "__pairup_steps__", None)
    if steps is None:
        raise PolicyError(
            f"the state {state_class.__name__} has no steps: give it some, "
            f"provide({state_class.__name__}, set_available=..., propose=..., observe=...)"
        )
    if steps.propose_on_graph is not None:
        raise PolicyError(
            f"the state {state_class.__name__} has the step propose_on_graph, which only states of "
            "pairup's own can have: leave it out"
        )
    return steps


def _check_current(state_class, steps):
    """Refuse a step whose function was defined again, in a notebook, but not provided again."""
    for name, step in steps._asdict().items():
        old = getattr(step, "py_func", step)
        if old is None or "<" in old.__qualname__:
            continue
        new = old.__globals__.get(old.__name__)
        new = getattr(new, "py_func", new)
        if (
            isinstance(new, types.FunctionType)
            and new.__code__ != old.__code__
            and new.__module__ == old.__module__
            and not hasattr(new, "__pairup_provided__")
        ):
            raise PolicyError(
                f"the step {name} of {state_class.__name__} was defined again, but not provided: "
                f"execute provide({state_class.__name__}, ...) again, or the whole cell"
            )


class _Program:
    """The steps of one meaning on states of one layout, compiled, and the loops made of them."""

    def __init__(self, state, steps, bounds):
        self._view = _view_maker(state)
        self._files = [file for step in steps if step is not None for file in _source_files(step)]
        copies: dict = {}
        self._steps = {
            name: _compiled_copy(step, copies, bounds)
            for name, step in steps._asdict().items()
            if step is not None
        }
        self._compile_steps(numba.typeof(self._view(state)))
        self._bound = {}

    def _compile_steps(self, state_type):
        """Compile each step alone, so that an error names the step that it is in."""
        returned = {}
        for name, step in self._steps.items():
            try:
                returned[name] = compile_for(step, (state_type, *_ARGUMENTS[name]))
            except NumbaError as error:
                line = _explained(error, name, step.py_func, self._files)
                raise PolicyError(line) from error
        if not isinstance(returned["propose"], numba.types.Integer):
            code = self._steps["propose"].py_func.__code__
            raise PolicyError(
                f"the step propose ({code.co_filename}:{code.co_firstlineno}) does not return a "
                f"status in every case (Numba says {returned['propose']}): end it with return OK"
            )

    def bound(self, function):
        """`function` with these steps, callable on states."""
        if function not in self._bound:
            bound, view = _rebound(function.py_func, self._steps), self._view
            kernel = numba.njit(nogil=True, **OPTIONS)(bound)

            def call(state, *arguments):
                return kernel(view(state), *arguments)

            self._bound[function] = call
        return self._bound[function]


def _rebound(function, steps):
    """A copy of `function`, not compiled, in which the names of steps stand for these."""
    names = {**function.__globals__, **steps}
    return types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def _layout(state):
    """The name and the fields of a state, and of the states within it."""
    within = tuple(_layout(part) if _is_third_party(part) else None for part in state)
    return type(state).__name__, state._fields, within


def _view_maker(state):
    """Return a function that makes views of states with the layout of this one."""
    name = f"{type(state).__name__}_{next(_numbers)}"
    view_class = namedtuple(name, state._fields)  # type: ignore[misc] # a name is made up
    within = [_view_maker(part) if _is_third_party(part) else None for part in state]
    if not any(within):
        return view_class._make

    def make(state):
        parts = zip(state, within, strict=True)
        return view_class._make(part if view is None else view(part) for part, view in parts)

    return make


def _is_third_party(part):
    return isinstance(part, tuple) and hasattr(part, "_fields") and not is_ours(type(part))


# --- what a function computes, and a copy of it ---------------------------------------------------

_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic)


class _Same:
    """An object that equals itself alone."""

    def __init__(self, thing):
        self.thing = thing

    def __eq__(self, other):
        return isinstance(other, _Same) and self.thing is other.thing

    def __hash__(self):
        return id(self.thing)


def _meaning(thing, _seen=()):
    """Return a hashable value that differs when what `thing` computes, or a constant, differs.

    Third-party functions are followed to all that they call and read; two with the same code are
    equal. All else counts by its identity.
    """
    if isinstance(thing, _SCALARS):
        return type(thing), repr(thing)
    if isinstance(thing, np.ndarray):
        return np.ndarray, thing.dtype.str, thing.shape, thing.tobytes()
    if type(thing) is tuple:
        return tuple, tuple(_meaning(part, _seen) for part in thing)
    if not _is_third_party_code(thing):
        return _Same(thing)
    function = _plain(thing)
    if function in _seen:  # it calls itself
        return "recursion", _seen.index(function)
    seen = (*_seen, function)
    reached = tuple((name, _meaning(value, seen)) for name, value in _reached(function).items())
    return function.__code__, _meaning(function.__defaults__, seen), _options(thing), reached


def _source_files(thing, _seen=()):
    """Return the files of all third-party functions that a function reaches, its own first."""
    function = _plain(thing)
    files = [function.__code__.co_filename]
    if function not in _seen:
        for value in _reached(function).values():
            if _is_third_party_code(value):
                files += _source_files(value, (*_seen, function))
    return list(dict.fromkeys(files))


def _compiled_copy(thing, copies, bounds=False):
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
            if isinstance(value, Dispatcher) and (bounds or _is_third_party_code(value)):
                _replace(copy, name, _compiled_copy(value, copies, bounds))
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


def _is_third_party_code(thing):
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


# --- errors of Numba in one line -----------------------------------------------------------------

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r"^.*\bDuring: .* at (.+) \((\d+)\)$", re.M)
_ALLOCATES = ("NRT required but not enabled", "Only accept returning of array passed into")
_UNTYPED = re.compile(
    r"Untyped global name '(\w+)':.*[Cc]annot determine Numba type of .*function", re.S
)
_CALL = re.compile(r"^\s*>>> (.+)$", re.M)
_PREAMBLE = re.compile(r"^(Failed in |\s*$)")


def _explained(error, name, step, files):
    """Explain in one line why the step `name`, a function in one of `files`, does not compile."""
    text = _COLOURS.sub("", str(error))
    return (
        f"the step {name} does not compile, {_place(text, error, step, files)}: {_reason(text)}; "
        "steps are plain loops over arrays, and allocate nothing"
    )


def _place(text, error, step, files):
    """The innermost line in a file of the user; Numba names the innermost place first."""
    for file, line in _PLACE.findall(text):
        if file in files:
            return f"{file}:{line}"
    place = getattr(error, "loc", None)
    if place is not None and place.filename in files:
        return f"{place.filename}:{place.line}"
    return f"{step.__code__.co_filename}:{step.__code__.co_firstlineno}"


def _reason(text):
    call = _CALL.search(text)
    called = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", call[1]) if call else ""
    if any(sign in text for sign in _ALLOCATES):
        return f"{called or 'it'} allocates memory, make the array in start()"
    if unknown := _UNTYPED.search(text):
        return (
            f"{unknown[1]} is not compiled, put @kernel (of pairup.extending) above its definition"
        )
    if called:
        return f"{called} cannot be called in compiled code"
    lines = (line.strip() for line in text.splitlines() if not _PREAMBLE.match(line))
    return next(lines, "Numba gives no reason")
