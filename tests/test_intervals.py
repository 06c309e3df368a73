import numpy as np
import pytest
from scipy import stats

from pairup.intervals import (
    fieller_interval,
    mean_interval,
    normal_quantile,
    skewed_ends,
    student_interval,
    wilson_ends,
)


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


@pytest.mark.parametrize("count", [5, 8, 20])
@pytest.mark.parametrize("spread", [0.1, 0.3, 0.6])
def test_intervals_of_skewed_samples_cover_the_mean_and_are_never_below_0(count, spread):
    draws = np.random.default_rng(count).lognormal(3, spread, (count, 3000))
    _, low, high = mean_interval(draws)
    covered = (low <= np.exp(3 + spread**2 / 2)) & (np.exp(3 + spread**2 / 2) <= high)
    assert 0.92 < covered.mean() < 0.98
    assert (low >= 0).all()


def test_a_few_values_with_one_far_away_have_an_interval_above_0():
    values = np.array([1.0, 1.0, 1.0, 1.0, 50.0])
    assert student_interval(values)[1] < 0
    mean, low, high = mean_interval(values)
    assert 0 <= low < mean < student_interval(values)[2] < high


def test_hall_transforms_the_ends_back_to_quantiles_of_student():
    mean, error, count, skew = 10.0, 0.7, 40, 1.4
    low, high = skewed_ends(mean, error, skew, count)
    used = (count * skew + 5) / (count + 5)
    assert used * stats.t.ppf(0.975, count - 1) / np.sqrt(count) < 0.8  # not bounded
    for end, sign in ((low, 1), (high, -1)):
        t, a = (mean - end) / error, used / np.sqrt(count)
        transformed = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        assert transformed == pytest.approx(sign * stats.t.ppf(0.975, count - 1))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_an_end_is_at_most_1_6_times_as_far_away_as_that_of_student(count):
    values = np.linspace(100.0, 101.0, count) ** 3
    mean, low, high = mean_interval(values)
    _, lowest, highest = student_interval(values)
    assert mean < highest < high <= mean + 1.6 * (highest - mean)
    assert lowest < low < mean


def test_many_values_have_the_interval_of_student():
    values = np.random.default_rng(2).exponential(size=1_000_000)
    np.testing.assert_allclose(mean_interval(values), student_interval(values), rtol=1e-5)


def test_equal_values_have_an_interval_of_no_width():
    assert [float(each) for each in mean_interval(np.full(4, 3.0))] == [3.0, 3.0, 3.0]
    assert [float(each) for each in mean_interval(np.zeros(4))] == [0.0, 0.0, 0.0]


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
