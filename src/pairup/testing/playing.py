"""Two ways to play a policy, which give the same numbers round by round.

`served` is a live learner, `RoundByRound` the compiled loop.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from pairup.compiled.simulation_loop import Replication, accept
from pairup.learning.learner import Learner
from pairup.matching import Matching
from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.simulation.playthrough import Playthrough
from pairup.testing.expectation import expect_equal

_HORIZON = 1_000


def play(
    learner: Learner, rounds: int, seed: int = 0, available: Iterable[Hashable] | None = None
) -> list[Matching]:
    """Propose and observe, by coins; returns the matchings."""
    coin, matchings = random.Random(seed), []
    for _ in range(rounds):
        matchings.append(learner.propose(available))
        learner.observe(matchings[-1], [coin.random() < 0.5 for _ in matchings[-1]])
    return matchings


def expect_same_future(learner: Learner, twin: Learner, rounds: int = 25) -> None:
    """Raise if the two learners diverge."""
    expect_equal(twin.to_bytes(), learner.to_bytes(), "what is saved")
    theirs, ours = ([each.couples for each in play(one, rounds)] for one in (twin, learner))
    expect_equal(theirs, ours, "matchings")
    expect_equal(twin.to_bytes(), learner.to_bytes(), "what is saved later")


def outcomes(replication: Replication, round: int, matching: Iterable[Any]) -> list[bool]:
    """Return which couples of a matching play in a round of a replication, by its labels."""
    accepted = np.zeros(len(replication.rates), np.bool_)
    accept(replication, round, accepted)
    return [bool(accepted[i] and accepted[j]) for i, j in matching]


def served(
    learner: Learner, replication: Replication, rounds: Iterable[int]
) -> Iterator[tuple[Matching, float, int]]:
    """Yield matching, regret and games so far after each round of a live learner."""
    regret, games = 0.0, 0
    for t in rounds:
        matching = learner.propose()
        played = outcomes(replication, t, matching)
        learner.observe(matching, played)
        expected = 0.0
        for i, j in matching.couples:
            expected += float(replication.rates[i] * replication.rates[j])
        gap = float(replication.best_games[0]) - expected
        regret += gap if gap > 1e-12 else 0.0
        games += sum(played)
        yield matching, regret, games


class RoundByRound(Playthrough):
    """A policy that plays replication 0 of a problem in the compiled loop, round by round."""

    def __init__(self, policy: Policy, problem: Problem, seed: int = 0) -> None:
        super().__init__(problem, policy, _HORIZON, seed, 0)

    def play(self, rounds: int) -> list[list[tuple[int, int]]]:
        """Play some more rounds; returns the couples of each."""
        return [self._next() for _ in range(rounds)]

    def _next(self) -> list[tuple[int, int]]:
        self.play_to(int(self.totals.round[0]) + 1)
        return [(i, j) for i, j in self.totals.couples.tolist() if i >= 0]


def size(state: Any) -> int:
    """Count the bytes of all arrays of a state."""
    if isinstance(state, tuple):
        return sum(size(part) for part in state)
    return int(state.nbytes)
