"""A policy that does not know the horizon plays the same first rounds under every horizon."""

from dataclasses import replace

import pytest

from pairup import SAM, Problem, Uniform, Unimodal, load_results, run_experiment
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.posed_problems import PosedProblem
from tests.support.experiments.races import parts

ROUNDS = 40_000
LARGEST = "from_zero(3, 0.45)"


def experiment(horizon_check=("SAM", "V2")):
    problems = tuple(
        PosedProblem(Problem.from_zero(pairs, 0.45), "from_zero", {"pairs": pairs, "gap": 0.45})
        for pairs in (2, 3)
    )
    entries = (Entry("SAM", SAM()), Entry("V2", Unimodal()), Entry("at random", Uniform()))
    return Experiment(
        "e", "E", "", ROUNDS, 3, 0, problems, entries, horizon_check=tuple(horizon_check)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("horizon")
    run_experiment(experiment(), folder)
    return folder


def test_only_a_policy_that_is_told_the_horizon_plays_otherwise(folder):
    checks = {check.policy: check for check in load_results(folder).horizon_checks}
    assert {policy: check.same for policy, check in checks.items()} == {"SAM": False, "V2": True}
    assert {check.problem for check in checks.values()} == {LARGEST}
    assert {check.rounds for check in checks.values()} == {3_418}


def test_the_rows_are_the_same_with_and_without_the_check(folder, tmp_path):
    run_experiment(experiment(horizon_check=()), tmp_path)
    assert load_results(tmp_path).frame.equals(load_results(folder).frame)
    assert load_results(tmp_path).horizon_checks == ()


def test_a_run_that_lost_a_check_computes_only_that(folder, tmp_path):
    run_experiment(experiment(horizon_check=()), tmp_path)
    before = parts(tmp_path)
    summary = run_experiment(experiment(), tmp_path)
    assert (summary.run.computed, summary.run.reused) == (2, len(before))
    assert summary.horizon_checks == load_results(folder).horizon_checks
    assert (tmp_path / "results.parquet").read_bytes() == (folder / "results.parquet").read_bytes()
    added = sorted(parts(tmp_path).keys() - before.keys())
    (tmp_path / "parts" / added[0]).unlink()
    assert run_experiment(experiment(), tmp_path).run.computed == 1


def test_the_checks_outlive_the_parts(folder, tmp_path):
    (tmp_path / "alone.parquet").write_bytes((folder / "results.parquet").read_bytes())
    alone = load_results(tmp_path / "alone.parquet")
    assert alone.horizon_checks == load_results(folder).horizon_checks
    assert alone.experiment == experiment()


def test_another_policy_under_the_label_is_checked_by_its_own_rows(folder, tmp_path):
    changed = replace(experiment(), entries=(Entry("SAM", Uniform()), *experiment().entries[1:]))
    checks = run_experiment(changed, tmp_path).horizon_checks
    assert [check.same for check in checks] == [True, True]
