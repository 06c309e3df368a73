from collections import Counter

import pytest

from pairup import Learner, Matching, Oracle, Problem, Uniform, simulate

RATES = (0.3, 0.9, 0.1, 0.8, 0.5)


def test_uniform_proposes_each_matching_alike():
    learner = Uniform().learner("abcd")
    seen = Counter(learner.propose() for _ in range(3_000))
    assert len(seen) == 3
    assert all(900 < count < 1_100 for count in seen.values())


def test_the_one_who_waits_is_anyone():
    learner = Uniform().learner("abc")
    seen = Counter(learner.propose().waiting for _ in range(3_000))
    assert len(seen) == 3
    assert all(900 < count < 1_100 for count in seen.values())


def test_uniform_loses_what_chance_loses():
    run = simulate(Problem([1, 1, 0, 0]), Uniform(), 30_000, 4)
    assert run.mean()[-1] == pytest.approx(20_000, rel=0.02)


def test_oracle_proposes_the_optimum():
    learner = Oracle(rates=RATES).learner("abcde")
    assert learner.propose() == learner.leader == Matching([("b", "d"), ("a", "e")], ["c"])
    assert learner.propose(["a", "c", "d", "e"]) == Matching([("d", "e"), ("a", "c")])


@pytest.mark.parametrize("players", [2, 3, 10, 13])
def test_oracle_loses_nothing(players):
    run = simulate(Problem.random(players, seed=1), Oracle(), 200, 5)
    assert (run.regret == 0).all()


def test_a_simulation_tells_the_oracle_its_own_rates():
    problem = Problem(RATES)
    run = simulate(problem, Oracle(rates=problem.rates), 50, 5)  # labels are shuffled
    assert (run.regret == 0).all()


def test_who_is_new_ranks_last():
    learner = Oracle(rates=(0.9, 0.8, 0.2, 0.1)).learner("abcd")
    learner.leave("a")
    learner.join("x")
    for _ in range(2):
        assert learner.propose() == Matching([("b", "c"), ("d", "x")])
        learner = Learner.from_bytes(learner.to_bytes())
    learner.join("y")
    learner.join("z")
    assert learner.propose() == Matching([("b", "c"), ("d", "x"), ("y", "z")])
    assert Oracle(rates=(0.1, 0.2)).learner("abcd").propose() == Matching([("a", "b"), ("c", "d")])
