import dataclasses

import numpy as np
import polars as pl
import pytest

from pairup import Uniform
from pairup.analysis.comparisons import paired_differences, ranking
from pairup.analysis.instances import average_instances, average_values, group_names
from pairup.analysis.means import mean_intervals
from pairup.errors import ResultsError
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import sweep_problems
from pairup.experiments.runner import run_experiment
from pairup.experiments.timings import Timing
from pairup.experiments.toml_table import Table
from pairup.intervals import mean_interval, student_interval
from tests.support.experiments.frames import rows


def sweep(policy, regret, players=4, **columns):
    """Results of one policy on random problems; regret of shape (instances, replications)."""
    given = {"family": "random", "players": players, "param_players": players} | columns
    return pl.concat(
        rows(policy, values, f"random({players}, seed={seed})", param_seed=seed, **given)
        for seed, values in enumerate(regret)
    ).drop("param_mean", "param_gap")


def test_instances_are_the_sample():
    regret = [[10.0, 14.0, 12.0], [30.0, 34.0, 35.0], [21.0, 20.0, 19.0], [5.0, 5.0, 8.0]]
    found = mean_intervals(average_instances(sweep("a", regret), "seed")).row(0, named=True)
    known = [float(each) for each in mean_interval(np.mean(regret, axis=1))]
    assert [found[name] for name in ("estimate", "low", "high")] == pytest.approx(known)
    assert (found["problem"], found["replications"]) == ("random(players=4)", 4)
    assert found["param_players"] == found["players"] == 4
    assert "param_seed" not in found


def test_intervals_over_instances_cover_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(3)
    right = naive = 0
    for _ in range(400):
        regret = 50 + rng.normal(0, 8, (12, 1)) + rng.normal(0, 4, (12, 6))
        averaged = average_instances(sweep("a", regret), "seed")
        low, high = mean_intervals(averaged).select("low", "high").row(0)
        right += low < 50 < high
        _, low, high = student_interval(regret.ravel())
        naive += low < 50 < high
    assert 0.92 < right / 400 < 0.98
    assert naive / 400 < 0.75  # what the instances have in common is taken for information


def test_policies_are_compared_within_an_instance():
    rng = np.random.default_rng(4)
    easy = rng.normal(0, 30, (9, 1))
    both = pl.concat(
        [
            sweep("a", 100 + easy + rng.normal(0, 1, (9, 2))),
            sweep("b", 103 + easy + rng.normal(0, 1, (9, 2))),
        ]
    )
    averaged = average_instances(both, "seed")
    row = paired_differences(averaged).row(0, named=True)
    assert row["shown"]
    assert row["replications"] == 9
    assert row["low"] < -3 < row["high"]
    assert ranking(averaged)["policy"].to_list() == ["a", "b"]
    with pytest.raises(ResultsError, match="one problem, got 9: name one, or take their mean"):
        ranking(both)


def test_problems_without_the_parameter_stay_as_they_are():
    other = rows("a", [1.0, 2.0], "around(0.5)").with_columns(param_seed=pl.lit(None, pl.Int64))
    mixed = pl.concat([sweep("a", [[3.0], [5.0]]), other], how="diagonal_relaxed")
    averaged = average_instances(mixed, "seed")
    assert averaged.select("problem", "replication", "regret").rows() == [
        ("random(players=4)", 0, 3.0),
        ("random(players=4)", 1, 5.0),
        ("around(0.5)", 0, 1.0),
        ("around(0.5)", 1, 2.0),
    ]
    assert group_names(mixed, "seed")["around(0.5)"] == "around(0.5)"
    assert average_instances(mixed, None) is mixed


def test_sizes_are_null_where_instances_differ_in_them():
    both = pl.concat(
        [
            rows("a", [1.0], "rates(1)", family="rates", players=4, param_rates=1),
            rows("a", [3.0], "rates(2)", family="rates", players=5, param_rates=2),
        ]
    ).drop("param_mean", "param_gap")
    averaged = average_instances(both, "rates")
    assert averaged["players"].to_list() == [None, None]
    assert averaged["pairs"].to_list() == [4, 4]
    assert mean_intervals(averaged)["estimate"].to_list() == [2.0]


def test_an_unknown_parameter_is_named():
    with pytest.raises(ResultsError, match="no parameter 'sed' to average over; did you mean"):
        average_instances(sweep("a", [[1.0]]), "sed")


def test_a_group_without_a_value_has_no_mean():
    assert average_values({"a": 1.0}, {"a": "g", "b": "g"}) == {}


def experiment(over="seed", figures=(), replications=2):
    table = {"family": "random", "players": [3, 4], "seed": [5, 6, 7]}
    problems = tuple(sweep_problems([Table("", table)]))
    entries = (Entry("U", Uniform()), Entry("again", Uniform()))
    return Experiment("e", "E", "", 50, replications, 1, problems, entries, figures, (), over)


def test_standings_are_those_of_groups_of_instances():
    bars = FigureSpec("limit", "limit")
    results = run_experiment(experiment(figures=(bars,)))
    names = [posed.problem.name for posed in results.experiment.problems]
    timings = {(name, "U"): Timing(100.0 + place, 10) for place, name in enumerate(names)}
    results = dataclasses.replace(results, timings=timings)
    assert list(results.standings) == [f"random(players={n}, distribution=[1, 1])" for n in (3, 4)]
    first = results.standings["random(players=3, distribution=[1, 1])"][0]
    last = results.frame.filter(round=50, policy="U")
    by_instance = [last.filter(problem=name)["regret"].mean() for name in names[:3]]
    assert first.estimate == pytest.approx(np.mean(by_instance))
    assert first.max == max(by_instance)
    multiples = [
        mean / (results.limits[name] * np.log(50))
        for mean, name in zip(by_instance, names, strict=False)
    ]
    assert first.times_limit == pytest.approx(np.mean(multiples))
    assert (first.nanoseconds, first.rounds_timed) == (101.0, 30)
    assert results.mean_limits[first.problem] == pytest.approx(
        np.mean([results.limits[name] for name in names[:3]])
    )


def test_instances_of_an_experiment_share_no_random_numbers():
    frame = run_experiment(experiment()).frame
    numbers = frame.group_by("param_seed", maintain_order=True).agg(pl.col("replication").unique())
    assert {seed: sorted(each) for seed, each in numbers.iter_rows()} == {
        5: [0, 1],
        6: [1_000_000, 1_000_001],
        7: [2_000_000, 2_000_001],
    }
    alone = run_experiment(experiment(over=None)).frame
    assert set(alone["replication"]) == {0, 1}
    first = pl.col("param_seed") == 5
    assert frame.filter(first).equals(alone.filter(first))


def test_the_rows_of_results_are_averaged_over_instances():
    results = run_experiment(experiment())
    assert results.rows.equals(average_instances(results.frame, "seed"))
