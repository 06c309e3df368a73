"""PMED: estimates, what is missing, plans, rounds, and how near it comes to the limit."""

import dataclasses
import math

import numpy as np
import pytest

from pairup import PMED, Matching, PolicyError, Problem, SavingError, bounds, simulate
from pairup.bounds.exploration import MissingExploration
from pairup.bounds.places import Places
from pairup.learning.learner import Learner
from pairup.policies.pmed.exploration_plan import leader_of, make_plan
from pairup.policies.pmed.fitted_rates import fit_rates
from tests.support.twins import pmed as naive_pmed
from tests.support.twins.duel import Duel
from tests.support.twins.rate_families import FAMILIES

SIDES = np.array([False, False, False, True, True])
PROBLEMS = {
    "one side": Problem([0.8, 0.7, 0.5, 0.4, 0.2]),
    "around": Problem.around(0.5, 3, 0.1),
    "two sides": Problem.two_sided([0.9, 0.6, 0.3], [0.8, 0.5]),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def places_of(problem):
    if problem.sides is None:
        return Places.on_one_side(problem.rates)
    rows, columns = np.split(np.arange(problem.players), problem.sides[:1])
    return Places.on_two_sides(problem.rates, rows, columns)


def tries_of(problem, exploration):
    tries = np.zeros((problem.players, problem.players))
    for matching, often in exploration:
        for i, j in matching:
            tries[i, j] += often
            tries[j, i] += often
    return tries


def spent(problem, exploration):
    return sum(often * problem.regret(matching) for matching, often in exploration)


@pytest.mark.parametrize("seed", range(4))
def test_fitted_rates_equal_those_of_a_generic_solver(seed):
    rng = np.random.default_rng(seed)
    tries = np.triu(rng.integers(0, 200, (5, 5)) * rng.integers(0, 2, (5, 5)), 1)
    games = rng.binomial(tries, rng.choice([0.0, 0.3, 1.0], (5, 5)))
    fitted = fit_rates(tries, games).rates
    np.testing.assert_allclose(fitted, naive_pmed.most_likely(tries, games), atol=2e-4)


def test_fitted_rates_come_near_the_true_ones_within_their_deviations():
    rates, rng = np.array([0.9, 0.7, 0.5, 0.2, 0.0]), np.random.default_rng(5)
    tries = np.triu(np.full((5, 5), 20_000), 1)
    fitted = fit_rates(tries, rng.binomial(tries, np.outer(rates, rates)))
    assert np.all(np.abs(fitted.rates - rates) < 4 * fitted.deviations + 1e-4)
    assert np.all(fitted.deviations < 0.02)
    nothing = fit_rates(np.zeros((3, 3), int), np.zeros((3, 3), int))
    np.testing.assert_allclose(nothing.rates, 0.5)


@every_problem
def test_from_nothing_the_missing_exploration_is_that_of_the_limit(problem):
    bound = bounds.lower(problem)
    missing = MissingExploration(places_of(problem), np.zeros((problem.players,) * 2))
    assert missing.gathered == 0
    assert spent(problem, missing.complete(7.0)) == pytest.approx(7 * bound.constant, rel=0.02)


@every_problem
def test_half_of_the_exploration_tells_half_and_misses_half(problem):
    bound = bounds.lower(problem)
    half = tries_of(problem, bound.exploration) * 5
    missing = MissingExploration(places_of(problem), half)
    assert missing.gathered == pytest.approx(5, rel=1e-6)
    completed = missing.complete(10.0)
    assert spent(problem, completed) == pytest.approx(5 * bound.constant, rel=0.02)
    after = MissingExploration(places_of(problem), half + tries_of(problem, completed))
    assert after.gathered == pytest.approx(10, rel=0.01)


def test_a_plan_tries_rare_couples_first():
    tries = np.full((5, 5), 2)
    tries[0, 1] = tries[1, 0] = tries[2, 3] = tries[3, 2] = 0
    plan = make_plan(np.linspace(0.9, 0.1, 5), tries, round=50)  # sqrt(ln 50) is 1.98
    assert plan.exploration == [(Matching([(0, 1), (2, 3)], [4]), 1)]
    sided = make_plan(np.full(5, 0.5), tries, 50, columns=SIDES)
    assert (2, 3) in sided.exploration[0][0]
    assert all(SIDES[i] != SIDES[j] for matching, _ in sided.exploration for i, j in matching)
    first = make_plan(np.full(6, 0.5), np.zeros((6, 6), int), round=2)
    met = [couple for matching, _ in first.exploration for couple in matching]
    assert len(set(met)) == 15


@every_problem
def test_a_plan_trusts_the_leader_for_as_long_as_the_information_suffices(problem):
    columns = None if problem.sides is None else np.arange(problem.players) >= problem.sides[0]
    tries = tries_of(problem, bounds.lower(problem).exploration) * math.log(1_500)
    tries = np.maximum(tries, 5).round().astype(int)
    plan = make_plan(problem.rates, tries, 1_000, columns)
    assert plan.leader == problem.optimum
    assert not plan.exploration
    assert plan.last_round in range(1_400, 1_900)
    later = make_plan(problem.rates, tries, 2_500, columns)
    assert later.last_round == 0
    assert later.exploration
    assert all(often <= 8 + 0.01 * tries.sum() for _, often in later.exploration)
    hasty = make_plan(problem.rates, tries, 2_500, columns, in_haste=True)
    assert (hasty.leader, hasty.exploration, hasty.last_round) == (problem.optimum, [], 2_500)


@pytest.mark.parametrize("columns", [None, SIDES], ids=["one side", "two sides"])
def test_a_plan_is_made_for_equal_and_extreme_rates(columns):
    for rates in ([0.5] * 5, [1e-12] * 5, [1 - 1e-12] * 5, [1 - 1e-9, 0.5, 0.5, 1e-9, 1e-9]):
        plan = make_plan(np.array(rates), np.full((5, 5), 4), 3_000, columns)
        assert len(plan.leader) == 2
        least = min((often for _, often in plan.exploration), default=0)
        assert plan.last_round >= 3_000 or least > 0  # the leader is trusted, or others explored


def test_the_leader_couples_the_best():
    assert leader_of(np.array([0.1, 0.9, 0.8, 0.3])) == Matching([(1, 2), (0, 3)])
    rates = np.array([0.1, 0.9, 0.8, 0.3, 0.4])
    assert leader_of(rates, SIDES) == Matching([(1, 4), (2, 3)], [0])


@pytest.mark.parametrize("n", [2, 5, 6])
def test_equals_its_twin_step_for_step(n):
    Duel(PMED(), naive_pmed.PMED(n), FAMILIES["random"](n), seed=n).play(150)


def test_equals_its_twin_when_the_available_players_change():
    Duel(PMED(), naive_pmed.PMED(6), FAMILIES["random"](6), seed=1).play_with_some_players(25)


def test_equals_its_twin_when_outcomes_come_late_and_in_any_order():
    Duel(PMED(), naive_pmed.PMED(5), FAMILIES["tied"](5), seed=2).play_late(80)


def test_its_regret_falls_towards_the_limit():
    problem = Problem([0.7, 0.7, 0.4, 0.4])
    run = simulate(problem, PMED(), 300_000, 8, checkpoints=[10_000, 300_000])
    early, late = run.mean() / bounds.lower(problem).regret([10_000, 300_000])
    assert 0.7 < late < early < 3


def test_on_two_sides_it_couples_rows_with_columns():
    problem = Problem.two_sided([0.9, 0.6, 0.3], [0.8, 0.2])
    run = simulate(problem, PMED(), 20_000, 4, checkpoints=[1_000, 20_000])
    limit = bounds.lower(problem).regret([1_000, 20_000])
    assert np.all(run.mean() < 4 * limit)
    assert np.all(np.diff(run.regret, axis=1) < 2 * limit[1])


def test_too_many_players_and_other_graphs_are_refused():
    with pytest.raises(PolicyError, match="at most 40 players, got 41: take RankOneThompson"):
        PMED().learner(range(41))
    with pytest.raises(PolicyError, match="complete graphs"):
        simulate(Problem.line(6, 0.3), PMED(), 10, 1)


def test_a_damaged_plan_is_refused():
    learner = PMED().learner("abcde")
    for _ in range(20):
        matching = learner.propose()
        learner.observe(matching, [True] * len(matching))
    running = learner._running
    arrays = PMED().saved(running.state)
    for name, change in {
        "state.planned_for": lambda a: ~a,
        "state.plays": lambda a: a + 1,
        "state.matchings": lambda a: np.zeros_like(a),
    }.items():
        state = running._started(5)
        with pytest.raises(SavingError, match="its plan"):
            PMED().load(state, arrays | {name: change(arrays[name])})
    assert Learner.from_bytes(learner.to_bytes()).propose() == learner.propose()
    assert dataclasses.fields(PMED()) == ()
