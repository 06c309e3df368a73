"""Rules of what a policy keeps: bounded, saved whole, and untouched by a look at it."""

from __future__ import annotations

import random

import numpy as np

from pairup.learning.learner import Learner
from pairup.problem import Problem
from pairup.simulation.replication import new_replication
from pairup.testing.expectation import expect, expect_equal, expect_full
from pairup.testing.playing import expect_same_future, outcomes, play, simulated, size
from pairup.testing.variants import Variant

_MAX_STATE_BYTES = 1 << 16  # of nine players
_MAX_SAVED_BYTES = 1 << 13


def goes_on_after_saving(variant: Variant) -> None:
    """A learner that was saved and loaded goes on as if it had never stopped."""
    for players in (2, 5, 8):
        learner = variant.learner(range(players), seed=4)
        for rounds in (0, 1, 30, 100):
            play(learner, rounds)
            expect_same_future(learner, Learner.from_bytes(learner.to_bytes()))


def saves_pending_outcomes_and_present_players(variant: Variant) -> None:
    """Pending outcomes, players who joined and the leader are saved with it."""
    learner = variant.learner("abcdefg")
    play(learner, 20)
    learner.leave("c")
    learner.leave("a")
    learner.join("h")
    late = [learner.propose(), learner.propose(iter("bde")), learner.propose()]
    twin = Learner.from_bytes(learner.to_bytes())
    expect_equal(twin.pending, learner.pending, "pending outcomes")
    expect_equal(twin.players, learner.players, "players")
    expect_equal(twin.leader, learner.leader, "leader")
    expect_equal(twin.estimates(), learner.estimates(), "estimates")
    for each in (learner, twin):
        for matching in late:
            each.observe(matching, [True] * len(matching))
        each.join("i")
        each.join("j")
    expect_same_future(learner, twin)


def can_be_saved_whoever_is_available(variant: Variant) -> None:
    """It can be saved and loaded between any two calls."""
    for count in (6, 7):
        players, draw = "abcdefg"[:count], random.Random(count)
        learner = variant.learner(players)
        for _ in range(40):
            available = draw.sample(players, draw.randrange(2, count + 1))
            matching = learner.propose(available)
            expect_equal(set(matching.players), set(available), "players of the matching")
            learner = Learner.from_bytes(learner.to_bytes())
            if draw.random() < 0.8:
                learner.observe(matching, [draw.random() < 0.5 for _ in matching])


def keeps_a_state_of_bounded_size(variant: Variant) -> None:
    """The state does not grow with the rounds."""
    replication = new_replication(Problem.random(9, seed=2), 0, 0)
    policy = variant.policy(replication.rates)
    early, late = (size(state) for *_, state in simulated(policy, replication, [500, 20_000]))
    expect(late <= 2 * early, f"the state grew from {early:,} to {late:,} bytes")
    expect(late < _MAX_STATE_BYTES, f"the state of nine players takes {late:,} bytes")


def saves_in_bounded_size(variant: Variant) -> None:
    """What is saved does not grow with the rounds."""
    replication, pick = new_replication(Problem(np.linspace(0.1, 0.9, 9)), 0, 0), random.Random(0)
    learner, sizes = variant.policy(replication.rates).learner(range(9)), []
    for t in range(1_600):
        available = pick.sample(range(9), pick.randint(2, 9)) if t % 2 else None
        matching = learner.propose(available)
        learner.observe(matching, outcomes(replication, t, matching))
        sizes.append(len(learner.to_bytes()) if t % 400 == 399 else 0)
    early, late = sizes[399], sizes[1_599]
    expect(late <= 1.2 * early, f"what is saved grew from {early:,} to {late:,} bytes")
    expect(max(sizes) < _MAX_SAVED_BYTES, f"nine players are saved in {max(sizes):,} bytes")


def bounds_outcomes_that_never_come(variant: Variant) -> None:
    """Outcomes that never come are counted by couple."""
    learner = variant.learner(range(7))
    for _ in range(300):
        learner.propose()
    expect(len(learner.pending) <= 7 * 6 // 2, "more couples are pending than there are")
    expect_equal(sum(learner.pending.values()), 300 * 3, "pending outcomes")


def is_not_changed_by_a_look(variant: Variant) -> None:
    """A look at the leader, the estimates or the saved bytes changes nothing."""
    looked, twin = variant.learner(range(7)), variant.learner(range(7))
    pick = random.Random(2)
    for _ in range(60):
        available = pick.sample(range(7), pick.randint(2, 7))
        ours, theirs = (play(each, 1, available=available) for each in (looked, twin))
        expect_equal(ours, theirs, "matching after a look")
        if looked.leader is not None:
            expect_full(looked.leader, range(7))
        looked.estimates(), looked.rates(), looked.pending, looked.to_bytes()
    expect_equal(looked.to_bytes(), twin.to_bytes(), "what is saved after a look")


RULES = (
    goes_on_after_saving,
    saves_pending_outcomes_and_present_players,
    can_be_saved_whoever_is_available,
    keeps_a_state_of_bounded_size,
    saves_in_bounded_size,
    bounds_outcomes_that_never_come,
    is_not_changed_by_a_look,
)
