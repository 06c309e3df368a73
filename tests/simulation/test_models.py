"""Problems beyond products of fixed rates: couples with rates of their own, rates that change."""

import gymnasium
import numpy as np
import pytest

from pairup import (
    Oracle,
    Problem,
    RankOneThompson,
    Uniform,
    Unimodal,
    get_policy,
    policy_names,
    simulate,
)
from pairup.simulation.environment import MatchingEnvironment
from tests.support.twins import loop as naive_loop
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled

RATES = [0.9, 0.8, 0.6, 0.5, 0.2]
PRODUCTS = Problem(RATES)
CYCLE = Problem.from_matrix(  # nobody is the best: each player has one good partner
    [
        [0, 0.1, 0.2, 0.9, 0.1],
        [0.1, 0, 0.8, 0.2, 0.3],
        [0.2, 0.8, 0, 0.1, 0.4],
        [0.9, 0.2, 0.1, 0, 0.5],
        [0.1, 0.3, 0.4, 0.5, 0],
    ]
)
ON_ONE_SIDE = [name for name in policy_names() if not get_policy(name).needs_sides]


def assert_same(one, other):
    assert np.array_equal(one.regret, other.regret)
    assert np.array_equal(one.games, other.games)


# --- couples with rates of their own -------------------------------------------------------------


def test_a_matrix_is_played_as_its_twin_says():
    problem, rounds = CYCLE, 200
    run = simulate(problem, Uniform(), rounds, range(3, 5), seed=9, checkpoints=[7])
    for row, number in enumerate((3, 4)):
        keys = [streams.stream_key(9, number, purpose) for purpose in range(3)]
        labels = streams.shuffled(keys[streams.LABELS], range(problem.players))
        rates = problem.couple_rates[np.ix_(labels, labels)].tolist()
        twin = Compiled(Uniform(), problem.players, keys[streams.POLICY], rounds)
        regret, games = np.zeros(rounds), np.zeros(rounds, np.int64)
        for round in range(rounds):
            couples = twin.propose()
            expected = sum(rates[i][j] for i, j in couples)
            regret[round] = problem.best_games - expected
            games[round] = sum(
                naive_loop.plays(keys[streams.ACCEPTANCES], rates, round, each) for each in couples
            )
        assert run.games[row].tolist() == [games[:7].sum(), games.sum()]
        assert run.regret[row] == pytest.approx([regret[:7].sum(), regret.sum()])


def test_a_matrix_of_products_has_the_law_of_the_rates():
    twin = Problem.from_matrix(PRODUCTS.couple_rates)
    plain, drawn = (simulate(each, Uniform(), 20_000, 4) for each in (PRODUCTS, twin))
    assert drawn.regret == pytest.approx(plain.regret)  # the same proposals
    difference = plain.games[:, -1].mean() - drawn.games[:, -1].mean()
    assert 0 < abs(difference) < 5 * np.sqrt(2 * 2 * 0.25 * 20_000 / 4)
    learnt = [
        simulate(each, RankOneThompson(), 2_000, 60).regret[:, -1] for each in (PRODUCTS, twin)
    ]
    error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in learnt))
    assert abs(learnt[0].mean() - learnt[1].mean()) < 4 * error


def test_the_oracle_loses_nothing_on_a_matrix_and_others_lose():
    assert (simulate(CYCLE, Oracle(), 100, 5).regret == 0).all()
    assert simulate(CYCLE, Uniform(), 100, 5).mean()[-1] > 50
    games = simulate(CYCLE, Oracle(), 20_000, 2).games[:, -1] / 20_000
    assert games == pytest.approx(CYCLE.best_games, abs=0.025)


def test_a_couple_plays_or_not_whatever_is_proposed_beside_it():
    problem = Problem.from_matrix(np.full((6, 6), 0.5))
    matchings = [[(0, 1), (2, 3), (4, 5)], [(0, 1), (2, 4), (3, 5)], [(0, 1), (2, 5), (3, 4)]]
    shown = []
    for matching in matchings:
        env = MatchingEnvironment(problem, rounds=50)
        env.reset(seed=4)
        shown.append([int(env.step(env.encode(matching))[0][0]) for _ in range(50)])
    assert shown[0] == shown[1] == shown[2]
    assert 10 < sum(shown[0]) < 40


# --- rates that change ---------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [Unimodal(), Oracle()], ids=str)
def test_equal_pieces_change_nothing_bit_for_bit(policy):
    pieces = Problem.piecewise([0, 1, 100, 333], [RATES] * 4)
    checkpoints = [1, 50, 100, 101, 400]
    runs = [simulate(each, policy, 500, 3, 7, checkpoints) for each in (PRODUCTS, pieces)]
    assert_same(*runs)


def test_the_first_piece_is_the_plain_problem_bit_for_bit():
    changed = Problem.piecewise([0, 200], [RATES, RATES[::-1]])
    runs = [simulate(each, Unimodal(), 400, 3, 7, [200]) for each in (PRODUCTS, changed)]
    assert np.array_equal(runs[0].regret[:, 0], runs[1].regret[:, 0])
    assert not np.array_equal(runs[0].regret[:, 1], runs[1].regret[:, 1])


def test_regret_is_counted_against_the_best_matching_of_the_moment():
    """Two players who always play, two who never do; then one of each changes places."""
    problem = Problem.piecewise([0, 30], [[1, 1, 0, 0], [1, 0, 1, 0]])
    run = simulate(problem, Oracle(), 50, 4, checkpoints=[30])
    assert (run.regret == 0).all()
    assert (run.games == [30, 50]).all()
    env = MatchingEnvironment(problem, rounds=50)
    env.reset(seed=1)
    regrets = []
    for _ in range(50):
        # The matching that was the best before the change, by labels that are shuffled.
        rates = env._replications[0].rates
        best = np.argsort(-rates, kind="stable").reshape(-1, 2)
        regrets.append(env.step(env.encode(best.tolist()))[4]["regret"])
    assert regrets == [0.0] * 30 + [1.0] * 20


def test_pieces_of_both_kinds_follow_each_other():
    problem = Problem.piecewise([0, 10], [RATES, CYCLE])
    run = simulate(problem, Oracle(), 400, 3, checkpoints=[10])
    plain = simulate(PRODUCTS, Oracle(), 10, 3)
    assert (run.regret == 0).all()
    assert np.array_equal(run.games[:, 0], plain.games[:, -1])
    assert (run.games[:, 1] - run.games[:, 0]).mean() == pytest.approx(390 * 1.7, rel=0.1)


@pytest.mark.parametrize(
    "name", [each for each in policy_names() if not get_policy(each).needs_sides]
)
def test_every_policy_plays_what_is_beyond_its_model(name):
    problem = Problem.piecewise([0, 60], [CYCLE, RATES])
    run = simulate(problem, get_policy(name), 200, 2, checkpoints=[60])
    most = 60 * CYCLE.best_games, 60 * CYCLE.best_games + 140 * PRODUCTS.best_games
    assert (run.regret >= 0).all()
    assert (run.regret < most).all()
    assert (run.games <= [120, 400]).all()


# --- the environment -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "problem", [CYCLE, Problem.piecewise([0, 60], [RATES, CYCLE])], ids=["matrix", "piecewise"]
)
def test_an_agent_gets_what_the_simulator_gives(problem):
    env = gymnasium.make("pairup/Matching-v0", problem=problem, rounds=150)
    env.reset(seed=7)
    learner, regret, games, truncated = Unimodal().learner(range(5), seed=7), 0.0, 0.0, False
    while not truncated:
        matching = learner.propose()
        played, reward, _, truncated, info = env.step(env.unwrapped.encode(matching))
        learner.observe(matching, [bool(played[i]) for i, _ in matching])
        regret += info["regret"]
        games += reward
    run = simulate(problem, Unimodal(), 150, 1, seed=7)
    assert regret == pytest.approx(run.regret[0, -1])
    assert games == run.games[0, -1]
