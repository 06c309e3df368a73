"""Hierarchical Thompson sampling against its slow twin."""

from random import Random

import numpy as np
import pytest

from pairup import HierarchicalThompson
from pairup.compiled.steps import observe_answers_step
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled
from tests.support.twins.hierarchical import HierarchicalThompson as Twin


class Duel:
    """The compiled steps and their twin, who see the same outcomes of couples with own rates."""

    def __init__(self, players, seed, noise=1.0, period=2, prior="uniform", memory=None):
        self.key, draws = streams.stream_key(seed, 0, streams.POLICY), np.random.default_rng(seed)
        self.rates, self.random = draws.beta(2, 2, players), Random(seed)
        self.shift = np.exp(draws.normal(0, noise, (players, players)))
        policy = HierarchicalThompson(period, prior, memory)
        self.compiled = Compiled(policy, players, self.key, horizon=1_000)
        self.twin, self.by_values = Twin(players, period, self.key, prior, memory), 0

    def propose(self, available=None):
        expected, proposed = self.twin.propose(available), self.compiled.propose()
        state = self.compiled.state
        assert state.chances == pytest.approx(self.twin.chances, rel=1e-6, abs=1e-9)
        assert np.exp(state.log_chances) == pytest.approx(state.chances / state.chances.max())
        assert state.modes[:, : self.twin.n] == pytest.approx(self.twin.modes, rel=1e-6)
        assert self.twin.allows(proposed, expected)
        self.by_values += self.twin.values is not None
        return proposed

    def chance(self, i, j):
        product = self.rates[i] * self.rates[j]
        odds = product / (1 - product) * self.shift[i, j]
        return odds / (1 + odds)

    def observe(self, matching):
        played = [self.random.random() < self.chance(i, j) for i, j in matching]
        self.compiled.observe(matching, played)
        self.twin.observe(matching, played)

    def observe_answers(self, matching):
        answers = [
            (1, 1) if self.random.random() < self.chance(i, j) else self.random.choice(REFUSALS)
            for i, j in matching
        ]
        rows = np.array(matching, np.int64).reshape(-1, 2)
        observe_answers_step(self.compiled.state, rows, np.array(answers, np.int64).reshape(-1, 2))
        self.twin.observe_answers(matching, answers)

    def forget(self, player, rate):
        self.compiled.policy.forget(self.compiled.state, player, rate)
        self.twin.forget(player, rate)

    def play(self, rounds, learn):
        for _ in range(rounds):
            learn(self.propose())


REFUSALS = [(1, 0), (0, 1), (0, 0), (-1, 0), (0, -1)]


@pytest.mark.parametrize("players", [2, 3, 4, 7])
def test_equals_its_twin_step_for_step(players):
    duel = Duel(players, seed=players, period=1 + players % 3)
    duel.play(40, duel.observe)
    assert duel.by_values > 5


def test_couples_that_deviate_far_are_found_as_by_its_twin():
    duel = Duel(6, seed=1, noise=4.0)
    duel.play(120, duel.observe)
    assert duel.compiled.state.chances[0] < 0.05


@pytest.mark.parametrize("prior", [(2.0, 3.0), "learned"])
def test_starts_from_its_prior_as_its_twin_does(prior):
    duel = Duel(5, seed=5, prior=prior)
    duel.play(30, duel.observe)


def test_learns_from_answers_as_its_twin_does():
    duel = Duel(6, seed=3)
    duel.play(12, duel.observe_answers)
    duel.play(12, duel.observe)
    duel.play(12, duel.observe_answers)


def test_keeps_evidence_with_players_who_left_as_its_twin_does():
    duel = Duel(6, seed=6)
    for rate in (0.95, None, 0.31, 1.0, 0.0):
        duel.play(6, duel.observe)
        duel.forget(duel.random.randrange(6), rate)
    duel.play(6, duel.observe)


def test_evidence_fades_as_that_of_its_twin_does():
    duel = Duel(5, seed=7, memory=9.0)
    duel.play(60, duel.observe)


def test_some_of_the_players_are_matched():
    duel = Duel(5, seed=4)
    for available in ([0, 1, 2], [1, 4], [0, 1, 2, 3, 4], [0, 2, 3, 4]) * 8:
        duel.compiled.set_available(available)
        duel.observe(duel.propose(available))
