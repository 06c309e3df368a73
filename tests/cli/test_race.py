import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pairup import load_experiment, run_experiment
from pairup.experiments.storage import read_runs
from tests.support.experiments.command_line import pairup
from tests.support.pictures import missing_policies

SMALL = ("--rounds", "2000", "--replications", "3")
TINY = ("--rounds", "60", "--replications", "2")


def test_race_ends_with_a_table_and_a_picture(call, tmp_path):
    done = call("race", "sam", "unimodal:index=ucb", *SMALL, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "unimodal:index=ucb" in done.stdout
    picture = Path(done.stdout.split("picture: ")[1].strip())
    assert missing_policies(picture, ["sam", "unimodal:index=ucb"]) == []


def test_a_race_on_given_rates_prints_json(call):
    done = call("race", "oracle", "uniform", "--rates", "0.9,0.8,0.1", *SMALL, "--json")
    best, worst = json.loads(done.stdout)
    assert (best["policy"], best["estimate"], best["rank"]) == ("oracle", 0, 1)
    assert worst["estimate"] > 100
    assert worst["times_limit"] > 1
    assert worst["nanoseconds"] > 0
    assert best["bottom_tenth"] == 0  # the worst of three waits
    assert 0.8 < worst["bottom_tenth"] < 1.2


@pytest.mark.parametrize(
    "posed",
    [
        ("--rates", "0,0.2,0.9; 0.2,0,0.1; 0.9,0.1,0"),
        ("--problem", "piecewise:starts=[0,500],rates=[[0.9,0.9,0.1],[0.1,0.9,0.9]]"),
    ],
)
def test_a_race_beyond_products_of_fixed_rates_has_no_limit(call, posed, tmp_path):
    done = call("race", "oracle", "uniform", *posed, *SMALL, "--json", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    best, worst = json.loads(done.stdout)
    assert (best["policy"], best["estimate"], best["rank"]) == ("oracle", 0, 1)
    assert worst["estimate"] > 100
    assert worst["times_limit"] is None


def test_a_race_on_two_sides_prints_json(call):
    sides = "--rows", ".9,.8,.1", "--columns", "1,.5"
    done = call("race", "oracle", "uniform", *sides, *SMALL, "--json")
    assert done.returncode == 0, done.stderr
    best, worst = json.loads(done.stdout)
    assert (best["policy"], best["estimate"], best["rank"]) == ("oracle", 0, 1)
    assert worst["estimate"] > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rows", "0.5,0.4"], "got --rows: add --columns"),
        (["--rows", "0.5", "--columns", "1", "--rates", "0.5,0.4"], "leave out --rates"),
        (["--rows", "0.5", "--columns", "2"], "rates of columns must lie in"),
    ],
)
def test_sides_that_are_not_a_problem_are_refused(call, options, message):
    done = call("race", "uniform", *options)
    assert done.returncode != 0
    assert message in done.stderr


# A process in which matplotlib cannot be imported and no file or folder can be made.
SEALED = """
import os, sys
given = sys.argv[1:]
import pairup.cli
from pairup import SAM, Oracle, Problem, Uniform, bounds, simulate

problem = Problem([0.9, 0.8, 0.1])
bounds.lower(problem)  # compiled, which may fill the cache of machine code, as may these
for policy in (Oracle(), Uniform(), SAM()):
    simulate(problem, policy, rounds=1, replications=1)
sys.modules["matplotlib"] = None

def sealed(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0] != os.devnull:
        if (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise RuntimeError(f"{arguments[0]} is opened to be written")
    if event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "tempfile.mkdtemp"):
        raise RuntimeError(f"{event} {arguments}")

sys.addaudithook(sealed)
for more in ([], ["--json"]):
    sys.argv = ["pairup", *given, *more]
    try:
        pairup.cli.main()
    except SystemExit as ended:
        print("status", ended.code)
"""


def test_a_race_without_out_needs_no_matplotlib_and_writes_nothing(tmp_path):
    race = ("race", "oracle", "uniform", "sam", "--rates", "0.9,0.8,0.1", *SMALL)
    done = subprocess.run(
        [sys.executable, "-B", "-c", SEALED, *race],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120", "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    table, _, rows = done.stdout.partition("status 0\n")
    assert "oracle" in table
    best, *_ = json.loads(rows.removesuffix("status 0\n"))
    assert best["policy"] == "oracle"
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    """The whole field in a tiny race, kept."""
    folder = tmp_path_factory.mktemp("field") / "out"
    done = pairup("race", "--all", *TINY, "--out", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_whole_field_ends_with_a_table_for_each_problem_and_a_page(field):
    folder, said = field
    for problem in ("from_zero(4, 0.1)", "around(0.5, 4, 0.1)"):
        assert f"{problem}: 60 rounds, 2 times" in said
    for entry in load_experiment("field").entries:
        assert said.count(f" {entry.label} ") >= 2
    assert "× limit" in said
    assert "ns per round: one replication" in said
    assert "bottom: expected games of the tenth" in said
    for figure in ("from-zero", "around", "limit"):
        picture = folder / "figures" / f"field-{figure}.png"
        assert f"picture: {picture}" in said
        labels = [entry.label for entry in load_experiment("field").entries]
        assert missing_policies(picture, labels) == []
    page = (folder / "report.html").read_text()
    assert "<h1>The whole field</h1>" in page
    assert "ns per round" in page
    assert "Claims of the paper" not in page


def test_the_whole_field_continues_and_prints_json(call, field):
    folder, _ = field
    killed = next((folder / "parts").iterdir())
    killed.unlink()
    rows = json.loads(call("race", "--all", *TINY, "--out", folder, "--json").stdout)
    run = read_runs(folder)[-1]
    assert (run["computed"], run["reused"]) == (1, run["units"] - 1)
    assert len(rows) == 2 * len(load_experiment("field").entries)
    for row in rows:
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["times_limit"] > 0
        assert row["nanoseconds"] > 0
        assert row["rounds_timed"] == 60
        assert row["rank"] >= 1
        assert len(row["curve"]) == 16


def test_timings_are_not_part_of_the_results(field, tmp_path):
    folder, _ = field
    run_experiment(load_experiment("field").scaled(60, 2), tmp_path)
    assert (tmp_path / "results.parquet").read_bytes() == (folder / "results.parquet").read_bytes()


def test_the_report_of_a_race_reads_its_timings(call, field, tmp_path):
    folder, _ = field
    call("report", folder, "--out", tmp_path)
    assert "ns per round" in (tmp_path / "report.html").read_text()
    (folder / "timings.json").rename(tmp_path / "timings.json")
    call("report", folder, "--out", tmp_path)
    assert "ns per round" not in (tmp_path / "report.html").read_text()
    (tmp_path / "timings.json").rename(folder / "timings.json")


def test_the_whole_field_plays_ones_own_problem(call):
    done = call("race", "--all", "--rates", "0.9,0.5,0.5,0.1", *TINY)
    assert done.returncode == 0, done.stderr
    assert "rates(1): 60 rounds" in done.stdout
    tied = call("race", "--all", "--rates", "0.5,0.5,0.5,0.5", *TINY, "--json")
    assert {row["times_limit"] for row in json.loads(tied.stdout)} == {None}  # all are the best


def test_an_interrupted_run_keeps_what_is_finished(tmp_path):
    arguments = ["race", "sam", "--rounds", "3000000", "--replications", "200", "--out", tmp_path]
    command = [sys.executable, "-m", "pairup", *map(str, arguments)]
    parts = tmp_path / "parts"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 120
        while not list(parts.glob("*.parquet")) and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        said = running.communicate(timeout=30)[1]
    assert running.returncode == 130
    assert "Traceback" not in said
    assert list(parts.glob("*.parquet"))


@pytest.mark.parametrize(
    "command",
    [
        ("race", "sam"),
        ("run", "field", "--out", "results"),
        ("reproduce", "--quick", "--out", "results"),
    ],
    ids=lambda command: command[0],
)
def test_where_no_gpu_can_play_one_line_says_what_is_missing(call, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    done = call(*command, "--cuda")
    assert done.returncode == 1
    assert done.stderr.startswith('pairup: engine="cuda" needs numba-cuda, which is not installed')
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
