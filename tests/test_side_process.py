"""Calls in processes of their own."""

import os
import subprocess
import sys

import pytest

from pairup import Problem
from pairup.side_process import SideProcessError, are_worth_it, call_aside


def test_what_a_call_returns_comes_back():
    assert call_aside("pairup.problem:Problem", [0.9, 0.2]) == Problem([0.9, 0.2])


def test_what_is_printed_does_not_come_between():
    assert call_aside("os:system", "echo printed") == 0


def test_the_last_line_says_what_failed():
    with pytest.raises(SideProcessError, match=r"^pairup.errors.ProblemError: .*1\.5"):
        call_aside("pairup.problem:Problem", [1.5, 0.2])


def test_what_cannot_be_sent_is_refused():
    with pytest.raises(SideProcessError, match="lambda"):
        call_aside("builtins:print", lambda: None)


@pytest.mark.parametrize(
    ("cores", "calls", "worth"), [(16, 2, True), (16, 1, False), (2, 9, False)], ids=str
)
def test_few_cores_and_single_calls_are_not_worth_it(monkeypatch, cores, calls, worth):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert are_worth_it(calls) == worth


def test_a_script_needs_no_guard(tmp_path):
    """It is not run again by the processes, as it would be by those of `multiprocessing`."""
    script = tmp_path / "script.py"
    script.write_text(
        "from pairup.side_process import call_aside\n"
        "print('once', call_aside('builtins:abs', -1))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "once 1\n"
