from functools import partial
from itertools import combinations

import pytest

from pairup import ExploreThenCommit, Problem, simulate
from tests.support.twins import explore_then_commit as naive_explore_then_commit
from tests.support.twins.compiled import Compiled
from tests.support.twins.duel import Duel, policy_key
from tests.support.twins.rate_families import FAMILIES


def duel(cycles, rates, seed):
    twin = partial(naive_explore_then_commit.ExploreThenCommit, cycles=cycles)
    return Duel(ExploreThenCommit(cycles), twin(len(rates), policy_key(seed)), rates, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin_step_for_step(family):
    for n in range(2, 13):
        assert not duel(5, FAMILIES[family](n), seed=n).play(100).twin.explores


@pytest.mark.parametrize("n", [7, 8])
def test_equals_its_twin_when_the_available_players_change(n):
    duel(10, FAMILIES["random"](n), seed=n).play_with_some_players(80)


def test_equals_its_twin_when_outcomes_come_late_and_in_any_order():
    duel(15, FAMILIES["tied"](7), seed=2).play_late(200)


def test_equals_its_twin_with_room_for_more_players():
    both = duel(4, FAMILIES["random"](9), seed=4)
    for present in ([0, 2, 3, 5, 8], [1, 2, 3, 5, 6, 8]):
        both.set_present(present)
        both.play(60)


@pytest.mark.parametrize("n", range(2, 13))
def test_a_cycle_brings_every_pair_together_once(n):
    compiled = Compiled(ExploreThenCommit(cycles=3), n)
    for _ in range(3):
        met = [couple for _ in range(n - 1 + n % 2) for couple in compiled.propose()]
        assert sorted(met) == sorted(combinations(range(n), 2))


def test_explores_by_the_horizon():
    # (1e6 / 7)^(2/3) log(1e6)^(1/3) = 6,557.3 cycles of 7 rounds, each cycle 0.4 lost.
    problem = Problem.around(0.5, 4, 0.1)
    told = ExploreThenCommit(horizon=1_000_000)
    run = simulate(problem, told, rounds=100_000, replications=4, checkpoints=[45_906, 100_000])
    assert run.regret[:, 0] == pytest.approx(6_558 * 0.4)
    assert run.regret[:, 1] - run.regret[:, 0] == pytest.approx(0, abs=60)


def test_a_simulation_tells_its_horizon():
    problem = Problem.around(0.5, 4, 0.1)
    runs = [
        simulate(problem, policy, rounds=20_000, replications=2).regret
        for policy in (ExploreThenCommit(), ExploreThenCommit(horizon=20_000))
    ]
    assert runs[0].tolist() == runs[1].tolist()


def test_few_cycles_do_not_suffice_and_many_do():
    problem = Problem.around(0.5, 4, 0.1)
    lost = []
    for cycles in (1, 1_000):
        run = simulate(problem, ExploreThenCommit(cycles), 20_000, 20, checkpoints=[10_000, 20_000])
        lost.append((run.regret[:, 1] - run.regret[:, 0]).mean() / 10_000)
    assert lost[0] > 0.01 > 0.002 > lost[1]
