from random import Random

import numpy as np
import pytest

from pairup import OSUB, Problem, simulate
from pairup.learning.serialization import unpack
from tests.support.twins import duel as duels
from tests.support.twins import osub as naive_osub
from tests.support.twins.rate_families import FAMILIES


class Duel(duels.Duel):
    def __init__(self, rates, seed):
        twin = naive_osub.OSUB(len(rates), duels.policy_key(seed))
        super().__init__(OSUB(), twin, rates, seed)
        self.proposed = set()

    def propose(self, available=None):
        everyone = available is None or set(available) == self.twin.present
        if everyone:
            assert self.compiled.leader == self.twin.leader_arm()
        proposed = super().propose(available)
        self.proposed.add(tuple(proposed))
        return proposed


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin_step_for_step(family):
    for n in range(2, 13):
        Duel(FAMILIES[family](n), seed=n).play(150)


@pytest.mark.parametrize("n", [9, 10, 12])
def test_equals_its_twin_when_arms_are_forgotten(n):
    duel = Duel(FAMILIES["equal"](n), seed=1).play(700)
    assert len(duel.proposed) > len(duel.twin.arms) == 8 * (2 * ((n + 1) // 2) - 1)


@pytest.mark.parametrize("n", [7, 8])
def test_nothing_is_forgotten_of_eight_players(n):
    duel = Duel(FAMILIES["equal"](n), seed=1).play(900)
    assert len(duel.proposed) == len(duel.twin.arms) > 8 * 7


@pytest.mark.parametrize("n", [7, 8])
def test_equals_its_twin_when_the_available_players_change(n):
    duel = Duel(FAMILIES["random"](n), seed=n)
    duel.play_with_some_players(100, most_rounds=6)


@pytest.mark.parametrize("whole", [True, False])
def test_equals_its_twin_when_outcomes_come_late(whole):
    duel = Duel(FAMILIES["tied"](7), seed=2)
    random, due = Random(7), []
    for _ in range(300):
        matching = duel.propose()
        due.append((matching, duel.outcomes(matching)))
        while due and random.random() < 0.6:
            couples, played = due.pop(random.randrange(len(due)))
            part = len(couples) if whole else random.randint(1, len(couples))
            duel.observe(couples[:part], played[:part])


def test_equals_its_twin_with_room_for_more_players():
    duel = Duel(FAMILIES["random"](9), seed=4)
    for present in ([0, 2, 3, 5, 8], [1, 2, 3, 5, 6, 8]):
        duel.set_present(present)
        duel.play(100)


def test_the_first_arm_after_someone_left_is_the_greedy_matching():
    duel = Duel([0.9, 0.9, 0.8, 0.1, 0.1, 0.1], seed=0).play(300)
    duel.compiled.set_present(range(4))
    assert duel.compiled.leader == tuple(duel.twin.leader(range(4)))


def test_finds_the_best_matching_of_four():
    problem = Problem([0.9, 0.9, 0.2, 0.2])
    run = simulate(problem, OSUB(), rounds=20_000, replications=10, seed=0)
    last = np.diff(run.regret[:, np.searchsorted(run.rounds, [10_000, 20_000])], axis=1)
    assert last.mean() < 0.02 * 10_000 * 0.49


def test_only_arms_that_were_entered_are_saved():
    learner = OSUB().learner(range(9))
    for _ in range(3):
        learner.observe(learner.propose(), [True] * 4)
    _, arrays = unpack(learner.to_bytes())
    (arms,) = arrays["state.counters"]
    assert arrays["state.arms.order"].shape == (arms, 11)
    assert len(arrays["state.arms.tries"]) == arms < 8
