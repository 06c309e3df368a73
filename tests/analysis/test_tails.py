import numpy as np
import polars as pl
import pytest

from pairup.analysis.tails import (
    QUANTILES,
    missing_quantiles,
    tail_probabilities,
    tail_quantiles,
)
from tests.support.experiments.frames import frame, rows


@pytest.mark.parametrize("count", [1, 2, 7, 20, 99, 100, 101, 1000])
def test_quantiles_are_values_that_were_measured(count):
    values = np.random.default_rng(count).lognormal(3, 1, count)
    found = tail_quantiles(frame(SAM=values)).row(0, named=True)
    for (name, share), needed in zip(QUANTILES.items(), (2, 10, 20, 100, 1000), strict=True):
        known = np.quantile(values, share, method="inverted_cdf") if count >= needed else None
        assert found[name] == known
    assert found["max"] == values.max()


def test_quantiles_that_replications_cannot_show_are_named_with_the_number_needed():
    assert missing_quantiles(8) == (
        "Quantiles of 90% need at least 10, 95% need at least 20, 99% need at least 100, "
        "99.9% need at least 1,000 replications, got 8."
    )
    assert missing_quantiles(1000) == ""


def test_quantiles_are_those_of_the_last_round_of_each_policy_and_problem():
    results = pl.concat(
        [
            rows("a", [[9, 1], [9, 3]], "p", (5, 10)),
            rows("b", [[9, 2], [9, 8]], "p", (5, 10)),
            rows("a", [[7.0], [5.0]], "q", (5,)),
        ]
    )
    found = tail_quantiles(results)
    assert found.select("problem", "policy", "q50", "max").rows() == [
        ("p", "a", 1.0, 3.0),
        ("p", "b", 2.0, 8.0),
        ("q", "a", 5.0, 7.0),
    ]


def test_probabilities_count_those_that_lost_at_least_as_much():
    found = tail_probabilities(frame(a=[4.0, 1.0, 4.0, 2.0], b=[3.0]))
    assert found.select("policy", "regret", "probability").sort("policy").rows() == [
        ("a", 1.0, 1.0),
        ("a", 2.0, 0.75),
        ("a", 4.0, 0.5),
        ("b", 3.0, 1.0),
    ]
    assert (found["low"] <= found["probability"]).all()
    assert (found["probability"] <= found["high"]).all()
