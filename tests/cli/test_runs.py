"""Experiments that are run, drawn and told of."""

import json
from pathlib import Path

import pytest

from tests.support.experiments.command_line import pairup


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


def test_plot_draws_what_the_file_says(call, experiment, tmp_path):
    done = call("plot", experiment[1], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    pictures = [Path(line) for line in done.stdout.split()]
    assert pictures
    assert all(picture.stat().st_size > 10_000 for picture in pictures)


def test_report_tells_of_ones_own_experiment(call, experiment, tmp_path):
    done = call("report", experiment[1], "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Mine" in (tmp_path / "report.html").read_text()
