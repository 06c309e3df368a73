import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pairup.compiled.logarithm import exp, log, log_gamma

SMALLEST, LARGEST = math.ulp(0.0), math.nextafter(math.inf, 0.0)


def ulps_off(x):
    """How far log(x) is from the true logarithm, in units of its last place."""
    with localcontext(prec=60):
        true = Decimal(x).ln()
        return float(abs(Decimal(log(x)) - true) / Decimal(math.ulp(float(true))))


@given(st.floats(SMALLEST, LARGEST))
@example(SMALLEST)
@example(LARGEST)
@example(2.0**-1022)
@example(math.sqrt(0.5))
@example(math.nextafter(math.sqrt(0.5), 0.0))
@example(math.nextafter(math.sqrt(0.5), 1.0))
@example(math.nextafter(1.0, 0.0))
@example(math.nextafter(1.0, 2.0))
def test_is_within_two_units_in_the_last_place(x):
    assert ulps_off(x) <= 2


@given(st.floats(0.5, 2.0))
def test_is_as_good_near_one(x):
    assert ulps_off(x) <= 2


@given(st.integers(2, 10**9))
def test_is_as_good_on_clocks_and_logarithms_of_clocks(clock):
    assert ulps_off(float(clock)) <= 2
    assert ulps_off(math.log(clock)) <= 2


def test_is_exact_at_one():
    assert log(1.0) == 0.0


@pytest.mark.parametrize("exponent", [-1074, -1000, -1, 1, 2, 10, 1023])
def test_powers_of_two_have_the_logarithm_of_two_times_their_exponent(exponent):
    assert log(2.0**exponent) == pytest.approx(exponent * math.log(2.0), rel=1e-15)


@given(st.floats(SMALLEST, LARGEST))
def test_never_falls_beyond_rounding(x):
    after = math.nextafter(x, math.inf)
    assume(after <= LARGEST)
    assert log(after) >= log(x) - 2 * math.ulp(log(x))


@given(st.floats(-690.0, 690.0))
def test_the_exponential_is_right_to_a_few_last_places(x):
    assert float(exp(x)) == pytest.approx(math.exp(x), rel=2e-15)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_exponential_is_always_positive_and_finite(x):
    assert 0.0 < exp(x) < math.inf


@given(st.floats(1e-15, 1e9))
@example(8.0)
@example(math.nextafter(8.0, 0.0))
def test_the_logarithm_of_gamma_has_twelve_digits(x):
    assert log_gamma(x) == pytest.approx(math.lgamma(x), rel=1e-12, abs=3e-13)
