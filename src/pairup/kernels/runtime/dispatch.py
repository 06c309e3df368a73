"""The steps of a policy, chosen at compile time by the type of its state.

A policy is a state (a NamedTuple of arrays) and three steps on it, or four. Loops call the names of
this module; Numba replaces each by the step registered for the state at hand. Unlike functions
passed as arguments, such loops are found again in the cache on disk by the next process.
"""

from numba.extending import overload

from pairup.kernels.runtime.compilation import OPTIONS, kernel

OK, FULL = 0, 1  # FULL: a table of the state must grow; nothing was changed, call again


def set_available(state, players):
    """Make `players` (slots, ascending) the ones who are matched from now on."""


def propose(state, couples):
    """Write the next matching into `couples` and return a status.

    Couples are written as rows (i, j) with i < j, as many as fit: half of the players available.
    """


def observe(state, couples, played):
    """Learn whether each of `couples` was played; any couples, in any order, at any time."""


def observe_answers(state, couples, answers):
    """Learn what the players of each couple answered, a row of two: 1 yes, 0 no, -1 not known.

    In each row both said yes, or one said no. A step only for policies that learn from answers.
    """


def learn_nothing(state, couples, played):
    """The step `observe` of policies that do not learn."""


def provide(state_class, *, set_available, propose, observe, observe_answers=None):
    """Register the steps, plain functions or kernels, of the states of type `state_class`."""
    _register("set_available", state_class, set_available)
    _register("propose", state_class, propose)
    _register("observe", state_class, observe)
    if observe_answers is not None:
        _register("observe_answers", state_class, observe_answers)


def _register(name, state_class, step):
    step = getattr(step, "py_func", step)

    # Not strict: `choose` need not name the parameters as the step does.
    @overload(globals()[name], jit_options=OPTIONS, strict=False)
    def choose(state, *_):
        return step if getattr(state, "instance_class", None) is state_class else None


@kernel
def set_available_step(state, players):
    """`set_available`, callable from Python."""
    set_available(state, players)


@kernel
def propose_step(state, couples):
    """`propose`, callable from Python."""
    return propose(state, couples)


@kernel
def observe_step(state, couples, played):
    """`observe`, callable from Python."""
    observe(state, couples, played)


@kernel
def observe_answers_step(state, couples, answers):
    """`observe_answers`, callable from Python."""
    observe_answers(state, couples, answers)
