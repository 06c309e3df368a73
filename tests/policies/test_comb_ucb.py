import numpy as np
import pytest

from pairup import CombUCB, Problem, simulate
from tests.support.twins import comb as naive_comb
from tests.support.twins.duel import ExactDuel
from tests.support.twins.rate_families import FAMILIES

every_index = pytest.mark.parametrize("index", ["ucb", "kl"])


def duel(index, rates, seed=0):
    return ExactDuel(CombUCB(index), naive_comb.CombUCB(len(rates), index), rates, seed)


@every_index
@pytest.mark.parametrize("family", FAMILIES)
def test_plays_a_best_matching_by_its_twin_step_for_step(index, family):
    for n in range(2, 10):
        duel(index, FAMILIES[family](n), seed=n).play(60)


@every_index
@pytest.mark.parametrize("n", [5, 6])
def test_plays_a_best_matching_in_the_long_run(index, n):
    duel(index, FAMILIES["around"](n), seed=1).play(1000)


@every_index
@pytest.mark.parametrize("n", [7, 8])
def test_plays_a_best_matching_when_the_available_players_change(index, n):
    duel(index, FAMILIES["random"](n), seed=n).play_with_some_players(60)


@every_index
def test_plays_a_best_matching_when_outcomes_come_late_and_in_any_order(index):
    duel(index, FAMILIES["tied"](7), seed=2).play_late(200)


@every_index
@pytest.mark.parametrize("n", [4, 8, 12])
def test_sees_all_couples_first(index, n):
    d = duel(index, [0.5] * n)
    d.twin.allows = lambda matching: True  # too many matchings to try them all
    d.play(2 * n)
    assert len(d.twin.tries) == n * (n - 1) // 2


@every_index
def test_the_leader_is_the_best_matching_by_means(index):
    d = duel(index, FAMILIES["random"](7))
    d.play(40)
    couples = d.compiled.leader
    means = [d.twin.mean(couple) for couple in couples if 7 not in couple]
    assert means == sorted(means, reverse=True)
    d.twin.weight = d.twin.mean
    d.twin.propose()
    assert d.twin.allows([couple for couple in couples if 7 not in couple])


# Regret after 1,000,000 rounds, as measured with a simulator that shares nothing with this one.
KNOWN = {
    ("ucb", "around"): 14_767,
    ("ucb", "from_zero"): 15_023,
    ("kl", "around"): 9_216,
    ("kl", "from_zero"): 2_151,
}


@pytest.mark.parametrize(("index", "family"), KNOWN)
def test_regret_is_as_known(index, family):
    problem = Problem.around(0.5, 4, 0.1) if family == "around" else Problem.from_zero(4, 0.1)
    run = simulate(problem, CombUCB(index), rounds=1_000_000, replications=2, seed=0)
    assert np.mean(run.regret[:, -1]) == pytest.approx(KNOWN[index, family], rel=0.15)
