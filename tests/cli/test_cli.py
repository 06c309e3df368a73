"""The command line: errors in this process, what must survive in one of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pairup import load_experiment, run_experiment
from pairup.cli import main
from pairup.experiments.runner import dask_executor
from pairup.experiments.storage import read_runs

SMALL = ("--rounds", "2000", "--replications", "3")
TINY = ("--rounds", "60", "--replications", "2")


def pairup(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "pairup", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
        **options,
    )


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command in this process, which spares the start of another."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pairup", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    """A small experiment of one's own, already run."""
    folder = tmp_path_factory.mktemp("cli")
    file = folder / "mine.toml"
    file.write_text(
        """
        name = "mine"
        title = "Mine"
        rounds = 3000
        replications = 3
        [problem]
        family = "around"
        mean = [0.4, 0.5]
        pairs = 2
        gap = 0.2
        [[policy]]
        label = "SAM"
        name = "sam"
        [[policy]]
        label = "V2"
        name = "unimodal"
        index = "ucb"
        [[figure]]
        kind = "final"
        name = "final"
        x = "mean"
        """
    )
    done = pairup("run", file, "--out", folder / "out")
    assert done.returncode == 0, done.stderr
    assert "around(0.4, 2, 0.2)" in done.stdout
    assert "blocks computed" in done.stdout
    return file, folder / "out"


def test_a_second_run_reuses_all(call, experiment):
    file, out = experiment
    done = call("run", file, "--out", out)
    assert "\n0 blocks computed, 4 reused" in done.stdout


def test_a_run_as_json(call, experiment):
    file, out = experiment
    rows = json.loads(call("run", file, "--out", out, "--json").stdout)
    assert {row["policy"] for row in rows} == {"SAM", "V2"}
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows)


def test_plot_draws_what_the_file_says(call, experiment, tmp_path):
    done = call("plot", experiment[1], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    pictures = [Path(line) for line in done.stdout.split()]
    assert pictures
    assert all(picture.stat().st_size > 10_000 for picture in pictures)


def test_report_of_an_experiment_of_ones_own(call, experiment, tmp_path):
    done = call("report", experiment[1], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Mine" in (tmp_path / "report.html").read_text()


def test_race_ends_with_a_table_and_a_picture(call, tmp_path):
    done = call("race", "sam", "unimodal:index=ucb", *SMALL, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "unimodal:index=ucb" in done.stdout
    assert Path(done.stdout.split("picture: ")[1].strip()).stat().st_size > 10_000


def test_race_on_given_rates_as_json(call):
    done = call("race", "oracle", "uniform", "--rates", "0.9,0.8,0.1", *SMALL, "--json")
    best, worst = json.loads(done.stdout)
    assert (best["policy"], best["estimate"], best["rank"]) == ("oracle", 0, 1)
    assert worst["estimate"] > 100
    assert worst["times_limit"] > 1
    assert worst["nanoseconds"] > 0


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
    assert "ns a round: one replication" in said
    for figure in ("from-zero", "around", "limit"):
        picture = folder / "figures" / f"field-{figure}.png"
        assert f"picture: {picture}" in said
        assert picture.stat().st_size > 10_000
    page = (folder / "report.html").read_text()
    assert "<h1>The whole field</h1>" in page
    assert "ns a round" in page
    assert "Claims of the paper" not in page


def test_the_whole_field_goes_on_and_speaks_json(call, field):
    folder, _ = field
    killed = next((folder / "parts").iterdir())
    killed.unlink()
    rows = json.loads(call("race", "--all", *TINY, "--out", folder, "--json").stdout)
    run = read_runs(folder)[-1]
    assert (run["computed"], run["reused"]) == (1, run["blocks"] - 1)
    assert len(rows) == 2 * len(load_experiment("field").entries)
    for row in rows:
        assert row["low"] <= row["estimate"] <= row["high"]
        assert row["times_limit"] > 0
        assert row["nanoseconds"] > 0
        assert row["rounds_timed"] == 60
        assert row["rank"] >= 1
        assert len(row["curve"]) == 16


def test_costs_are_no_part_of_the_results(field, tmp_path):
    folder, _ = field
    run_experiment(load_experiment("field").scaled(60, 2), tmp_path)
    assert (tmp_path / "results.parquet").read_bytes() == (folder / "results.parquet").read_bytes()


def test_the_report_of_a_race_reads_its_costs(call, field, tmp_path):
    folder, _ = field
    call("report", folder, "--out", tmp_path)
    assert "ns a round" in (tmp_path / "report.html").read_text()
    (folder / "timings.json").rename(tmp_path / "timings.json")
    call("report", folder, "--out", tmp_path)
    assert "ns a round" not in (tmp_path / "report.html").read_text()
    (tmp_path / "timings.json").rename(folder / "timings.json")


def test_the_whole_field_on_a_problem_of_ones_own(call):
    done = call("race", "--all", "--rates", "0.9,0.5,0.5,0.1", *TINY)
    assert done.returncode == 0, done.stderr
    assert "rates(1): 60 rounds" in done.stdout
    tied = call("race", "--all", "--rates", "0.5,0.5,0.5,0.5", *TINY, "--json")
    assert {row["times_limit"] for row in json.loads(tied.stdout)} == {None}  # all are the best


@pytest.mark.parametrize("command", ["policies", "problems"])
def test_lists(call, command):
    assert json.loads(call(command, "--json").stdout)
    assert "about" in call(command).stdout


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


def test_version(call):
    assert call("--version").stdout.startswith("pairup ")


def test_an_interrupted_run_goes_on(tmp_path):
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
