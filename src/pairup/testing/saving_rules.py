"""Rules about size: the state of a policy and its saved form are bounded."""

from __future__ import annotations

import random

import numpy as np

from pairup.problem import Problem
from pairup.simulation.replication import new_replication
from pairup.testing.expectation import expect, expect_equal
from pairup.testing.playing import outcomes, simulated, size
from pairup.testing.variants import Variant

_MAX_STATE_BYTES = 1 << 16  # of nine players
_MAX_SAVED_BYTES = 1 << 13


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
    """Outcomes that never come are counted by couple, so that their record is bounded."""
    learner = variant.learner(range(7))
    for _ in range(300):
        learner.propose()
    expect(len(learner.pending) <= 7 * 6 // 2, "more couples are pending than there are")
    expect_equal(sum(learner.pending.values()), 300 * 3, "pending outcomes")


RULES = (
    keeps_a_state_of_bounded_size,
    saves_in_bounded_size,
    bounds_outcomes_that_never_come,
)
