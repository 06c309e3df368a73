"""Forbidden couples are never proposed, whatever the policy."""

import itertools
import random

import numpy as np
import pytest

from pairup import Matching, MatchingError, PlayerError, Unimodal
from pairup.learning.exclusions import replace_forbidden

PLAYERS = "abcdefg"


def every_matching(players):
    """List all matchings of some players, full or not."""
    if len(players) < 2:
        return [frozenset()]
    first, *rest = players
    found = every_matching(rest)
    for x, other in enumerate(rest):
        found += [each | {(first, other)} for each in every_matching(rest[:x] + rest[x + 1 :])]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_as_few_couples_as_possible_are_replaced(seed):
    draw = random.Random(seed)
    players = list(range(draw.choice([4, 5, 6, 7])))
    shuffled = draw.sample(players, len(players))
    couples = [tuple(sorted(each)) for each in zip(shuffled[::2], shuffled[1::2], strict=False)]
    pairs = list(itertools.combinations(players, 2))
    forbidden = set(draw.sample(pairs, draw.randrange(len(pairs) + 1)))
    worth = {pair: draw.random() for pair in pairs}

    def table(slots):
        return np.array([[worth.get((min(i, j), max(i, j)), 0.0) for j in slots] for i in slots])

    repaired = replace_forbidden(couples, players, forbidden, table)
    assert len({player for couple in repaired for player in couple}) == 2 * len(repaired)
    assert not set(repaired) & forbidden
    allowed = [each for each in every_matching(players) if not each & forbidden]
    most = max(len(each) for each in allowed)
    assert len(repaired) == most
    kept = max(len(each & set(couples)) for each in allowed if len(each) == most)
    assert len(set(repaired) & set(couples)) == kept
    assert repaired[:kept] == [couple for couple in couples if couple in repaired]


def test_allowed_couples_are_broken_only_if_they_must():
    couples = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]
    players = list(range(12))
    forbidden = {(0, 1)} | {(i, j) for i in (0, 1) for j in range(2, 12) if (i, j) != (1, 11)}
    forbidden -= {(0, 10)}

    repaired = replace_forbidden(
        couples, players, forbidden, lambda slots: np.zeros((len(slots),) * 2)
    )
    assert repaired == [(2, 3), (4, 5), (6, 7), (8, 9), (0, 10), (1, 11)]


def test_an_empty_list_of_forbidden_couples_changes_nothing():
    one, other = Unimodal().learner("abcdef"), Unimodal().learner("abcdef")
    for _ in range(20):
        matching = one.propose()
        assert matching.couples == other.propose(apart=[]).couples
        for each in (one, other):
            each.observe(matching, [True, False, True])
    assert one.to_bytes() == other.to_bytes()


def test_players_without_an_allowed_partner_wait():
    learner = Unimodal().learner("abc")
    forbidden = [("a", "b"), ("a", "c")]
    assert learner.propose(apart=forbidden) == Matching([("b", "c")], ["a"])
    assert learner.pending == {("b", "c"): 1}
    assert learner.propose(["a", "b"], forbidden) == Matching([], ["a", "b"])


@pytest.mark.parametrize(
    ("apart", "error", "says"),
    [
        ("ab", MatchingError, "apart must be a list of couples, got 'ab'"),
        ([("a", "a")], MatchingError, "'a' with itself"),
        ([("a", "x")], PlayerError, "'x' is not present"),
    ],
)
def test_bad_forbidden_couples_are_refused_before_anything_is_proposed(apart, error, says):
    learner = Unimodal().learner("abcd")
    before = learner.to_bytes()
    with pytest.raises(error, match=says):
        learner.propose(apart=apart)
    assert learner.to_bytes() == before
