"""A policy from elsewhere: simulated and served, and never from stale machine code."""

import subprocess
import sys
import textwrap

RESTING = """
    from dataclasses import dataclass
    from typing import ClassVar, NamedTuple

    import numpy as np
    from pairup import Problem, simulate
    from pairup.extending import OK, Policy, provide

    class FixedState(NamedTuple):
        players: np.ndarray

    def set_available(state, players):
        for x in range(len(players)):
            state.players[x] = players[x]

    def propose(state, couples):
        last = 2 * len(couples) - 1
        for row in range(len(couples)):
            couples[row, 0] = state.players[{first}]
            couples[row, 1] = state.players[{second}]
        return OK

    def observe(state, couples, played):
        pass

    provide(FixedState, set_available=set_available, propose=propose, observe=observe)

    @dataclass(frozen=True)
    class Fixed(Policy):
        name: ClassVar[str] = "fixed"

        def start(self, context):
            return FixedState(np.zeros(context.slots, np.int64))

        def saved(self, state):
            return {{}}

        def load(self, state, arrays):
            return state

    run = simulate(Problem([1, 1, 0, 0]), Fixed(), rounds=10, replications=40)
    print(len(set(run.regret[:, -1])), Fixed().learner("abcd").propose())
"""


def fixed(folder, first, second):
    """Run a policy that always proposes the same matching, written into the same file."""
    file = folder / "fixed.py"
    file.write_text(textwrap.dedent(RESTING.format(first=first, second=second)))
    # Imported, not run: Numba keeps no machine code for the types of a script. -B: no stale .pyc.
    command = [sys.executable, "-B", "-c", "import fixed"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(maxsplit=1)


def test_an_edited_policy_is_compiled_again(tmp_path):
    regrets, matching = fixed(tmp_path, "2 * row", "2 * row + 1")
    assert regrets == "2"  # labels are shuffled: right in some replications, wrong in others
    assert matching.strip() == "Matching(a-b, c-d)"
    _, matching = fixed(tmp_path, "row", "last - row")
    assert matching.strip() == "Matching(a-d, b-c)"
