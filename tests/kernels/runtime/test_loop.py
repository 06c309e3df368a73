"""The loop against single steps, whose slow twins the tests of each policy are."""

from itertools import product

import numpy as np
import pytest

from pairup import SAM, Oracle, Problem, Uniform, Unimodal, simulate
from pairup.kernels.runtime.dispatch import FULL, OK, set_available_step
from pairup.kernels.runtime.loop import World, accept, new_tally, play
from pairup.policies.base import StartContext
from tests.support.twins import unimodal_and_sam as naive
from tests.support.twins.compiled import Compiled
from tests.support.twins.rate_families import FAMILIES

ROUNDS = 300
POLICIES = [
    *(
        Unimodal(*options)
        for options in product(("players", "matchings"), ("kl", "ucb"), ("leader", "round"))
    ),
    SAM(),
    SAM(horizon=5),
    Uniform(),
    Oracle(),
]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def world(rates, key):
    best = sum(rates[i] * rates[j] for i, j in naive.Oracle(rates).propose())
    return World(np.array(rates), np.array([key], np.uint64), np.array([best]))


def start(policy, rates, key):
    present = np.arange(len(rates))
    state = policy.start(StartContext(len(rates), np.uint64(key), ROUNDS, np.array(rates)))
    policy.set_present(state, present)
    set_available_step(state, present)
    return state


@every_policy
@pytest.mark.parametrize("n", [4, 7])
def test_the_loop_equals_single_steps(policy, n):
    rates = FAMILIES["random"](n)
    compiled = Compiled(policy, n, 11, ROUNDS, rates)
    regret, games, matchings = naive.play(compiled, rates, 12, ROUNDS)
    state, tally = start(policy, rates, 11), new_tally(n)
    for until in (1, 2, 50, 51, ROUNDS):
        while (status := play(state, world(rates, 12), tally, until)) == FULL:
            state = policy.grow(state)
        assert status == OK
        assert tally.round[0] == until
        assert sorted(map(tuple, tally.couples.tolist())) == matchings[until - 1]
    assert tally.games[0] == games
    assert tally.regret[0] == pytest.approx(regret, rel=0, abs=1e-9)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_acceptances_equal_their_twins(n):
    rates = FAMILIES["zeros and ones"](n)[: n // 2] + FAMILIES["random"](n)[n // 2 :]
    accepted = np.zeros(n, np.bool_)
    for round in (*range(200), 10**9):
        accept(world(rates, 2**64 - 5), round, accepted)
        assert accepted.tolist() == naive.accepts(2**64 - 5, rates, round)


def test_a_draw_that_equals_the_rate_declines():
    rates = [(naive.word(3, i) >> 11) / 2**53 for i in range(2)]
    accepted = np.ones(2, np.bool_)
    accept(world(rates, 3), 0, accepted)
    assert accepted.tolist() == naive.accepts(3, rates, 0) == [False, False]


def test_players_accept_as_often_as_their_rates_say():
    rates = [0.0, 0.1, 0.5, 0.9, 1.0]
    accepted, total = np.zeros(5, np.bool_), np.zeros(5)
    for round in range(10_000):
        accept(world(rates, 7), round, accepted)
        total += accepted
    assert total[0] == 0
    assert total[-1] == 10_000
    assert np.allclose(total / 10_000, rates, atol=0.025)  # five standard deviations


def test_the_best_matching_costs_no_regret_at_all():
    rates = [0.1 * i for i in range(10)]
    tally = new_tally(10)
    assert play(start(Oracle(), rates, 0), world(rates, 0), tally, 1000) == OK
    assert tally.regret[0] == 0.0


def test_the_smallest_gaps_add_up():
    rates = [0.5, 0.500001, 0.500002, 0.500003]
    regret, _, _ = naive.play(Compiled(Uniform(), 4, 1), rates, 2, 1000)
    tally = new_tally(4)
    assert play(start(Uniform(), rates, 1), world(rates, 2), tally, 1000) == OK
    assert tally.regret[0] == pytest.approx(regret, rel=1e-3)
    assert regret > 1e-9


@every_policy
@pytest.mark.parametrize("n", [5, 6])
def test_a_simulation_equals_single_steps(policy, n):
    problem = Problem(FAMILIES["tied"](n))
    run = simulate(
        problem, policy, ROUNDS, replications=range(3, 5), seed=9, checkpoints=[7, ROUNDS]
    )
    for row, replication in enumerate((3, 4)):
        keys = [naive.stream_key(9, replication, purpose) for purpose in range(3)]
        labels = naive.shuffled(keys[naive.LABELS], range(n))
        rates = [float(problem.rates[label]) for label in labels]
        for column, rounds in enumerate((7, ROUNDS)):
            compiled = Compiled(policy, n, keys[naive.POLICY], ROUNDS, rates)
            regret, games, _ = naive.play(compiled, rates, keys[naive.ACCEPTANCES], rounds)
            assert run.games[row, column] == games
            assert run.regret[row, column] == pytest.approx(regret, rel=0, abs=1e-9)
