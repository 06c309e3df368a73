"""Warm-up: the steps of a policy are compiled before a request needs them, not while it waits.

Compiled code is kept on the disk, so this takes long only after an installation.
"""

from __future__ import annotations

from functools import lru_cache

from pairup.learning import Learner
from pairup.policies import Policy


@lru_cache(64)  # once per process and policy, which is a frozen set of options
def warm_up(policy: Policy) -> None:
    """Let a small learner do everything that a pool lets its learner do."""
    learner = policy.learner(list("abcdef"))
    matching = learner.propose()
    learner.observe(matching, [True, False, False], accepted={matching[0][0]: True})
    mended = learner.propose(list("abcde"), apart=[matching[0]])
    learner.observe(mended, [True] * len(mended))
    learner.withdraw(learner.propose(list("abcd")))
    learner.leave("f")
    learner.leader_among(list("abcd"))
    learner.play_probabilities([("a", "b")])
    learner = Learner.from_bytes(learner.to_bytes())
    learner.join("g")
    learner.propose()
    learner.rates(), learner.estimates()
