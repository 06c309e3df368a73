"""Steps of third-party policies, compiled into our loops in every process.

Numba tells NamedTuple types apart by the name of the class and the types of its fields. Two classes
called `State`, in two modules or in two runs of one notebook cell, would share machine code. So the
loops never see the state itself, but a *view* of it: a NamedTuple of the same arrays whose name
belongs to one layout alone. And the loops do not find the steps by a type: each is compiled for the
steps that the class was given, as they are now.
"""

import itertools
import types
from collections import namedtuple
from contextlib import contextmanager

import numba

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.numba_internals import OPTIONS, NumbaError, compile_for
from pairup.compiled.third_party.code import compiled_copy, meaning, source_files
from pairup.compiled.third_party.compile_errors import explain_compile_error
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
    steps = steps_of(type(state))
    meanings = tuple(None if step is None else meaning(step) for step in steps)
    key = _layout(state), meanings, _checks["bounds"]
    if key not in _PROGRAMS:
        _PROGRAMS[key] = _Program(state, steps, _checks["bounds"])
    return _PROGRAMS[key].bound(function)


@contextmanager
def checked_bounds():
    """Let third-party steps check each index, and raise an `IndexError`: slowly, for tests."""
    _checks["bounds"] = True
    try:
        yield
    finally:
        _checks["bounds"] = False


def steps_of(state_class):
    """The steps of a state class, or a refusal."""
    steps = getattr(state_class, "__pairup_steps__", None)
    if steps is None:
        raise PolicyError(
            f"the state {state_class.__name__} has no steps: give it some, "
            f"provide({state_class.__name__}, set_available=..., propose=..., observe=...)"
        )
    return steps


class _Program:
    """The steps of one meaning on states of one layout, compiled, and the loops made of them."""

    def __init__(self, state, steps, bounds):
        self._view = _view_maker(state)
        self._files = [file for step in steps if step is not None for file in source_files(step)]
        copies: dict = {}
        self._steps = {
            name: compiled_copy(step, copies, bounds)
            for name, step in steps._asdict().items()
            if step is not None
        }
        self._compile_steps(numba.typeof(self._view(state)))
        self._bound = {}

    def _compile_steps(self, state_type):
        """Compile each step alone, so that what cannot be compiled is told of the right one."""
        returned = {}
        for name, step in self._steps.items():
            try:
                returned[name] = compile_for(step, (state_type, *_ARGUMENTS[name]))
            except NumbaError as error:
                line = explain_compile_error(error, name, step.py_func, self._files)
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
            kernel, view = _rebound(function.py_func, self._steps), self._view

            def call(state, *arguments):
                return kernel(view(state), *arguments)

            self._bound[function] = call
        return self._bound[function]


def _rebound(function, steps):
    """Compile `function` with the names of steps standing for these."""
    names = {**function.__globals__, **steps}
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    return numba.njit(nogil=True, **OPTIONS)(copy)


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
