"""Warm-up: the steps of a policy are compiled before a request needs them, not while it waits.

Compiled code is kept on the disk, so this takes long only after an installation.
"""

from __future__ import annotations

import dataclasses
import random
from functools import cache, lru_cache

import numpy as np

from pairup.best_matching import best_matching
from pairup.learning import Learner
from pairup.policies import Policy
from pairup.service.domain.rules import max_option

_FEW, _MANY = 12, 100  # players
_ROUNDS = 60


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
    _compile_replacements()
    _live(policy, _FEW)
    if type(policy).reserve is not Policy.reserve:  # its tables are others where players are many
        _live(policy, _MANY)


@cache
def _compile_replacements() -> None:
    """Compile how couples apart are replaced: where most may meet, and where few may."""
    distance = np.subtract.outer(np.arange(_FEW), np.arange(_FEW)) % _FEW
    for may_meet in (distance > 0, (distance == 1) | (distance == _FEW - 1)):
        best_matching(np.where(may_meet, 1.0, -np.inf), perfect=False)


def _live(policy: Policy, players: int) -> None:
    """Let a learner go through all that can happen in a pool."""
    learner = policy.learner(range(players))
    learner.withdraw(learner.propose())
    first, second, third, *_ = learner.propose(range(1, players), apart=[(1, 2)])
    learner.observe([first, second], [True, False])
    learner.observe([third], accepted={third[0]: False})
    learner.learn([(0, 1), (1, 2)], [True, False], accepted=[(True, True), (None, None)])
    if type(policy).fade is not Policy.fade:
        learner.fade(1.0)
    learner.leave(0)
    learner.leave(1, rate=None)
    learner.leave(2, forget=False)
    learner.forget(2)
    learner.join("new")
    Learner.from_evidence(learner.evidence()).propose()
    learner = Learner.from_bytes(learner.to_bytes()).with_policy(policy)
    _play(learner)
    learner.leader_among(learner.players)
    learner.rates(), learner.estimates(), learner.play_probabilities([("new", 4)])
    Learner.from_bytes(learner.to_bytes()).propose()


def _play(learner: Learner) -> None:
    """Play so many rounds that tables grow, by coins: the couples that look best change often."""
    coin = random.Random(0)
    for _ in range(_ROUNDS):
        matching = learner.propose()
        learner.observe(matching, [coin.random() < 0.5 for _ in matching])
