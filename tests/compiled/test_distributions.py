import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special, stats

from pairup.compiled import distributions
from tests.support.twins import distributions as naive_sampling
from tests.support.twins.streams import word

WORDS = st.integers(0, 2**64 - 1)
# Words whose normals are far out, on either side.
FAR = st.builds(
    lambda bits, shift, side: bits >> shift if side else 2**64 - 1 - (bits >> shift),
    WORDS,
    st.integers(6, 63),
    st.booleans(),
)
SHAPES = [1.0, 1.5, 2.0, 30.0, 1e6]
BETAS = [(1.0, 1.0), (1.0, 30.0), (2.0, 1.5), (30.0, 31.0), (5.0, 1e6), (4e5, 6e5)]
SMALL_BETAS = [(0.5, 0.5), (0.4, 3.0), (3.0, 0.9), (0.99, 1.0), (1.0, 0.3)]
shapes = st.floats(1.0, 1e7)

# Of key 0, or of the words of key 0.
NORMALS = ["0x1.31135650387c4p+0", "-0x1.613ffd0040e24p-3", "-0x1.ef9dc7ca26f94p+0"]
GAMMAS = ["0x1.1bf40ed39e5a0p+2", "0x1.ec2d180ae9cc4p+0", "0x1.88f1e6fb6715bp-2"]
BETA_DRAWS = ["0x1.1647e07298b9fp-1", "0x1.c56262b1e493dp-5", "0x1.d0c616fd4ffb0p-3"]
FAR_NORMAL = "-0x1.ff6c850041d9fp+2"


def normal(bits):
    return float(distributions.normal(np.uint64(bits)))


def gamma(key, index, shape):
    return float(distributions._gamma(np.uint64(word(key, index)), shape))


def beta(key, index, a, b):
    return float(distributions.beta(np.uint64(key), index, a, b))


# --- uniform and normal --------------------------------------------------------------------------


@given(WORDS)
@example(0)
@example(2**64 - 1)
def test_a_uniform_is_in_the_open_interval_and_equals_its_twin(bits):
    u = float(distributions.uniform(np.uint64(bits)))
    assert 0 < u < 1
    assert u == naive_sampling.uniform(bits)


@given(WORDS | FAR)
@example(0)
@example(2**64 - 1)
@example(2**63)
@example(2**63 - 1)
@example(2**58)
@example(2**58 - 1)
def test_a_normal_equals_its_twin_bit_for_bit(bits):
    assert normal(bits) == naive_sampling.normal(bits)


@given(WORDS | FAR)
@example(2**58)
@example(2**58 - 1)
def test_a_normal_is_the_quantile_at_its_word(bits):
    below = min(bits, 2**64 - 1 - bits)
    u = (below + 0.5) / 2**64
    if below < 2**62:
        assert -abs(normal(bits)) == pytest.approx(special.ndtri(u), rel=3e-15)
    else:  # a double near 1/2 has lost the last bits of how far from it the word is
        assert special.ndtr(-abs(normal(bits))) == pytest.approx(u, rel=1e-15)


@given(st.integers(0, 2**40))
def test_a_normal_keeps_all_its_bits_near_the_middle(steps):
    q = (steps + 0.5) / 2**64
    assert normal(2**63 + steps) == pytest.approx(q * math.sqrt(2 * math.pi), rel=1e-15)


@given(WORDS | FAR)
def test_the_complement_of_a_word_gives_the_opposite_normal(bits):
    assert normal(2**64 - 1 - bits) == -normal(bits)


@given(WORDS | FAR)
@example(2**58 - 1)
def test_normals_never_fall_beyond_rounding(bits):
    after = min(bits + 2**12, 2**64 - 1)
    assert normal(after) >= normal(bits) - 4 * math.ulp(normal(bits))


def test_the_first_and_the_last_word_give_the_farthest_normals():
    assert normal(2**64 - 1) == pytest.approx(-special.ndtri(2.0**-65), rel=3e-15)
    assert normal(0) == pytest.approx(-9.156, abs=1e-3)


def test_normals_filled_in_are_those_one_by_one():
    out = np.zeros(1003)
    distributions.fill_normal(np.uint64(5), out)
    assert out.tolist() == [normal(word(5, index)) for index in range(1003)]


def test_normals_are_normal_and_so_are_their_tails():
    out = np.zeros(4_000_000)
    distributions.fill_normal(np.uint64(11), out)
    assert stats.kstest(out[:200_000], "norm").pvalue > 0.01
    assert abs(out.mean()) < 4 / math.sqrt(len(out))
    assert abs(out.var() - 1) < 4 * math.sqrt(2 / len(out))
    for sigmas in (2, 3, 4, 4.5):
        expected = len(out) * special.ndtr(-sigmas)
        for beyond in (np.sum(out > sigmas), np.sum(out < -sigmas)):
            assert abs(beyond - expected) < 4 * math.sqrt(expected)


# --- gamma and beta ------------------------------------------------------------------------------


@given(WORDS, st.integers(0, 2**40), st.sampled_from(SHAPES) | shapes)
def test_a_gamma_draw_equals_its_twin_bit_for_bit(key, index, shape):
    assert gamma(key, index, shape) == naive_sampling.gamma(key, index, shape)


@pytest.mark.parametrize("shape", [1.0, 1.01, 3.0])
def test_rejected_gamma_draws_equal_their_twins(shape):
    rejected = 0
    for index in range(3000):
        draw = gamma(9, index, shape)
        assert draw == naive_sampling.gamma(9, index, shape)
        d = shape - 1 / 3
        first = d * (1 + normal(word(9, index)) / (3 * math.sqrt(d))) ** 3
        rejected += draw != pytest.approx(first, rel=1e-12)
    assert rejected > 15


@given(WORDS, st.integers(0, 2**40), st.sampled_from(BETAS) | st.tuples(shapes, shapes))
def test_a_beta_draw_equals_its_twin_bit_for_bit(key, index, parameters):
    assert beta(key, index, *parameters) == naive_sampling.beta(key, index, *parameters)


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_draws_are_gamma(shape):
    draws = [gamma(2, index, shape) for index in range(100_000)]
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 0.01


@pytest.mark.parametrize(("a", "b"), BETAS + SMALL_BETAS)
def test_beta_draws_are_beta(a, b):
    draws = np.zeros(200_000)
    distributions.fill_beta(np.uint64(4), np.full(len(draws), a), np.full(len(draws), b), draws)
    assert stats.kstest(draws, stats.beta(a, b).cdf).pvalue > 0.01
    assert np.all((draws > 0) & (draws <= 1))


@given(WORDS, st.integers(0, 2**40), st.tuples(st.floats(1e-3, 2.0), st.floats(1e-3, 2.0)))
def test_a_beta_draw_of_small_shapes_is_that_of_its_twin(key, index, parameters):
    expected = naive_sampling.beta(key, index, *parameters)
    assert beta(key, index, *parameters) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert 0.0 < beta(key, index, *parameters) <= 1.0


def test_beta_draws_filled_in_are_those_one_by_one():
    random = np.random.default_rng(0)
    a, b = 1 + random.exponential(3, 5001), 1 + random.exponential(3, 5001)
    a[::10] = b[::7] = 1.0
    a[::11] = b[::9] = 0.3
    out = np.zeros(len(a))
    distributions.fill_beta(np.uint64(3), a, b, out)
    one_by_one = [beta(3, index, a[index], b[index]) for index in range(len(a))]
    assert out.tolist() == one_by_one


def test_draws_of_different_indices_and_keys_have_nothing_in_common():
    size = 100_000
    draws = {key: np.zeros(size) for key in (0, 1, 2**63)}
    for key, out in draws.items():
        distributions.fill_beta(np.uint64(key), np.full(size, 3.0), np.full(size, 2.0), out)
    pairs = [(draws[0], draws[1]), (draws[0], draws[2**63]), (draws[0][1:], draws[0][:-1])]
    for x, y in pairs:
        assert abs(np.corrcoef(x, y)[0, 1]) < 4 / math.sqrt(size)


def test_the_squeeze_lies_below_what_is_accepted():
    # h = -g(y) / c^2 with y = c x > -1; c^2 is largest, 1/6, at shape 1.
    y = np.linspace(-1, 3, 400_001)[1:]
    y = y[np.abs(y) > 1e-3]
    g = -(y**2 / 2 + (1 - (1 + y) ** 3 + 3 * np.log1p(y)) / 9)
    for c2 in (1 / 6, 1 / 10, 1 / 100, 1e-4):
        assert np.all(-np.expm1(-g / c2) <= distributions.SQUEEZE * y**4 / c2 + 1e-12 / c2)
    assert 1 - distributions.SQUEEZE / (1 / 6) < 0  # at a root of 0 and below, y <= -1


# --- the numbers themselves ----------------------------------------------------------------------


def test_draws_of_a_key_are_these_on_every_machine():
    words = [word(0, index) for index in range(3)]
    assert [normal(bits).hex() for bits in words] == NORMALS
    assert [gamma(0, index, 2.5).hex() for index in range(3)] == GAMMAS
    assert [beta(0, index, 3.0, 5.0).hex() for index in range(3)] == BETA_DRAWS
    assert normal(12345).hex() == FAR_NORMAL
