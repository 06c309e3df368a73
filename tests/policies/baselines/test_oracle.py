from random import Random

import pytest

from pairup import Learner, Matching, Oracle, Problem, simulate
from tests.support.twins import oracle as naive_oracle
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled
from tests.support.twins.rate_families import FAMILIES

RATES = (0.3, 0.9, 0.1, 0.8, 0.5)


def test_proposes_the_optimum():
    learner = Oracle(rates=RATES).learner("abcde")
    assert learner.propose() == learner.leader == Matching([("b", "d"), ("a", "e")], ["c"])
    assert learner.propose(["a", "c", "d", "e"]) == Matching([("d", "e"), ("a", "c")])


@pytest.mark.parametrize("players", [2, 3, 10, 13])
def test_loses_nothing(players):
    run = simulate(Problem.random(players, seed=1), Oracle(), 200, 5)
    assert (run.regret == 0).all()


def test_a_simulation_tells_the_oracle_its_own_rates():
    problem = Problem(RATES)
    run = simulate(problem, Oracle(rates=problem.rates), 50, 5)  # labels are shuffled
    assert (run.regret == 0).all()


def test_players_who_join_rank_last():
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


def test_the_rate_of_a_player_who_left_is_forgotten_on_a_graph_too():
    learner = Oracle(rates=(0.9, 0.8, 0.7, 0.6)).learner("abcd")
    learner.leave("a")
    learner.join("z")
    rules = {"allowed": [("z", "b"), ("z", "c"), ("c", "d")], "worth": {("z", "b"): 1.0}}
    for each in (learner, Learner.from_bytes(learner.to_bytes())):
        assert each.propose(**rules) == Matching([("b", "z"), ("c", "d")])
        assert each.propose(allowed=[("z", "c"), ("c", "d")]) == Matching([("c", "d")], ["b", "z"])


@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin(family, n):
    rates = streams.shuffled(n, FAMILIES[family](n))
    compiled, twin = Compiled(Oracle(), n, rates=rates), naive_oracle.Oracle(rates)
    random = Random(n)
    assert compiled.propose() == twin.propose()
    for _ in range(10):
        available = random.sample(range(n), random.randint(2, n))
        compiled.set_available(available)
        assert compiled.propose() == twin.propose(available)
