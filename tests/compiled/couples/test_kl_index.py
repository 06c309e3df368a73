import math
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pairup.compiled.couples.kl_index import (
    ENTRIES,
    INDEX,
    UNKNOWN,
    exploration_level,
    kl,
    kl_index,
    lower_bound,
    lower_index,
    slope_at,
    solve_index,
    upper_index,
)
from pairup.compiled.couples.statistics import new_couple_statistics
from tests.support.twins import indices as naive_indices

ROUNDING = 1e-12  # the margin within which the kernels leave bounds and solve
LEVELS = st.floats(1.0, 50.0)


@st.composite
def couples(draw):
    """Mean and tries of a couple."""
    tries = draw(st.one_of(st.integers(1, 20), st.integers(1, 10**6)))
    return draw(st.integers(0, tries)) / tries, tries


@given(couples(), LEVELS)
@example((0.5, 1), 50.0)
@example((1e-6, 10**6), 1.0)
@example((1 - 1e-6, 10**6), 1.0)
@example((0.5, 10**6), 1.0)
def test_index_equals_its_twin(couple, level):
    mean, tries = couple
    expected = naive_indices.kl_index(mean, tries, level)
    assert kl_index(mean, tries, level) == pytest.approx(expected, rel=0, abs=ROUNDING)


@given(st.integers(1, 10**6), LEVELS)
def test_index_of_a_couple_that_never_played(tries, level):
    expected = -math.expm1(-level / tries)
    assert kl_index(0.0, tries, level) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@given(st.integers(1, 10**6), LEVELS)
def test_index_of_a_couple_that_always_played(tries, level):
    assert kl_index(1.0, tries, level) == 1.0


@given(couples(), st.floats(-5.0, 0.0))
def test_index_without_a_budget_is_the_mean(couple, level):
    assert kl_index(*couple, level) == couple[0]


@given(couples(), LEVELS, LEVELS)
def test_index_rises_with_the_level(couple, one, other):
    low, high = sorted((one, other))
    assert couple[0] <= kl_index(*couple, low) <= kl_index(*couple, high) + ROUNDING
    assert kl_index(*couple, high) <= 1.0


@given(couples(), st.integers(1, 10), LEVELS)
def test_index_falls_with_the_tries(couple, factor, level):
    mean, tries = couple
    assert kl_index(mean, factor * tries, level) <= kl_index(mean, tries, level) + ROUNDING


@given(couples(), LEVELS, LEVELS)
def test_a_tangent_lies_above_the_index(couple, at, level):
    q = kl_index(*couple, at)
    tangent = q + slope_at(*couple, q) * (level - at)
    assert kl_index(*couple, level) <= tangent + ROUNDING


@given(couples(), LEVELS)
def test_a_tangent_touches_the_index(couple, level):
    step = 1e-3 * level
    rise = kl_index(*couple, level + step) - kl_index(*couple, level - step)
    slope = slope_at(*couple, kl_index(*couple, level))
    assert slope * 2 * step == pytest.approx(rise, rel=1e-4, abs=1e-11)


@given(couples(), LEVELS)
def test_the_lower_bound_lies_below_the_index(couple, level):
    mean, tries = couple
    bound = lower_bound(mean, 1 / math.sqrt(tries), level)
    assert mean <= bound <= kl_index(mean, tries, level) + ROUNDING


@given(couples(), st.floats(0.0, 1.0, exclude_max=True))
def test_divergence_equals_its_twin(couple, share):
    mean, _ = couple
    q = mean + share * (1 - mean)
    if 0 < q < 1:
        assert kl(mean, q) == pytest.approx(naive_indices.kl(mean, q), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("clock", [1, 2])
def test_no_exploration_before_the_clock_is_worth_a_logarithm(clock):
    assert exploration_level(clock) == naive_indices.exploration_level(clock) == 0.0


@given(st.integers(3, 10**12))
@example(3)
@example(4)
def test_exploration_level_equals_its_twin(clock):
    assert exploration_level(clock) == pytest.approx(
        naive_indices.exploration_level(clock), rel=1e-14
    )


def enter(stats, games, tries):
    stats.tries[0, 1], stats.games[0, 1] = tries, games
    stats.mean[0, 1] = stats.mean[1, 0] = games / tries


def test_bounds_hold_whatever_was_observed_since_the_anchor():
    draw, stats, anchor = Random(1), new_couple_statistics(3), np.full(ENTRIES, UNKNOWN)
    tight = 0
    for _ in range(400):
        tries, rate = (
            draw.choice([1, 2, 5, 30, 1_000, 100_000]),
            draw.choice([0, 0.01, 0.3, 0.9, 1]),
        )
        games = min(
            max(round(draw.gauss(rate * tries, (rate * (1 - rate) * tries) ** 0.5)), 0), tries
        )
        level = draw.uniform(0.1, 14)
        enter(stats, games, tries)
        assert solve_index(anchor, stats, 0, 1, level) == pytest.approx(
            naive_indices.kl_index(games / tries, tries, level), abs=1e-12
        )
        for _ in range(10):
            more = draw.choice([0, 1, 3, 20])
            won = sum(draw.random() < rate for _ in range(more))
            tries, games, level = (
                tries + more,
                games + won,
                level + draw.choice([0, 1e-4, -1e-3, 2]),
            )
            enter(stats, games, tries)
            index = naive_indices.kl_index(games / tries, tries, max(level, 0))
            lower, upper = (
                f(anchor, stats, 0, 1, max(level, 0)) for f in (lower_index, upper_index)
            )
            assert lower - 1e-12 <= index <= upper + 1e-12
            tight += upper - lower < 0.05 / tries
    assert tight > 1_000


def test_the_anchor_itself_is_the_index():
    stats, anchor = new_couple_statistics(3), np.full(ENTRIES, UNKNOWN)
    enter(stats, 30, 100)
    q = solve_index(anchor, stats, 0, 1, 5.0)
    assert lower_index(anchor, stats, 0, 1, 5.0) == upper_index(anchor, stats, 0, 1, 5.0) == q


def test_nothing_is_known_of_a_couple_that_was_never_solved():
    stats, anchor = new_couple_statistics(3), np.full(ENTRIES, UNKNOWN)
    assert lower_index(anchor, stats, 0, 1, 5.0) == 1.0  # unseen couples are at 1
    enter(stats, 30, 100)
    assert (lower_index(anchor, stats, 0, 1, 5.0), upper_index(anchor, stats, 0, 1, 5.0)) == (
        0.3,
        1.0,
    )
    assert anchor[INDEX] == -1
