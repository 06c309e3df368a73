import dataclasses
import math

import polars as pl
import pytest

from pairup import SAM, Problem, Unimodal
from pairup.analysis.standings import ties
from pairup.bounds import lower
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.results import Results
from pairup.experiments.timings import Timing
from tests.support.experiments.frames import frame, rows


def standings(experiment, frame, timings=None):
    return Results(experiment, frame, timings=timings or {}).standings


NAME = "from_zero(2, 0.1)"


def experiment(*figures, labels=("a", "b")):
    posed = PosedProblem(Problem.from_zero(2, 0.1), "from_zero", {"pairs": 2, "gap": 0.1})
    entries = tuple(Entry(label, SAM() if label == "a" else Unimodal()) for label in labels)
    return Experiment("e", "E", "", 100, 3, 0, (posed,), entries, figures)


def results():
    lost = {"a": [30.0, 31.0, 32.5], "b": [10.0, 11.0, 11.5]}
    return pl.concat([rows(policy, values, NAME, (100,)) for policy, values in lost.items()])


def test_the_least_regret_comes_first_with_limit_and_timing():
    line = FigureSpec("curves", "c", limit=True)
    timings = {(NAME, "b"): Timing(250.0, 40)}
    best, worst = standings(experiment(line), results(), timings)[NAME]
    limit = lower(Problem.from_zero(2, 0.1)).constant * math.log(100)
    assert (best.policy, best.rank, worst.policy, worst.rank) == ("b", 1, "a", 2)
    assert best.times_limit == pytest.approx(best.estimate / limit)
    assert (best.nanoseconds, best.rounds_timed) == (250.0, 40)
    assert (worst.nanoseconds, worst.rounds_timed) == (None, None)
    assert best.unresolved == ()


def test_the_limit_counts_only_where_a_figure_asks_for_it():
    assert {row.times_limit for row in standings(experiment(), results())[NAME]} == {None}


def test_other_experiments_and_problems_are_left_aside():
    other = results().with_columns(experiment=pl.lit("f"), regret=pl.lit(0.0))
    found = standings(experiment(), pl.concat([results(), other]))
    assert found == standings(experiment(), results())
    assert standings(experiment(), other) == {}


def test_each_pair_without_a_difference_is_named_once():
    shuffled = frame(a=[1.0, 5, 9], b=[9.0, 2, 5], c=[5.0, 9, 3], d=[4.0, 8, 6])
    posed = PosedProblem(Problem([0.1, 0.2], "p"), "rates", {"rates": 1})
    race = dataclasses.replace(experiment(labels="abcd"), problems=(posed,))
    table = standings(race, shuffled)["p"]
    first, second, third, last = (row.policy for row in table)
    assert ties(table) == {
        first: f"{second} … {last}",
        second: f"{third} (p = 1.00), {last} (p = 1.00)",
        third: f"{last} (p = 1.00)",
    }


def test_differences_that_are_shown_are_not_ties():
    assert ties(standings(experiment(), results())[NAME]) == {}
