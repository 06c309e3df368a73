import numpy as np
import polars as pl
import pytest
import scipy.stats

from pairup.analysis.comparisons import holm, paired_differences, ranking, ratios
from pairup.analysis.means import samples
from pairup.errors import ResultsError
from tests.support.experiments.frames import frame, rows


def test_differences_are_a_paired_t_test():
    rng = np.random.default_rng(5)
    a = rng.normal(10, 3, 15)
    b = a + rng.normal(0.3, 0.5, 15)
    found = paired_differences(frame(a=a, b=b), "p").row(0, named=True)
    test = scipy.stats.ttest_rel(a, b)
    known = test.confidence_interval(0.95)
    assert found["p_value"] == pytest.approx(test.pvalue)
    assert (found["low"], found["high"]) == pytest.approx((known.low, known.high))
    assert found["difference"] == pytest.approx(np.mean(a - b))


def test_pairs_are_found_by_replication_not_by_place():
    results = frame(a=[1.0, 2.0, 30.0], b=[2.0, 3.0, 31.0])
    shuffled = results.sample(fraction=1.0, shuffle=True, seed=1).sort("policy")
    found = paired_differences(shuffled, "p").row(0, named=True)
    assert (found["low"], found["high"]) == (-1.0, -1.0)
    assert found["shown"]


def test_replications_of_one_policy_only_do_not_count():
    results = pl.concat([rows("a", [1.0, 2.0, 3.0]), rows("b", [2.0, 3.0])])
    assert paired_differences(results, "p")["replications"].to_list() == [2]
    assert samples(results, ["a", "b"])["a"].tolist() == [1.0, 2.0]


def test_holm_is_stepwise_and_keeps_what_is_missing():
    found = holm(np.array([0.04, np.nan, 0.001, 0.03]))
    np.testing.assert_allclose(found, [0.06, np.nan, 0.003, 0.06])
    assert holm(np.array([0.9, 0.8])).max() == 1.0


def test_holm_keeps_false_differences_rare():
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(100):
        same = {name: rng.normal(0, 1, 10) for name in "abcd"}
        found += paired_differences(frame(**same), "p")["shown"].any()
    assert found <= 0.1 * 100


def test_ranking_says_where_no_difference_is_shown():
    noise = np.random.default_rng(3).normal(0, 1, (3, 20))
    table = ranking(frame(a=50 + noise[0], b=10 + noise[1], c=10 + noise[2]), "p")
    assert table["policy"].to_list()[2] == "a"
    assert table["rank"].to_list() == [1, 1, 3]
    assert table["note"].to_list()[2] == ""
    assert all(note.startswith("no difference shown from") for note in table["note"][:2])


def test_differences_that_agree_up_to_rounding_are_shown():
    nearly = np.array([0.1 + 0.2, 0.3, 0.3, 0.3])
    found = paired_differences(frame(a=nearly, b=np.zeros(4)), "p").row(0, named=True)
    assert found["p_value"] == 0
    assert found["shown"]


def test_equal_policies_are_not_told_apart():
    table = ranking(frame(a=[1.0, 2.0], b=[1.0, 2.0]), "p")
    assert table["unresolved"].to_list() == [["b"], ["a"]]


def test_one_replication_shows_nothing():
    table = ranking(frame(a=[1.0], b=[9.0]), "p")
    assert table["rank"].to_list() == [1, 1]


def test_games_are_ranked_from_the_most():
    results = frame(a=[0.0, 0.0], b=[0.0, 0.0]).with_columns(games=pl.Series([1, 2, 8, 9]))
    assert ranking(results, "p", measure="games")["policy"].to_list() == ["b", "a"]


def test_a_round_can_be_chosen():
    results = pl.concat(
        [rows("a", [[1, 9], [2, 9]], rounds=(5, 10)), rows("b", [[3, 3], [4, 4]], rounds=(5, 10))]
    )
    assert ranking(results, "p", round=5)["policy"].to_list() == ["a", "b"]
    assert ranking(results, "p")["policy"].to_list() == ["b", "a"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: ranking(f, "P"), 'did you mean "p"'),
        (lambda f: ranking(f, "p", round=8), "the nearest is 9"),
        (
            lambda f: ranking(f.vstack(f.with_columns(experiment=pl.lit("x"))), "p"),
            "one experiment",
        ),
    ],
)
def test_errors_give_the_way_out(call, words):
    with pytest.raises(ResultsError, match=words):
        call(frame(a=[1.0, 2.0], b=[1.0, 3.0]))


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
