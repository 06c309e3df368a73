"""Warm-up: the steps of a policy are compiled before a request needs them, not while it waits.

Compiled code is kept on the disk, so this takes long only after an installation.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from pairup.learning import Learner
from pairup.policies import Policy
from pairup.service.domain.pool_rules import max_option


def warm_up(policy: Policy) -> None:
    """Let a small learner do everything that a pool lets its learner do.

    Options are cut to what pools may have: what is compiled does not depend on them, and a pool
    that was created before there were limits must not take the start of the service with it.
    """
    cut = {}
    for option in dataclasses.fields(policy):
        value, most = getattr(policy, option.name), max_option(option)
        if isinstance(value, int | float) and value > most:
            cut[option.name] = most
    _warm_up(dataclasses.replace(policy, **cut) if cut else policy)


@lru_cache(64)  # once per process and policy, which is a frozen set of options
def _warm_up(policy: Policy) -> None:
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
    if type(policy).reserve is not Policy.reserve:
        _warm_up_for_many(policy)


def _warm_up_for_many(policy: Policy) -> None:
    """Compile what a policy whose tables grow does in another way when its players are many."""
    learner = policy.learner(range(100))
    couples = list(learner.propose())
    learner.observe(couples[:20], [True] * 20)
    answers = dict.fromkeys((player for couple in couples[20:] for player in couple), False)
    learner.observe(couples[20:], accepted=answers)
    learner.leave(0)
    learner.propose()
