"""Two ways to play a policy, which give the same numbers round by round.

`served` is a live learner, `simulated` the compiled loop.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from pairup.compiled.randomness import POLICY, stream_key
from pairup.compiled.simulation_loop import Replication, accept, new_totals, play_rounds
from pairup.compiled.steps import set_available_step
from pairup.compiled.third_party.steps import for_state
from pairup.learning.learner import Learner
from pairup.matching import Matching
from pairup.policies.contract import Policy, StartContext
from pairup.policies.interruptions import Interruptions
from pairup.testing.expectation import expect_equal


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


def started(policy: Policy, players: int, seed: int = 0) -> Any:
    """Make the state of a policy that meets `players` players."""
    state = policy.start(StartContext(players, np.uint64(stream_key(seed, 0, POLICY))))
    present = np.arange(players)
    policy.set_present(state, present)
    for_state(set_available_step, state)(state, present)
    return state


def simulated(
    policy: Policy, replication: Replication, rounds: Iterable[int], seed: int = 0
) -> Iterator[tuple[list[Any], float, int, Any]]:
    """Yield couples, regret, games and state after each of `rounds` of the compiled loop."""
    players = len(replication.rates)
    state, totals = started(policy, players, seed), new_totals(players)
    loop, interruptions = for_state(play_rounds, state), Interruptions(policy)
    for t in rounds:
        while interruptions.is_one(status := loop(state, replication, totals, t + 1)):
            state = interruptions.resolved(state, status, int(totals.round[0]))
        couples = [tuple(couple) for couple in totals.couples.tolist()]
        yield couples, float(totals.regret[0]), int(totals.games[0]), state


def size(state: Any) -> int:
    """Count the bytes of all arrays of a state."""
    if isinstance(state, tuple):
        return sum(size(part) for part in state)
    return int(state.nbytes)
