import numpy as np
import pytest
from scipy import stats

from pairup.intervals import fieller_interval, normal_quantile, student_interval, wilson_ends


def test_intervals_cover_the_mean_as_often_as_they_say():
    draws = np.random.default_rng(0).normal(10, 2, (1000, 12))
    ends = np.array([student_interval(each)[1:] for each in draws])
    assert 0.93 < np.mean((ends[:, 0] < 10) & (ends[:, 1] > 10)) < 0.97


def test_student_is_that_of_scipy_along_the_first_axis():
    values = np.random.default_rng(1).lognormal(size=(9, 4))
    mean, low, high = student_interval(values, 0.9)
    known = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert np.array_equal(mean, values.mean(axis=0))
    np.testing.assert_allclose((low, high), (known.low, known.high))


def test_one_value_has_no_interval():
    mean, low, high = student_interval(np.array([3.0]))
    assert mean == 3.0
    assert np.isnan([low, high, *fieller_interval(np.ones(1), np.ones(1))[1:]]).all()


def test_the_normal_quantile_is_that_of_scipy():
    for level in (0.5, 0.95, 0.999):
        assert normal_quantile(level) == pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-14)


@pytest.mark.parametrize(("hits", "count"), [(1, 1000), (0, 7), (7, 7), (30, 60)])
def test_wilson_is_that_of_scipy(hits, count):
    low, high = wilson_ends(np.array([hits / count]), np.array([float(count)]))
    known = stats.binomtest(hits, count).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize("count", [1, 3, 10**9])
def test_a_share_lies_in_its_interval(count):
    for share in (0.0, 1.0):
        low, high = wilson_ends(share, count)
        assert 0.0 <= low <= share <= high <= 1.0
