"""Errors, exit codes and lists."""

import json

import pytest

from pairup.experiments.scheduler import dask_executor
from tests.support.experiments.command_line import pairup

SMALL = ("--rounds", "2000", "--replications", "3")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["race", "sm", *SMALL], 'did you mean "sam"'),
        (["race", "unimodal:idex=ucb", *SMALL], 'did you mean "index"'),
        (["race", "unimodal:index", *SMALL], "must be option=value"),
        (["race", "sam", "sam", *SMALL], "sam"),
        (["race", "--problem", "arund:mean=1", *SMALL], 'did you mean "around"'),
        (["race", "--problem", "around:mean=[0.4,0.5],pairs=2,gap=0.1", *SMALL], "one problem"),
        (["race", "--rates", "0.9,1.2", *SMALL], "[0, 1]"),
        (["race", "--rounds", "0"], "rounds"),
        (["race", "--all", "sam"], "--all races every policy"),
        (["race", "--all", "--rounds", "0"], "rounds"),
        (["race", "--all", "--problem", "arund:mean=1", *SMALL], 'did you mean "around"'),
        (["run", "no-such-file.toml", "--out", "nowhere"], "no-such-file.toml"),
        (["plot", "no-such-folder"], "no-such-folder"),
        (["report", "no-such-folder"], "no-such-folder"),
        (["reproduce", "--quick", "--dask", "tcp://127.0.0.1:9"], "127.0.0.1:9"),
    ],
)
def test_an_error_is_one_line(call, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Where no scheduler is, none answers, however long one waits.
    monkeypatch.setattr(dask_executor.__wrapped__, "__defaults__", (1.0,))
    done = call(*arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("pairup: ")


def test_debug_shows_the_traceback():
    done = pairup("--debug", "race", "sm", *SMALL)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_wrong_usage_has_its_own_exit_code(call):
    assert call("race", "--no-such-option").returncode == 2


def test_the_version_is_printed(call):
    assert call("--version").stdout.startswith("pairup ")


@pytest.mark.parametrize("command", ["policies", "problems"])
def test_lists_print_json_and_tables(call, command):
    assert json.loads(call(command, "--json").stdout)
    assert "about" in call(command).stdout
