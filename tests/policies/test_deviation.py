"""How far couples deviate, from the chances of concentrations."""

import numpy as np
import pytest

from pairup.policies.deviation import ConcentrationChances, CoupleDeviation

GRID = np.array([np.inf, 10_000.0, 3_000.0, 1_000.0, 300.0, 100.0, 30.0, 10.0, 3.0])
VARIANCE = 0.16


def found(logarithms):
    return ConcentrationChances(GRID, np.asarray(logarithms) - np.max(logarithms))


def peak(concentration, width):
    """Chances that fall to both sides of a concentration, without any of the infinite one."""
    logs = -0.5 * (np.log(GRID[1:] / concentration) / width) ** 2
    return found(np.append(logs.min() - 1_000.0, logs))


def deviation_at(concentration):
    return np.sqrt(VARIANCE / (concentration + 1.0))


@pytest.mark.parametrize("concentration", [1_000.0, 550.0, 60.0, 10.0])
@pytest.mark.parametrize("width", [0.2, 0.5, 1.0])
def test_the_interval_is_that_of_the_chances_between_concentrations_too(concentration, width):
    estimate, low, high = peak(concentration, width).deviation(VARIANCE)
    both = np.hypot(width, 0.05)
    assert estimate == pytest.approx(deviation_at(concentration), rel=0.1)
    assert low == pytest.approx(deviation_at(concentration * np.exp(1.96 * both)), rel=0.15)
    assert high == pytest.approx(deviation_at(concentration / np.exp(1.96 * both)), rel=0.15)


def test_chances_too_small_for_a_real_number_still_tell_where_the_deviation_is():
    chances = peak(170.0, 0.02)
    assert np.count_nonzero(chances.chances > 1e-9) == 1
    assert chances.deviation(VARIANCE).estimate == pytest.approx(deviation_at(170.0), rel=0.05)


def test_no_deviation_begins_the_interval_while_it_is_likely():
    even = found(np.zeros(9)).deviation(VARIANCE)
    assert even.low == 0.0 < even.estimate < even.high
    none = found([0.0, *[-20.0] * 8]).deviation(VARIANCE)
    assert none == (0.0, 0.0, 0.0)
    assert str(none).startswith("no deviation")


def test_a_deviation_beyond_the_concentrations_has_an_interval_that_reaches_there():
    found = peak(0.01, 1.0).deviation(VARIANCE)
    assert found.low < deviation_at(3.0) < found.high


def test_words_have_points_with_one_decimal():
    assert "within 4.1 points (95% interval 2.2 to 6.8)" in str(
        CoupleDeviation(0.041, 0.022, 0.068)
    )
    assert str(CoupleDeviation(0.001, 0.0004, 0.002)).endswith("it is at most 0.2 points")
