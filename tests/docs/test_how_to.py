"""The code of the how-to guides runs."""

import sys

import pytest

from pairup import SAM, Learner, Problem, bounds, get_policy, load_results
from pairup.service.domain.rules import Rules
from tests.support.docs.pages import blocks, read
from tests.support.docs.reader import Reader


@pytest.fixture
def folder(tmp_path):
    """A folder with the results of the experiment that the pages call my-race."""
    from pairup import load_experiment, run_experiment

    example, *_ = blocks("reference/experiment-file.md", "toml")
    (tmp_path / "my-race.toml").write_text(example.text)
    small = load_experiment(tmp_path / "my-race.toml").scaled(rounds=50, replications=2)
    run_experiment(small, tmp_path / "results" / "my-race")
    return tmp_path


def test_a_race_in_python(tmp_path):
    reader = Reader(tmp_path, {"10_000": "100"})
    reader.follow("how-to/race-policies.md", {"pairup race": lambda: None})


def test_an_experiment_is_run_from_python(folder):
    small = {"rounds=1_000": "rounds=50, replications=2", "progress=True": "progress=False"}
    reader = Reader(folder, small)
    reader.follow("how-to/write-an-experiment.md", {"pairup": lambda: None})
    assert len(reader.names["frame"])


def test_results_are_read(folder):
    reader = Reader(folder)
    reader.follow("how-to/read-results.md")
    assert len(reader.names["final"]) == 3 * 2 * 2


def test_tails_are_read(folder):
    Reader(folder).follow("how-to/read-tails.md")


def test_a_report_is_written(tmp_path):
    size = '("experiment-2").scaled(rounds=100, replications=2)'
    reader = Reader(tmp_path, {'("experiment-2")': size})
    reader.follow("how-to/make-a-report.md", {"pairup report": lambda: None})
    assert (tmp_path / "results" / "report.html").exists()


def test_a_ranking_is_learnt(tmp_path):
    reader = Reader(tmp_path, {"10_000": "100"})
    reader.follow("how-to/learn-a-ranking.md", {"pairup race": lambda: None})
    assert len(reader.names["page"]) == 2


def test_the_environment_is_used(tmp_path):
    reader = Reader(tmp_path)
    reader.follow("how-to/use-the-gymnasium-environment.md")
    assert reader.names["info"]["round"] == 1


def test_a_policy_in_40_lines_is_simulated_checked_raced_run_saved_and_loaded(
    tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    file, *_ = blocks("how-to/add-a-policy.md", "python")
    assert len([line for line in file.text.splitlines() if line]) == 40
    reader = Reader(tmp_path)
    reader.environment["PYTHONSAFEPATH"] = "1"  # Python itself does not look in the folder
    reader.follow("how-to/add-a-policy.md", {"pairup serve": lambda: None})
    assert "mine:SortedMeans" in reader.printed  # in the table of the race
    assert "sorted means" in reader.printed  # in the results of the experiment
    monkeypatch.delitem(sys.modules, "mine")
    results = load_results(tmp_path / "results" / "mine")
    assert set(results["policy"]) == {"SAM", "sorted means"}  # read where the code is not


def test_the_learner_of_the_guide_fits_a_pool_with_default_rules(tmp_path, monkeypatch):
    *_, save = blocks("how-to/start-from-history.md", "python")
    monkeypatch.chdir(tmp_path)
    exec(save.text, names := {})
    saved = Learner.from_bytes((tmp_path / "chess.learner").read_bytes())
    assert saved.policy == names["policy"] == Rules().make_policy()


def test_the_limit_is_what_the_page_says(tmp_path):
    reader = Reader(tmp_path)
    reader.follow("explanation/limit.md")
    bound, page = reader.names["bound"], read("explanation/limit.md")
    assert f"# {bound.constant:.10f}"[:9] in page
    assert f"c ln T: {bound.regret(1_000_000):.10f}"[:13] in page


def test_the_factors_of_the_theorems_are_what_the_page_says():
    problem = Problem.around(0.5, 4, 0.1)
    policies = [get_policy("unimodal", compare="matchings"), get_policy("unimodal"), SAM()]
    first, second, third = (bounds.theorem(problem, each).constant for each in policies)
    page = " ".join(read("explanation/limit.md").split())
    assert f"{first:,.0f}, {second:,.0f} and {third:,.0f} on `around(0.5, 4, 0.1)`" in page
