"""Policies of your own on the command line."""

import pytest

from pairup import PolicyError
from tests.support.foreign import BESIDE, source


def test_what_does_not_compile_is_one_line_and_a_traceback_with_debug(
    call, foreign_folder, monkeypatch
):
    text = source(BESIDE).replace("return OK + SHIFT", "return np.zeros(3)")
    foreign_folder.write("broken", text)
    monkeypatch.chdir(foreign_folder.path)
    done = call("race", "broken:Fixed", "--rounds", "10")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    line = next(n for n, line in enumerate(text.splitlines(), 1) if "np.zeros(3)" in line)
    assert f"the step propose does not compile, {foreign_folder.path}/broken.py:{line}: " in (
        done.stderr
    )
    with pytest.raises(PolicyError) as caught:
        call("--debug", "race", "broken:Fixed", "--rounds", "10")
    assert "nopython" in str(caught.value.__cause__)
    call("policies")  # and the next command is without


def test_a_broken_rule_of_a_race_is_one_line(call, foreign_folder, monkeypatch):
    text = source(BESIDE).replace(", state.players[other]", ", state.players[place]")
    foreign_folder.write("cheat", text)
    monkeypatch.chdir(foreign_folder.path)
    done = call("race", "cheat:Fixed", "--rounds", "10", "--rates", "0.9,0.8,0.2,0.1")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "pairup: cheat:Fixed broke a rule in round 1: couple (0, 0) in row 0 is"
    )
