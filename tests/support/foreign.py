"""Third-party policies, written as cells of a notebook or as modules."""

import importlib
import sys
import textwrap

from pairup.policies import registry

STATE = """
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from pairup.extending import OK, Policy, kernel, provide


class State(NamedTuple):
    players: np.ndarray


"""

HELPER = """
SHIFT = 0


@kernel
def partner(place, last):
    {partner}


"""

STEPS = """
def set_available(state, players):
    for place in range(len(players)):
        state.players[place] = players[place]


def propose(state, couples):
    row, last = 0, 2 * len(couples) - 1
    for place in range(last + 1):
        other = partner(place, last)
        if place < other:
            couples[row, 0], couples[row, 1] = state.players[place], state.players[other]
            row += 1
    return OK + SHIFT


def observe(state, couples, played):
    pass


provide(State, set_available=set_available, propose=propose, observe=observe)


"""

POLICY = """
@dataclass(frozen=True)
class Fixed(Policy):
    draws_at_random = False

    def start(self, context):
        return State(np.zeros(context.slots, np.int64))

    def forget(self, state, slot):
        pass

    def saved(self, state):
        return {}

    def load(self, state, arrays):
        return state
"""

BESIDE = "return place ^ 1"  # couples 0-1, 2-3, ...
ACROSS = "return last - place"  # couples 0-3, 1-2
MATCHINGS = {BESIDE: "Matching(a-b, c-d)", ACROSS: "Matching(a-d, b-c)"}


def source(partner, state="State"):
    """Return the text of a policy whose players meet the partners that a helper names."""
    text = STATE + HELPER.format(partner=partner) + STEPS + POLICY
    return text.replace("State", state)


def run_cell(text, names):
    """Execute a cell of a notebook, whose names are all that it shares with other cells."""
    exec(compile(textwrap.dedent(text), "cell", "exec"), names)


def notebook(name="__main__"):
    return {"__name__": name}


def matching(policy):
    return str(policy.learner("abcd").propose())


class Folder:
    """A folder with modules of somebody else, which are forgotten when the test is over."""

    def __init__(self, path, monkeypatch):
        self.path, self._monkeypatch = path, monkeypatch
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits within one second count
        monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    def write(self, name, text):
        """Write a module, which is imported afresh the next time."""
        self._monkeypatch.delitem(sys.modules, name, raising=False)
        (self.path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()

    def forget(self, name):
        """Make the module look as if it had never been imported."""
        self._monkeypatch.delitem(sys.modules, name)
        self._monkeypatch.setattr(
            sys, "path", [each for each in sys.path if each != str(self.path)]
        )
        self._monkeypatch.setattr(
            registry,
            "_REGISTRY",
            {key: each for key, each in registry._REGISTRY.items() if each.__module__ != name},
        )
