import numpy as np
import polars as pl
import pytest

from pairup import Problem, Uniform, simulate
from pairup.analysis.means import final, mean_intervals, samples
from pairup.errors import ResultsError
from tests.support.experiments.frames import frame, rows


def test_means_are_those_of_a_run():
    run = simulate(Problem.around(0.5, 3, 0.1), Uniform(), rounds=200, replications=7)
    found = mean_intervals(rows("Uniform", run.regret, rounds=run.rounds))
    low, high = run.interval()
    np.testing.assert_allclose(found["estimate"], run.mean(), rtol=1e-12)
    np.testing.assert_allclose(found["low"], low, rtol=1e-12)
    np.testing.assert_allclose(found["high"], high, rtol=1e-12)
    assert found["replications"].to_list() == [7] * len(run.rounds)


def test_one_replication_has_a_mean_and_no_interval():
    found = mean_intervals(frame(SAM=[5.0]))
    assert found.select("estimate", "low", "high").row(0) == (5.0, None, None)


def test_policies_stay_in_the_order_of_the_frame():
    found = mean_intervals(frame(z=[1.0, 2.0], a=[1.0, 2.0], m=[1.0, 2.0]))
    assert found["policy"].to_list() == ["z", "a", "m"]


def test_means_do_not_depend_on_the_order_of_replications():
    values = np.random.default_rng(1).lognormal(5, 3, 50)
    results = frame(SAM=values, V1=values[::-1])
    shuffled = results.sample(fraction=1.0, shuffle=True, seed=3).sort("policy")
    assert mean_intervals(results).equals(mean_intervals(shuffled))


def test_final_keeps_the_last_round_of_each_problem():
    short = rows("a", [[1, 2]], "short", (5, 10))
    long = rows("a", [[1, 3]], "long", (10, 20))
    assert final(pl.concat([short, long]))["regret"].to_list() == [2, 3]


def test_sums_over_problems_need_all_of_them():
    both = pl.concat([rows("a", [1.0, 2.0], "p"), rows("a", [10.0], "q")])
    assert samples(both, ["a"])["a"].tolist() == [11.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: mean_intervals(f, "regrets"), 'did you mean "regret"'),
        (lambda f: mean_intervals(f, level=95), "level must lie in"),
    ],
)
def test_errors_give_the_way_out(call, words):
    with pytest.raises(ResultsError, match=words):
        call(frame(a=[1.0, 2.0], b=[1.0, 3.0]))
