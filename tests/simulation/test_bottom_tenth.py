"""The bottom tenth: what a policy leaves to the players who are least likely to play."""

import numpy as np
import pytest

from pairup import Oracle, Problem, Uniform, simulate
from pairup.simulation.bottom_tenth import measure_bottom_tenth

RATES = [0.9, 0.8, 0.7, 0.4, 0.2]
TABLE = [[0.0, 0.5, 0.6, 0.7], [0.5, 0.0, 0.5, 0.5], [0.6, 0.5, 0.0, 0.1], [0.7, 0.5, 0.1, 0.0]]


def paired_at_random(chances, allowed, draw, times=4_000):
    """Games of each player if couples are taken in a random order, by trying it."""
    players, games = len(chances), np.zeros(len(chances))
    couples = [(i, j) for i in range(players) for j in range(i) if allowed[i, j]]
    for _ in range(times):
        free = np.ones(players, bool)
        for k in draw.permutation(len(couples)):
            i, j = couples[k]
            if free[i] and free[j]:
                free[[i, j]] = False
                games[[i, j]] += chances[i, j] / times
    return games


@pytest.mark.parametrize(
    ("problem", "games"),
    [
        (Problem(RATES), 0.0),  # the worst of five waits
        (Problem(RATES[:4]), 0.7 * 0.4),
        (Problem.two_sided([0.9, 0.5], [0.8, 0.4, 0.1]), 0.0),
        (Problem(RATES[:4], allowed=[(0, 3), (1, 2), (0, 1)]), 0.9 * 0.4),
        (Problem.from_matrix(TABLE), 0.5),
    ],
    ids=["odd", "even", "sides", "graph", "couples"],
)
def test_the_bottom_tenth_is_that_of_the_best_matching(problem, games):
    measured = measure_bottom_tenth(problem, Oracle(), rounds=30)
    chances = problem.couple_rates
    allowed = ~np.isnan(chances) & ~np.eye(problem.players, dtype=bool)
    if problem.graph is not None:
        allowed &= ~np.isnan(problem.graph.worth_table())
    if problem.sides is not None:
        rows = np.arange(problem.players) < problem.sides[0]
        allowed &= rows[:, None] != rows[None, :]
    random = paired_at_random(chances, allowed, np.random.default_rng(0))
    assert measured.at_random == pytest.approx(random.min(), abs=0.05)
    assert measured.games == pytest.approx(games)
    assert measured.share == pytest.approx(measured.games / measured.at_random)


def test_random_pairing_leaves_the_bottom_tenth_what_it_has():
    measured = measure_bottom_tenth(Problem(RATES), Uniform(), rounds=20_000)
    assert 0.8 < measured.share < 1.2


def test_a_run_measures_its_own_bottom_tenth():
    problem = Problem(RATES)
    run = simulate(problem, Uniform(), rounds=50, replications=2, seed=3)
    assert run.bottom_tenth() == measure_bottom_tenth(problem, Uniform(), 50, seed=3)


def test_rates_that_change_count_as_they_are_in_the_second_half():
    early, late = Problem([0.9, 0.8, 0.2, 0.1]), Problem([0.4, 0.5, 0.6, 0.6])
    problem = Problem.piecewise([0, 20], [early, late])
    measured = measure_bottom_tenth(problem, Oracle(), rounds=40)
    assert measured == pytest.approx(measure_bottom_tenth(late, Oracle(), rounds=40))
    assert measured != pytest.approx(measure_bottom_tenth(early, Oracle(), rounds=40))
