"""Warm-up: the steps of a policy are compiled before a request needs them, not while it waits.

Compiled code is kept on the disk, so this takes long only after an installation. It is compiled in
a side process then: the compiler takes more memory than the service, and would keep it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import random
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

import numba
import numpy as np

from pairup.compiled import kernel_cache
from pairup.compiled.matchings.random_pairing import new_random_pairing
from pairup.learning import Learner
from pairup.policies import Policy
from pairup.policies.contract import StartContext
from pairup.service.domain.matchmaking.rules import max_option
from pairup.side_process import SideProcessError, call_aside
from pairup.weighted_matching import best_matching

_FEW, _MANY = 12, 100  # players
_ROUNDS = 60


def warm_up(policy: Policy) -> None:
    """Run everything that a pool asks of its learner on a small one.

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
    _compile_aside(policy)
    run_steps(policy)


def _compile_aside(policy: Policy) -> None:
    """Compile what is not on the disk yet, in another process; a mark there says what is.

    Third-party policies are compiled here, because no other process knows their code, and so is
    everything where nothing can be kept.
    """
    state = policy.start(StartContext(_FEW, np.uint64(0)))
    kind = hashlib.sha256(f"{type(policy)} {numba.typeof(state)}".encode()).hexdigest()[:32]
    mark = Path(kernel_cache.FOLDER) / f"steps-{kind}"
    if not kernel_cache.is_ours(type(policy)) or mark.exists():
        return
    with suppress(SideProcessError, OSError):  # what cannot be compiled fails here again
        mark.parent.mkdir(parents=True, exist_ok=True)
        if os.access(mark.parent, os.W_OK):
            call_aside(f"{__name__}:run_steps", policy)
            mark.touch()


def run_steps(policy: Policy) -> None:
    """Run the steps of a policy, which compiles them or reads them from the disk."""
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
    """Run a learner through all that can happen in a pool."""
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
    if policy.plays_on_graphs:
        _meet(learner)
    learner.rates(), learner.estimates(), learner.play_probabilities([("new", 4)])
    Learner.from_bytes(learner.to_bytes()).propose()


def _meet(learner: Learner) -> None:
    """Propose by rules: some couples only, games of different worth, and players who are owed."""
    players = list(learner.players)
    one = np.arange(len(players) - 1)
    couples, worth = np.stack([one, one + 1], axis=1), np.ones(len(one))
    for debts in (None, np.ones(len(players))):
        learner.suggest(players, debts=debts)
        learner.suggest(players, allowed=couples, worth=worth, debts=debts)
    learner.leader_among(players, allowed=couples, worth=worth)
    new_random_pairing(len(players), one, one + 1, worth)


def _play(learner: Learner) -> None:
    """Play rounds by coins until tables grow: the couples that look best change often."""
    coin = random.Random(0)
    for _ in range(_ROUNDS):
        matching = learner.propose()
        learner.observe(matching, [coin.random() < 0.5 for _ in matching])
