"""Couples that must not meet: what is proposed is mended, for every policy."""

import itertools
import random

import numpy as np
import pytest

from pairup import Learner, Matching, MatchingError, ObservationError, PlayerError, Unimodal
from pairup.learning.exclusions import kept_apart
from tests.support.policy_variants import variants

PLAYERS = "abcdefg"


def every_matching(players):
    """List all matchings of some players, whoever waits."""
    if len(players) < 2:
        return [frozenset()]
    first, *rest = players
    found = every_matching(rest)
    for x, other in enumerate(rest):
        found += [each | {(first, other)} for each in every_matching(rest[:x] + rest[x + 1 :])]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_mends_as_little_as_it_can(seed):
    draw = random.Random(seed)
    players = list(range(draw.choice([4, 5, 6, 7])))
    shuffled = draw.sample(players, len(players))
    couples = [tuple(sorted(each)) for each in zip(shuffled[::2], shuffled[1::2], strict=False)]
    pairs = list(itertools.combinations(players, 2))
    apart = set(draw.sample(pairs, draw.randrange(len(pairs) + 1)))
    worth = {pair: draw.random() for pair in pairs}

    def table(slots):
        return np.array([[worth.get((min(i, j), max(i, j)), 0.0) for j in slots] for i in slots])

    mended = kept_apart(couples, players, apart, table)
    assert len({player for couple in mended for player in couple}) == 2 * len(mended)
    assert not set(mended) & apart
    allowed = [each for each in every_matching(players) if not each & apart]
    most = max(len(each) for each in allowed)
    assert len(mended) == most
    kept = max(len(each & set(couples)) for each in allowed if len(each) == most)
    assert len(set(mended) & set(couples)) == kept
    assert mended[:kept] == [couple for couple in couples if couple in mended]


def test_breaks_no_couple_that_need_not_be_broken():
    couples = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 11)]
    players = list(range(12))
    forbidden = {(0, 1)} | {(i, j) for i in (0, 1) for j in range(2, 12) if (i, j) != (1, 11)}
    forbidden -= {(0, 10)}

    mended = kept_apart(couples, players, forbidden, lambda slots: np.zeros((len(slots),) * 2))
    assert mended == [(2, 3), (4, 5), (6, 7), (8, 9), (0, 10), (1, 11)]


@pytest.mark.parametrize("variant", variants(), ids=str)
@pytest.mark.parametrize("count", [6, 7])
def test_every_policy_keeps_couples_apart(variant, count):
    learner, draw = variant.learner(PLAYERS[:count]), random.Random(count)
    for _ in range(30):
        available = draw.sample(PLAYERS[:count], draw.randrange(2, count + 1))
        apart = [draw.sample(PLAYERS[:count], 2) for _ in range(4)]
        matching = learner.propose(available, apart)
        assert not any(couple in matching for couple in apart)
        assert set(matching.players) == set(available)
        leader = learner.leader_among(available)
        assert leader is None or set(leader.players) == set(available)
        chances = learner.play_probabilities(matching)
        assert all(chance is None or 0 <= chance <= 1 for chance in chances)
        twin = Learner.from_bytes(learner.to_bytes())
        learner.observe(matching, [True] * len(matching))
        twin.withdraw(matching)
        assert twin.pending == learner.pending == {}
    again = Learner.from_bytes(twin.to_bytes())
    assert again.propose() == twin.propose()


def test_without_couples_to_keep_apart_nothing_changes():
    one, other = Unimodal().learner("abcdef"), Unimodal().learner("abcdef")
    for _ in range(20):
        matching = one.propose()
        assert matching.couples == other.propose(apart=[]).couples
        for each in (one, other):
            each.observe(matching, [True, False, True])
    assert one.to_bytes() == other.to_bytes()


def test_who_finds_no_partner_waits():
    learner = Unimodal().learner("abc")
    apart = [("a", "b"), ("a", "c")]
    assert learner.propose(apart=apart) == Matching([("b", "c")], ["a"])
    assert learner.pending == {("b", "c"): 1}
    assert learner.propose(["a", "b"], apart) == Matching([], ["a", "b"])


@pytest.mark.parametrize(
    ("apart", "error", "says"),
    [
        ("ab", MatchingError, "apart must be a list of couples, got 'ab'"),
        ([("a", "a")], MatchingError, "'a' with itself"),
        ([("a", "x")], PlayerError, "'x' is not present"),
    ],
)
def test_refuses_what_is_no_couple_before_anything_is_proposed(apart, error, says):
    learner = Unimodal().learner("abcd")
    before = learner.to_bytes()
    with pytest.raises(error, match=says):
        learner.propose(apart=apart)
    assert learner.to_bytes() == before


def test_only_what_was_proposed_can_be_withdrawn():
    learner = Unimodal().learner("abcd")
    learner.propose(["a", "b"])
    with pytest.raises(ObservationError, match="no outcome of 'c' and 'd' is awaited"):
        learner.withdraw([("a", "b"), ("c", "d")])
    assert learner.pending == {("a", "b"): 1}


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_under_another_policy_the_outcomes_are_known(variant):
    first = Unimodal().learner(PLAYERS)
    first.leave("c")
    for played in (True, False, True, True):
        first.observe(first.propose(), [played, not played, True])
    matching = first.propose(["a", "b"])
    second = first.with_policy(variant.policy([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]), seed=3)
    assert second.players == first.players
    assert second.pending == first.pending
    if second.estimates():
        assert set(second.estimates()) == set(first.estimates())
    second.observe(matching, [True])
    assert len(second.propose()) == 3
    assert Learner.from_bytes(second.to_bytes()).propose().players
