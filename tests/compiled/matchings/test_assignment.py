import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from pairup.compiled.matchings.assignment import NOBODY, assign_seekers, new_assignment
from tests.support.twins import matching as naive_matching

WEIGHTS = {
    "uniform": lambda random, shape: random.random(shape),
    "signed": lambda random, shape: random.standard_normal(shape),
    "tied": lambda random, shape: random.integers(-1, 3, shape).astype(float),
    "zero": lambda random, shape: np.zeros(shape),
    "products": lambda random, shape: np.outer(random.random(shape[0]), random.random(shape[1])),
    "heavy tails": lambda random, shape: random.standard_cauchy(shape) ** 3,
    "far from zero": lambda random, shape: 1e9 + random.random(shape),
}
SHAPES = [(1, 1), (1, 6), (6, 1), (5, 5), (10, 5), (5, 10), (40, 31)]


def assert_proven(work, weights):
    """The prices prove that no other assignment weighs more."""
    rows, columns = weights.shape
    weights = weights if rows <= columns else weights.T
    few, many = weights.shape
    sought, offered, offer = work.seeker_price[:few], work.offer_price[:many], work.offer[:few]
    tolerance = 1e-13 * max(rows, columns) * np.abs(weights).max(initial=0.0)
    surplus = sought[:, None] + offered - weights
    assert surplus.min() >= -tolerance
    assert np.abs(surplus[np.arange(few), offer]).max() <= tolerance
    assert offered.min() >= 0
    assert np.all(offered[work.seeker[:many] == NOBODY] == 0)


def assigned(work, weights):
    """Assign, and return the couples; both sides must agree on them."""
    sought = weights if weights.shape[0] <= weights.shape[1] else weights.T
    few, many = sought.shape
    work.weight[:few, :many] = sought
    assign_seekers(work, few, many)
    couples = [(i, int(work.offer[i])) for i in range(few)]
    others = [(int(work.seeker[k]), k) for k in range(many) if work.seeker[k] != NOBODY]
    assert couples == sorted(others)
    return couples if sought is weights else [(k, i) for i, k in couples]


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_assignment_is_proven_by_its_prices(kind, shape):
    random, work = np.random.default_rng(0), new_assignment(*shape)
    for _ in range(20):
        weights = WEIGHTS[kind](random, shape)
        couples = assigned(work, weights)
        assert_proven(work, weights)
        best = weights[linear_sum_assignment(weights, maximize=True)].sum()
        assert sum(weights[each] for each in couples) == pytest.approx(best, rel=1e-12, abs=1e-12)


@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_an_assignment_is_the_best_of_all(rows, columns, data):
    entries = st.lists(st.integers(-4, 4), min_size=columns, max_size=columns)
    table = np.array(data.draw(st.lists(entries, min_size=rows, max_size=rows)), np.float64)
    couples = assigned(new_assignment(4, 4), table)
    best = max(
        sum(table[couple] for couple in each) for each in naive_matching.assignments(rows, columns)
    )
    assert sum(table[couple] for couple in couples) == best


def test_a_workspace_takes_fewer_players():
    random, work = np.random.default_rng(1), new_assignment(7, 4)
    for _ in range(50):
        weights = random.random((random.integers(1, 8), random.integers(1, 5)))
        assigned(work, weights)
        assert_proven(work, weights)


def test_nobody_is_assigned_where_a_side_is_empty():
    work = new_assignment(3, 2)
    assert assigned(work, np.zeros((3, 0))) == []
    assert work.seeker.tolist() == [NOBODY] * 3


def test_of_equally_near_offers_the_first_is_taken():
    assert assigned(new_assignment(3, 5), np.ones((3, 5))) == [(0, 0), (1, 1), (2, 2)]
