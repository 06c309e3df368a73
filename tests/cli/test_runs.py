"""Experiments that are run, drawn and told of."""

import json
import re
from pathlib import Path

import pytest

from pairup import load_experiment, load_results, shipped_experiments
from tests.support.experiments.command_line import pairup
from tests.support.pictures import missing_policies


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
    assert "work units computed" in done.stdout
    return file, folder / "out"


def test_a_second_run_reuses_all_work_units(call, experiment):
    file, out = experiment
    done = call("run", file, "--out", out)
    assert "\n0 work units computed, 4 reused" in done.stdout


def test_a_run_prints_json(call, experiment):
    file, out = experiment
    rows = json.loads(call("run", file, "--out", out, "--json").stdout)
    assert {row["policy"] for row in rows} == {"SAM", "V2"}
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in rows)


def test_a_run_in_another_size(call, experiment, tmp_path):
    size = ("--rounds", 100, "--replications", 2, "--json")
    rows = json.loads(call("run", experiment[0], "--out", tmp_path, *size).stdout)
    assert load_results(tmp_path).frame["round"].max() == 100
    assert load_results(tmp_path).frame["replication"].max() == 1
    assert all(row["q50"] <= row["max"] for row in rows)
    assert {row[name] for row in rows for name in ("q90", "q95", "q99", "q999")} == {None}
    refused = call("run", experiment[0], "--out", tmp_path, "--rounds", 0)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "rounds: must be an integer of at least 1, got 0" in refused.stderr


@pytest.mark.parametrize("file", ["/dev/zero", "/proc/self/mem"])
def test_a_file_that_is_not_an_experiment_is_one_line(call, file, tmp_path):
    refused = call("run", file, "--out", tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


def test_plot_draws_one_figure_in_the_formats_asked_for(call, experiment, tmp_path):
    asked = ("--figure", "final", "--format", "svg", "--format", "pdf", "--out", tmp_path)
    assert call("plot", experiment[1], *asked).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine-final.pdf", "mine-final.svg"]
    refused = call("plot", experiment[1], "--figure", "finl")
    assert "mine has no figure called 'finl'; did you mean \"final\"?" in refused.stderr


def test_plot_draws_png_alone_unless_asked(call, experiment, tmp_path):
    call("plot", experiment[1] / "results.parquet", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine-final.png"]


def test_shipped_experiments_are_listed_and_copied(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = json.loads(call("experiments", "list", "--json").stdout)
    assert [row["name"] for row in rows] == list(shipped_experiments())
    assert call("experiments", "copy", "random-problems").stdout == "random-problems.toml\n"
    copied = load_experiment("random-problems.toml")
    assert copied == load_experiment("random-problems")
    again = call("experiments", "copy", "random-problems")
    assert again.returncode == 1
    assert "File exists; give another path" in again.stderr


def test_a_sweep_over_seeds_is_averaged_in_tables_and_figures(call, tmp_path):
    call("experiments", "copy", "random-problems", tmp_path / "mine.toml")
    text = (tmp_path / "mine.toml").read_text()
    text = re.sub(r"seed = \[[^]]*\]", "seed = [0, 1, 2]", text).replace(", 12, 16]", "]")
    text = re.sub(r"(?s)\[\[policy\]\]\nlabel = \"(V2 KL|Rank one|V1|SAM)\".*?\n\n", "", text)
    (tmp_path / "mine.toml").write_text(text)
    size = ("--rounds", 200, "--replications", 2)
    done = call("run", tmp_path / "mine.toml", "--out", tmp_path / "out", *size)
    assert "Final regret, means over seed" in done.stdout
    assert done.stdout.count("random(players=8, distribution=[2, 5])") == 1
    done = call("plot", tmp_path / "out", "--figure", "uniform")
    assert done.returncode == 0, done.stderr
    page = call("report", tmp_path / "out", "--out", tmp_path)
    assert page.returncode == 0, page.stderr
    assert "random(players=8, distribution=[2, 5])" in (tmp_path / "report.html").read_text()


def test_plot_draws_what_the_file_says(call, experiment, tmp_path):
    done = call("plot", experiment[1], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (picture,) = (Path(line) for line in done.stdout.split())
    assert missing_policies(picture, ["SAM", "V2"]) == []


def test_report_tells_of_ones_own_experiment(call, experiment, tmp_path):
    done = call("report", experiment[1], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Mine" in (tmp_path / "report.html").read_text()
