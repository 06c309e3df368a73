"""Third-party steps are never stale: what was given last is what runs.

What Numba cannot compile is one line that names the step and the line in the user's file.
"""

import importlib
import re
import sys

import numpy as np
import pytest

from pairup import PolicyError, Problem, simulate
from pairup.compiled import third_party
from pairup.compiled.numba_internals import NumbaError
from pairup.simulation.replication import new_replication
from tests.support import foreign
from tests.support.foreign import ACROSS, BESIDE, MATCHINGS, matching, notebook, run_cell, source

PROBLEM = Problem([1, 1, 0, 0])
COUPLES = {BESIDE: [(0, 1), (2, 3)], ACROSS: [(0, 3), (1, 2)]}


def regrets(partner):
    """The regret of ten rounds of each of eight replications, worked out by hand."""
    rates = (new_replication(PROBLEM, 0, number).rates for number in range(8))
    return [10 * (1 - sum(each[i] * each[j] for i, j in COUPLES[partner])) for each in rates]


@pytest.mark.parametrize("order", [(BESIDE, ACROSS, BESIDE), (ACROSS, BESIDE, ACROSS)])
def test_a_cell_executed_again_with_other_steps_runs_those(order):
    names, state = notebook(), f"State{order.index(BESIDE)}"  # so that both orders start fresh
    for partner in order:
        run_cell(source(partner, state), names)
        run = simulate(PROBLEM, names["Fixed"](), rounds=10, replications=8)
        assert run.regret[:, -1].tolist() == regrets(partner)
        assert matching(names["Fixed"]()) == MATCHINGS[partner]


def test_an_earlier_policy_keeps_its_steps():
    one, other = notebook("one"), notebook("other")
    run_cell(source(BESIDE), one)
    run_cell(source(ACROSS), other)
    for names, partner in ((one, BESIDE), (other, ACROSS), (one, BESIDE)):
        assert matching(names["Fixed"]()) == MATCHINGS[partner]


def test_a_cell_executed_again_unchanged_compiles_nothing():
    names = notebook()
    for _ in range(2):
        run_cell(source(BESIDE), names)
        assert matching(names["Fixed"]()) == MATCHINGS[BESIDE]
        programs = set(third_party._PROGRAMS)
    run_cell(source(BESIDE), names)
    assert matching(names["Fixed"]()) == MATCHINGS[BESIDE]
    assert set(third_party._PROGRAMS) == programs


@pytest.mark.parametrize("cell", ["helper", "constant", "steps"])
def test_part_of_a_policy_is_defined_again_in_a_cell_of_its_own(cell):
    names = notebook() | {"APART": 1}
    run_cell(source("return place ^ APART"), names)
    policy = names["Fixed"]()
    assert matching(policy) == MATCHINGS[BESIDE]
    if cell == "helper":
        run_cell(foreign.HELPER.format(partner=ACROSS), names)
    elif cell == "constant":
        names["APART"] = 3
    else:
        run_cell(foreign.STEPS.replace("partner(place, last)", "last - place"), names)
    assert matching(policy) == MATCHINGS[ACROSS]


@pytest.mark.filterwarnings("ignore:First-class function type")
def test_steps_may_choose_a_function_as_a_value():
    names = notebook()
    run_cell(foreign.STATE, names)
    for name, body in (("beside", BESIDE), ("across", ACROSS)):
        run_cell(foreign.HELPER.format(partner=body).replace("partner", name), names)
    chosen = "chosen = across if last == 3 else beside; return chosen(place, last)"
    run_cell(foreign.HELPER.format(partner=chosen) + foreign.STEPS + foreign.POLICY, names)
    assert matching(names["Fixed"]()) == MATCHINGS[ACROSS]
    assert str(names["Fixed"]().learner("ab").propose()) == "Matching(a-b)"


def test_a_helper_of_a_helper_is_defined_again():
    names = notebook()
    run_cell(source("return other_end(place, last)"), names)
    for body, shown in ((BESIDE, MATCHINGS[BESIDE]), (ACROSS, MATCHINGS[ACROSS])):
        run_cell(f"@kernel\ndef other_end(place, last):\n    {body}", names)
        assert matching(names["Fixed"]()) == shown


def test_states_within_a_state_are_told_apart_by_their_fields():
    names = notebook()
    text = source(BESIDE).replace("    players: np.ndarray", "    inner: 'Inner'")
    text = text.replace("state.players[", "state.inner.players[")
    text = text.replace(
        "State(np.zeros(context.slots, np.int64))",
        "State(Inner(**{name: np.zeros(9, np.int64) for name in Inner._fields}))",
    )
    for fields in ("players", "spare"), ("spare", "players"):
        run_cell(
            "from typing import NamedTuple\nclass Inner(NamedTuple):\n"
            + "".join(f"    {field}: 'np.ndarray'\n" for field in fields),
            names,
        )
        if "Fixed" not in names:
            run_cell(text, names)
        learner = names["Fixed"]().learner("abcd")
        assert str(learner.propose()) == MATCHINGS[BESIDE]
        assert learner._running.state.inner.players[:4].tolist() == [0, 1, 2, 3]


def test_two_modules_may_use_one_name_and_be_reloaded(foreign_folder):
    foreign_folder.write("beside", source(BESIDE))
    foreign_folder.write("across", source(ACROSS))
    sys.path.append(str(foreign_folder.path))
    beside, across = map(importlib.import_module, ("beside", "across"))
    assert matching(beside.Fixed()) == MATCHINGS[BESIDE]
    assert matching(across.Fixed()) == MATCHINGS[ACROSS]
    (foreign_folder.path / "across.py").write_text(source(BESIDE))
    importlib.reload(across)
    assert matching(across.Fixed()) == MATCHINGS[BESIDE]


def test_a_state_without_steps_is_refused():
    names = notebook()
    run_cell(source(BESIDE), names)
    del names["State"].__pairup_steps__
    with pytest.raises(ValueError, match=r"the state State has no steps: give it some, provide\("):
        matching(names["Fixed"]())


def test_the_state_itself_is_changed_by_its_steps():
    names = notebook()
    run_cell(source(BESIDE), names)
    learner = names["Fixed"]().learner("abcd")
    learner.propose(["b", "d"])
    assert type(learner._running.state) is names["State"]
    assert np.array_equal(learner._running.state.players[:2], [1, 3])


MARKS = "return OK + SHIFT"


def refusal(text):
    names = notebook()
    run_cell(text, names)
    with pytest.raises(PolicyError) as caught:
        matching(names["Fixed"]())
    return caught.value


def line_of(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "step", "reason"),
    [
        (MARKS, "couples[0] = np.zeros(2)\n    return OK", "propose", r"zeros\(2\) allocates"),
        (MARKS, "state.place[0] = 1\n    return OK", "propose", "Unknown attribute 'place'"),
        (MARKS, "return sorted(couples)", "propose", r"sorted\(.*\)"),
        ("return place ^ 1", "return place.other", "propose", "Unknown attribute 'other'"),
        ("    pass\n", "    state.seen[0] += 1\n", "observe", "Unknown attribute 'seen'"),
        (MARKS, "return missing_name", "propose", "NameError: name 'missing_name'"),
    ],
)
def test_it_names_the_step_the_line_and_the_reason(old, new, step, reason):
    text = source(BESIDE).replace(old, new, 1)
    error = refusal(text)
    line = line_of(text, new.strip().partition("\n")[0])
    assert str(error).startswith(f"the step {step} does not compile, cell:{line}: ")
    assert re.search(reason, str(error))
    assert "\n" not in str(error)
    assert isinstance(error.__cause__, NumbaError)


@pytest.mark.parametrize("end", ["pass", "if state.players[0] > 1: return OK"])
def test_a_status_that_is_missing_is_refused_before_the_first_round(end):
    text = source(BESIDE).replace(MARKS, end)
    line = line_of(text, "def propose")
    assert f"the step propose (cell:{line}) does not return a status" in str(refusal(text))


def test_a_helper_that_is_not_compiled_has_a_way_out():
    text = source(BESIDE).replace("@kernel\ndef partner", "def partner")
    line = line_of(text, "other = partner(place, last)")
    assert str(refusal(text)).startswith(
        f"the step propose does not compile, cell:{line}: partner is not compiled, put @kernel (of "
        "pairup.extending) above its definition"
    )


def test_a_step_that_is_defined_again_but_not_provided_is_noticed():
    names = notebook()
    run_cell(source(BESIDE), names)
    policy = names["Fixed"]()
    assert matching(policy) == MATCHINGS[BESIDE]
    run_cell("def propose(state, couples):\n    return OK + 1\n", names)
    with pytest.raises(PolicyError, match="the step propose of State was defined again, but not"):
        matching(policy)
    run_cell("provide(State, set_available=set_available, propose=propose, observe=observe)", names)
    with pytest.raises(PolicyError, match="returned FULL"):
        matching(policy)


def test_two_states_of_a_module_may_have_steps_of_the_same_name():
    names = notebook()
    run_cell(source(BESIDE), names)
    first = names["Fixed"]()
    run_cell(source(ACROSS, "Other"), names)
    assert matching(first) == MATCHINGS[ACROSS]  # by the helper, which both call
    assert matching(names["Fixed"]()) == MATCHINGS[ACROSS]
