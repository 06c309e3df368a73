"""Learners played by coins, and what must hold of them."""

import random

from pairup import Matching


def play(learner, rounds, seed=0, available=None):
    """Propose and observe, by coins; returns the matchings."""
    coin, matchings = random.Random(seed), []
    for _ in range(rounds):
        matchings.append(learner.propose(available))
        learner.observe(matchings[-1], [coin.random() < 0.5 for _ in matchings[-1]])
    return matchings


def assert_full(matching, players):
    """Check that all players are coupled, but for one who waits where they are odd."""
    assert isinstance(matching, Matching)
    assert len(matching) == len(players) // 2
    assert len(matching.waiting) == len(players) % 2
    assert set(matching.players) == set(players)


def assert_same_future(learner, twin, rounds=25):
    assert twin.to_bytes() == learner.to_bytes()
    assert [matching.couples for matching in play(twin, rounds)] == [
        matching.couples for matching in play(learner, rounds)
    ]
    assert twin.to_bytes() == learner.to_bytes()
