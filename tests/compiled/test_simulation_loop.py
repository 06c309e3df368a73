"""The loop against single steps, whose slow twins the tests of each policy are."""

from itertools import product

import numpy as np
import pytest

from pairup import SAM, Oracle, Problem, Uniform, Unimodal, simulate
from pairup.compiled.simulation_loop import (
    NO_RATES,
    Replication,
    accept,
    new_totals,
    play_by_couple_rates,
    play_rounds,
)
from pairup.compiled.state_fields import new_state
from pairup.compiled.steps import OK, set_available_step
from pairup.policies.contract import Interruptions, StartContext
from tests.support.twins import loop as naive_loop
from tests.support.twins import oracle as naive_oracle
from tests.support.twins import streams
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


def replication(rates, key):
    best = sum(rates[i] * rates[j] for i, j in naive_oracle.Oracle(rates).propose())
    given = {"rates": np.array(rates), "best_games": np.array([best])}
    return new_state(Replication, NO_RATES, key=np.array([key], np.uint64), **given)


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
    regret, games, matchings = naive_loop.play_rounds(compiled, rates, 12, ROUNDS)
    state, totals = start(policy, rates, 11), new_totals(n)
    for until in (1, 2, 50, 51, ROUNDS):
        interruptions, game = Interruptions(policy), replication(rates, 12)
        while interruptions.is_one(status := play_rounds(state, game, totals, until)):
            state = interruptions.resolved(state, status, totals.round[0])
        assert status == OK
        assert totals.round[0] == until
        assert sorted(map(tuple, totals.couples.tolist())) == matchings[until - 1]
    assert totals.games[0] == games
    assert totals.regret[0] == pytest.approx(regret, rel=0, abs=1e-9)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_acceptances_equal_their_twins(n):
    rates = FAMILIES["zeros and ones"](n)[: n // 2] + FAMILIES["random"](n)[n // 2 :]
    accepted = np.zeros(n, np.bool_)
    for round in (*range(200), 10**9):
        accept(replication(rates, 2**64 - 5), round, accepted)
        assert accepted.tolist() == naive_loop.accepts(2**64 - 5, rates, round)


def test_a_draw_that_equals_the_rate_declines():
    rates = [(streams.word(3, i) >> 11) / 2**53 for i in range(2)]
    accepted = np.ones(2, np.bool_)
    accept(replication(rates, 3), 0, accepted)
    assert accepted.tolist() == naive_loop.accepts(3, rates, 0) == [False, False]


def test_players_accept_as_often_as_their_rates_say():
    rates = [0.0, 0.1, 0.5, 0.9, 1.0]
    accepted, total = np.zeros(5, np.bool_), np.zeros(5)
    for round in range(10_000):
        accept(replication(rates, 7), round, accepted)
        total += accepted
    assert total[0] == 0
    assert total[-1] == 10_000
    assert np.allclose(total / 10_000, rates, atol=0.025)  # five standard deviations


def couple_replication(couple_rates, key, best_games=0.0):
    given = {"couple_rates": np.array(couple_rates), "best_games": np.array([best_games])}
    return new_state(Replication, NO_RATES, key=np.array([key], np.uint64), **given)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_couples_with_rates_of_their_own_equal_their_twins(n):
    drawn = np.random.default_rng(n).random((n, n)).round(1)  # some of them 0 or 1
    rates = np.triu(drawn, 1) + np.triu(drawn, 1).T
    key, played = 2**64 - 5, np.zeros(n // 2, np.bool_)
    for round in (*range(200), 10**9):
        players = np.random.default_rng(round).permutation(n)[: 2 * (n // 2)]
        couples = np.sort(players.reshape(-1, 2), axis=1)
        games, expected = play_by_couple_rates(
            couple_replication(rates, key), round, couples, played
        )
        assert played.tolist() == [
            naive_loop.plays(key, rates, round, each) for each in couples.tolist()
        ]
        assert games == played.sum()
        assert expected == pytest.approx(sum(rates[i, j] for i, j in couples))


def test_couples_play_as_often_as_their_rates_say_and_apart_from_each_other():
    rates = np.array([[0, 0.3, 0, 0], [0.3, 0, 0, 0], [0, 0, 0, 0.6], [0, 0, 0.6, 0]])
    couples, played = np.array([[0, 1], [2, 3]]), np.zeros((10_000, 2), np.bool_)
    for round in range(len(played)):
        play_by_couple_rates(couple_replication(rates, 7), round, couples, played[round])
    shares = played.mean(axis=0)
    assert np.allclose(shares, [0.3, 0.6], atol=0.025)  # five standard deviations
    assert played.all(axis=1).mean() == pytest.approx(0.3 * 0.6, abs=0.02)


def test_the_loop_plays_couples_with_rates_of_their_own():
    rates = np.array(
        [[0, 0.1, 0.5, 0.9], [0.1, 0, 0.4, 0.3], [0.5, 0.4, 0, 0.2], [0.9, 0.3, 0.2, 0]]
    )
    state, totals = start(Uniform(), [0.5] * 4, 1), new_totals(4)
    twin = Compiled(Uniform(), 4, 1)
    regret, games = 0.0, 0
    for round in range(ROUNDS):
        matching = twin.propose()
        regret += 1.3 - sum(rates[i, j] for i, j in matching)
        games += sum(naive_loop.plays(3, rates, round, couple) for couple in matching)
    assert play_rounds(state, couple_replication(rates, 3, 1.3), totals, ROUNDS) == OK
    assert totals.games[0] == games
    assert totals.regret[0] == pytest.approx(regret)


def test_the_best_matching_costs_no_regret_at_all():
    rates = [0.1 * i for i in range(10)]
    totals = new_totals(10)
    assert play_rounds(start(Oracle(), rates, 0), replication(rates, 0), totals, 1000) == OK
    assert totals.regret[0] == 0.0


def test_the_smallest_gaps_add_up():
    rates = [0.5, 0.500001, 0.500002, 0.500003]
    regret, _, _ = naive_loop.play_rounds(Compiled(Uniform(), 4, 1), rates, 2, 1000)
    totals = new_totals(4)
    assert play_rounds(start(Uniform(), rates, 1), replication(rates, 2), totals, 1000) == OK
    assert totals.regret[0] == pytest.approx(regret, rel=1e-3)
    assert regret > 1e-9


@every_policy
@pytest.mark.parametrize("n", [5, 6])
def test_a_simulation_equals_single_steps(policy, n):
    problem = Problem(FAMILIES["tied"](n))
    run = simulate(
        problem, policy, ROUNDS, replications=range(3, 5), seed=9, checkpoints=[7, ROUNDS]
    )
    for row, replication in enumerate((3, 4)):
        keys = [streams.stream_key(9, replication, purpose) for purpose in range(3)]
        labels = streams.shuffled(keys[streams.LABELS], range(n))
        rates = [float(problem.rates[label]) for label in labels]
        for column, rounds in enumerate((7, ROUNDS)):
            compiled = Compiled(policy, n, keys[streams.POLICY], ROUNDS, rates)
            regret, games, _ = naive_loop.play_rounds(
                compiled, rates, keys[streams.ACCEPTANCES], rounds
            )
            assert run.games[row, column] == games
            assert run.regret[row, column] == pytest.approx(regret, rel=0, abs=1e-9)
