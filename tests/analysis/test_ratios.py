import numpy as np
import polars as pl
import pytest

from pairup.analysis.ratios import ratios
from pairup.errors import ResultsError
from tests.support.experiments.frames import frame, rows


def test_fieller_is_symmetric():
    rng = np.random.default_rng(8)
    results = frame(a=rng.normal(40, 3, 20), b=rng.normal(10, 1, 20))
    over = ratios(results, "a", "b").row(0, named=True)
    under = ratios(results, "b", "a").row(0, named=True)
    assert over["low"] < over["ratio"] < over["high"]
    assert under["low"] == pytest.approx(1 / over["high"])
    assert under["high"] == pytest.approx(1 / over["low"])


def test_fieller_covers_the_ratio_as_often_as_it_says():
    rng = np.random.default_rng(9)
    covered = 0
    for _ in range(300):
        common = rng.normal(0, 2, 12)
        a, b = 30 + common + rng.normal(0, 2, 12), 10 + common + rng.normal(0, 1, 12)
        row = ratios(frame(a=a, b=b), "a", "b").row(0, named=True)
        covered += row["low"] < 3 < row["high"]
    assert 0.91 < covered / 300 < 0.985


def test_a_denominator_that_may_be_zero_excludes_nothing():
    row = ratios(frame(a=[1.0, 2.0], b=[-1.0, 1.5]), "a", "b").row(0, named=True)
    assert (row["low"], row["high"]) == (-np.inf, np.inf)


def test_pooled_ratio_is_that_of_the_sums():
    results = pl.concat(
        [
            rows("a", [3.0, 3.2], "p"),
            rows("b", [1.0, 1.1], "p"),
            rows("a", [5.0, 5.1], "q"),
            rows("b", [3.0, 3.1], "q"),
        ]
    )
    found = ratios(results, "a", "b", pooled=True)
    assert found["ratio"].to_list() == [pytest.approx(16.3 / 8.2)]


def test_an_unknown_policy_is_named():
    with pytest.raises(ResultsError, match="no results of a policy"):
        ratios(frame(a=[1.0, 2.0], b=[1.0, 3.0]), "sam", "b")
