"""The code of the how-to guides runs."""

import json
import sys

import pytest

from pairup import SAM, Learner, Problem, bounds, get_policy, load_results
from pairup.service.api.schemas.games import NewMatching
from pairup.service.api.schemas.pools import RulesChange
from pairup.service.domain.matchmaking.attributes import MAX_ATTRIBUTES, MAX_ITEMS, MAX_TEXT
from pairup.service.domain.matchmaking.candidates import MAX_SIDE
from pairup.service.domain.matchmaking.constraints import (
    KINDS,
    MAX_CONSTRAINTS,
    MAX_FACTORS,
    MAX_RELAXATIONS,
)
from pairup.service.domain.matchmaking.rules import Rules
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


def test_the_guide_to_races_runs_in_python(tmp_path):
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
    monkeypatch.delitem(sys.modules, "sketch", raising=False)
    (file,) = [each for each in blocks("how-to/add-a-policy.md") if each.title == "mine.py"]
    assert len([line for line in file.text.splitlines() if line]) == 40
    reader = Reader(tmp_path)
    reader.environment["PYTHONSAFEPATH"] = "1"  # Python itself does not look in the folder
    reader.follow("how-to/add-a-policy.md", {"pairup serve": lambda: None})
    assert "mine:SortedMeans" in reader.printed  # in the table of the race
    assert "sorted means" in reader.printed  # in the results of the experiment
    monkeypatch.delitem(sys.modules, "mine")
    results = load_results(tmp_path / "results" / "mine")
    assert set(results.frame["policy"]) == {"SAM", "sorted means"}  # read where the code is not


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


RULES = {"constraints", "worth"}


@pytest.mark.parametrize("page", ["constrain-meetings", "from-flexmatch"])
def test_rules_of_the_guides_are_taken(page):
    found = [json.loads(each.text) for each in blocks(f"how-to/{page}.md", "json")]
    rules = [each for each in found if each.keys() & RULES]
    assert rules
    for each in rules:
        assert RulesChange.model_validate(each).given()


def test_the_guide_of_constraints_shows_every_kind():
    found = [json.loads(each.text) for each in blocks("how-to/constrain-meetings.md", "json")]
    kinds = {rule["kind"] for each in found for rule in each.get("constraints", ())}
    assert kinds == set(KINDS)


def test_proposals_of_the_guide_of_constraints_are_taken():
    found = [json.loads(each.text) for each in blocks("how-to/constrain-meetings.md", "json")]
    proposals = [each for each in found if "allowed" in each]
    assert len(proposals) == 3
    for each in proposals:
        assert NewMatching.model_validate(each).allowed.size >= 2


def test_bounds_of_the_guide_of_constraints_are_those_of_the_service():
    text = " ".join(read("how-to/constrain-meetings.md").split())
    for words in (
        f"at most {MAX_CONSTRAINTS} constraints, each with at most {MAX_RELAXATIONS} steps",
        f"and {MAX_FACTORS} factors of worth",
        f"at most {MAX_ATTRIBUTES} attributes",
        f"at most {MAX_TEXT} characters, a list at most {MAX_ITEMS} elements",
        f"the nearest {MAX_SIDE} above",
    ):
        assert words in text
