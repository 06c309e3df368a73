"""The steps of a policy, chosen at compile time by its state.

A policy is a state (a NamedTuple of arrays) and three steps on it, or up to six. Loops call the
names of this module, which are bound to the steps of each state of pairup's own; see `bind` in
`kernels`. For a third-party state see `third_party`.
"""

from collections.abc import Callable
from typing import NamedTuple

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.kernels import bind, kernel

# FULL: a table of the state must grow. STALE: a plan in the state must be made again. The host does
# so, see `pairup.policies.contract`: nothing was changed, call again.
OK, FULL, STALE = 0, 1, 2


class Steps(NamedTuple):
    """The steps of a policy as they were given: plain functions or kernels."""

    set_available: Callable
    propose: Callable
    observe: Callable
    observe_answers: Callable | None = None
    set_available_on_graph: Callable | None = None
    propose_on_graph: Callable | None = None


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


def set_available_on_graph(state, matcher, players):
    """Make `players` the ones who are matched on a graph, where the state must know of it.

    A step only for such policies; the matcher knows them already.
    """


def propose_on_graph(state, matcher, couples):
    """Write the next matching on a graph into `couples` and return a status.

    A step only for policies that play where not all couples may meet: see `graph_matcher`.
    """


def learn_nothing(state, couples, played):
    """The step `observe` of policies that do not learn."""


def ignore_graph(state, matcher, players):
    """The step `set_available_on_graph` of states to which the matcher is enough."""


def provide(
    state_class,
    *,
    set_available,
    propose,
    observe,
    observe_answers=None,
    set_available_on_graph=ignore_graph,
    propose_on_graph=None,
):
    """Register the steps of the states of type `state_class`, plain functions or kernels.

    The steps belong to the class itself: another class of the same name has steps of its own, and
    steps that are given again replace the earlier ones.
    """
    on_graph = (set_available_on_graph, propose_on_graph) if propose_on_graph else ()
    steps = Steps(set_available, propose, observe, observe_answers, *on_graph)
    state_class.__pairup_steps__ = steps
    for step in steps:
        if step is not None:  # two states of one module may have steps of the same name
            vars(getattr(step, "py_func", step))["__pairup_provided__"] = True
    if is_ours(state_class):
        for name, step in steps._asdict().items():
            if step is not None:
                bind(globals()[name], state_class, step)


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
