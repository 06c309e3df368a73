"""The limit where players meet only the other side."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup import Problem, bounds
from pairup.bounds.confusing_rates import ConfusingRates
from pairup.bounds.places import Places
from tests.support.twins import bounds as naive_bounds
from tests.support.twins.bounds import kl

PROBLEMS = (
    ([0.9, 0.5], [0.8, 0.3]),
    ([0.9, 0.6, 0.3], [0.8, 0.5]),
    ([0.8, 0.5], [0.3, 0.9, 0.6]),
    ([0.9, 0.6, 0.3], [0.7, 0.4, 0.2]),
    ([0.3, 0.25, 0.2], [1.0, 0.9, 0.8]),
    ([0.5, 0.4, 0.3, 0.2], [1.0, 0.7]),
)


def case(rows, columns):
    problem = Problem.two_sided(rows, columns)
    return problem, bounds.lower(problem)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 19).map(lambda n: n / 20), min_size=4, max_size=4))
def test_two_rows_and_two_columns_have_a_closed_form(rates):
    (a, b), (k, m) = sorted(rates[:2], reverse=True), sorted(rates[2:], reverse=True)
    _, bound = case([b, a], [k, m])
    if a == b or k == m:
        assert bound.constant == 0
        return
    by_rows = kl(a * m, b * m) + kl(b * k, a * k)
    by_columns = kl(a * m, a * k) + kl(b * k, b * m)
    assert bound.constant == pytest.approx((a - b) * (k - m) / min(by_rows, by_columns), rel=1e-6)


@pytest.mark.parametrize("rows", [[0.9, 0.7, 0.5, 0.2], [0.9, 0.5, 0.5, 0.0]], ids=str)
def test_one_column_is_the_bandit_of_lai_and_robbins(rows):
    games = [0.8 * rate for rate in rows]
    expected = sum((games[0] - each) / kl(each, games[0]) for each in games[1:])
    for sides in ((rows, [0.8]), ([0.8], rows)):
        assert case(*sides)[1].constant == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("rows", "columns"), PROBLEMS, ids=str)
def test_a_generic_solver_over_all_matchings_agrees(rows, columns):
    _, bound = case(rows, columns)
    played = [(often, list(matching)) for matching, often in bound.exploration]
    low, high = naive_bounds.both_ends(naive_bounds.SidedProblem(rows, columns), played)
    assert low == pytest.approx(bound.constant, rel=1e-4)
    assert high == pytest.approx(bound.constant, rel=1e-4)
    assert 0 <= bound.gap < 1e-6


@pytest.mark.parametrize(("rows", "columns"), PROBLEMS, ids=str)
def test_the_certificate_confuses_and_the_exploration_spends_what_it_says(rows, columns):
    problem, bound = case(rows, columns)
    seen, (better, worse) = bound.certificate.rates, bound.certificate.players
    for i, j in problem.optimum:
        assert seen[i] * seen[j] == pytest.approx(problem.rates[i] * problem.rates[j])
    assert seen[better] == pytest.approx(seen[worse])
    assert (better < len(rows)) == (worse < len(rows))
    told = sum(
        often * kl(problem.rates[i] * problem.rates[j], seen[i] * seen[j])
        for matching, often in bound.exploration
        for i, j in matching
        if (i, j) not in problem.optimum
    )
    assert told == pytest.approx(bound.certificate.information) == pytest.approx(1, rel=1e-6)
    spent = sum(often * problem.regret(matching) for matching, often in bound.exploration)
    assert spent == pytest.approx(bound.certified)
    assert all(len(matching) == min(problem.sides) for matching, _ in bound.exploration)


def test_the_scale_between_the_sides_does_not_matter():
    rows, columns = np.array([0.9, 0.6, 0.3]), np.array([0.4, 0.25, 0.1])
    one, other = case(rows, columns)[1], case(rows / 2, columns * 2)[1]
    assert one.constant == pytest.approx(other.constant, rel=1e-6)


def test_rows_and_columns_are_alike():
    rows, columns = [0.9, 0.6, 0.3, 0.1], [0.7, 0.4]
    assert case(rows, columns)[1].constant == pytest.approx(case(columns, rows)[1].constant)


@pytest.mark.parametrize(
    ("rows", "columns", "reason"),
    [
        ([0.5, 0.5], [0.9, 0.8, 0.1], "several matchings"),
        ([0.9, 0.8, 0.8], [0.9, 0.8], "several matchings"),
        ([0.9, 0.8, 0.7], [0.9, 0.0], "several matchings"),
    ],
)
def test_the_constant_is_nan_where_several_matchings_are_the_best(rows, columns, reason):
    _, bound = case(rows, columns)
    assert math.isnan(bound.constant)
    assert reason in bound.reason


@pytest.mark.parametrize(
    ("rows", "columns", "reason"),
    [
        ([0.5, 0.5], [0.9, 0.1], "equally good"),
        ([0.9, 0.1], [0.5, 0.5], "equally good"),
        ([0.5, 0.5, 0.5], [0.9, 0.1], "equally good"),
        ([0.9, 0.1], [0.5], ""),
        ([1.0, 0.1], [1.0, 0.5], "nothing need be explored"),
    ],
)
def test_problems_on_which_nothing_or_something_need_be_lost(rows, columns, reason):
    _, bound = case(rows, columns)
    assert reason in bound.reason
    assert (bound.constant == 0) == bool(reason)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        ([0.9, 0.6, 0.0], [0.7, 0.4, 0.1]),
        ([0.9, 0.6, 0.2], [0.7, 0.4, 0.0]),
        ([0.9, 0.6, 0.0], [0.7, 0.4, 0.0]),
        ([0.9, 0.6, 0.0], [0.7, 0.4]),
    ],
    ids=str,
)
def test_players_who_never_accept_are_the_end_of_those_who_rarely_do(rows, columns):
    # A rate of 0 is free where its partner's is, so that the limit does not jump.
    near = [[max(rate, 1e-7) for rate in side] for side in (rows, columns)]
    assert case(rows, columns)[1].constant == pytest.approx(case(*near)[1].constant, rel=1e-3)


def test_only_players_of_one_side_compete_and_those_who_wait_overtake():
    rates = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    found = ConfusingRates(Places.on_two_sides(rates, np.arange(3), np.arange(3, 5)))
    players = found.places.players
    pairs = players[np.stack([found.better, found.worse], axis=1)].tolist()
    assert sorted(pairs) == [[0, 1], [0, 2], [1, 2], [3, 4]]
    cross = players[np.stack([found.first, found.second], axis=1)].tolist()
    met = {frozenset(couple) for couple in cross}
    real = {couple for couple in met if max(couple) < 5}
    assert real == {frozenset(each) for each in itertools.product(range(3), (3, 4))} - {
        frozenset((0, 3)),
        frozenset((1, 4)),
    }
