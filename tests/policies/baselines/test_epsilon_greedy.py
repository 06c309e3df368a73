from functools import partial

import numpy as np
import pytest

from pairup import EpsilonGreedy, Problem, Uniform, simulate
from tests.support.twins import epsilon_greedy as naive_epsilon_greedy
from tests.support.twins.duel import Duel, policy_key
from tests.support.twins.rate_families import FAMILIES

OPTIONS = [("decaying", 4.0), ("constant", 0.3), ("constant", 1.0)]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def duel(options, rates, seed):
    schedule, epsilon = options
    twin = partial(naive_epsilon_greedy.EpsilonGreedy, schedule=schedule, epsilon=epsilon)
    return Duel(EpsilonGreedy(schedule, epsilon), twin(len(rates), policy_key(seed)), rates, seed)


@every_option
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin_step_for_step(options, family):
    for n in range(2, 13):
        played = duel(options, FAMILIES[family](n), seed=n).play(100)
        assert played.twin.explored > 10


@every_option
@pytest.mark.parametrize("n", [7, 8])
def test_equals_its_twin_when_the_available_players_change(options, n):
    duel(options, FAMILIES["random"](n), seed=n).play_with_some_players(80)


@every_option
def test_equals_its_twin_when_outcomes_come_late_and_in_any_order(options):
    duel(options, FAMILIES["tied"](7), seed=2).play_late(200)


def test_equals_its_twin_with_room_for_more_players():
    both = duel(OPTIONS[0], FAMILIES["random"](9), seed=4)
    for present in ([0, 2, 3, 5, 8], [1, 2, 3, 5, 6, 8]):
        both.set_present(present)
        both.play(60)


def test_explores_as_often_as_it_says():
    decaying = duel(("decaying", 2.0), [0.5] * 4, seed=0).play(1000)
    expected = 6 + sum(6 / t for t in range(7, 1001))
    assert abs(decaying.twin.explored - expected) < 4 * np.sqrt(expected)


def test_always_exploring_loses_what_random_matchings_lose():
    problem = Problem.around(0.5, 4, 0.1)
    policies = EpsilonGreedy("constant", 1.0), Uniform()
    explored, drawn = (simulate(problem, each, 5_000, 10).mean()[-1] for each in policies)
    assert explored == pytest.approx(drawn, rel=0.02)


def test_decaying_exploration_loses_less_and_less():
    # By 2,000 rounds a random matching costs 0.0571 a round, and later rounds hardly explore.
    problem = Problem.around(0.5, 4, 0.1)
    run = simulate(problem, EpsilonGreedy(epsilon=100), rounds=100_000, replications=10, seed=0)
    assert run.mean()[-1] < 0.1 * 100_000 * 0.0571
    early, late = run.regret[:, np.searchsorted(run.rounds, [1_000, 100_000])].T
    assert early.mean() / 1_000 > 5 * (late - early).mean() / 99_000
