"""What Numba cannot compile is one line that names the step and the line in the user's file."""

import re

import pytest

from pairup import PolicyError
from pairup.compiled.numba_internals import NumbaError
from tests.support.foreign import BESIDE, matching, notebook, run_cell, source

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
