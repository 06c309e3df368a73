"""What every policy must refuse, and passes merely by being registered."""

import pytest

from pairup import Learner, MatchingError, ObservationError, PairupError, PlayerError
from tests.support.learners import assert_same_future, play
from tests.support.policy_variants import variants

pytestmark = pytest.mark.parametrize("variant", variants(), ids=str)

BAD_CALLS = {
    "unknown available": (PlayerError, lambda each: each.propose(["a", "nobody"])),
    "available twice": (PlayerError, lambda each: each.propose(["a", "b", "a"])),
    "unhashable available": (PlayerError, lambda each: each.propose([["a"], "b"])),
    "available a string": (PlayerError, lambda each: each.propose("abc")),
    "available a number": (PlayerError, lambda each: each.propose(3)),
    "join twice": (PlayerError, lambda each: each.join("a")),
    "join None": (PlayerError, lambda each: each.join(None)),
    "join a list": (PlayerError, lambda each: each.join(["a"])),
    "leave unknown": (PlayerError, lambda each: each.leave("nobody")),
    "leave a list": (PlayerError, lambda each: each.leave(["a"])),
    "unknown player": (PlayerError, lambda each: each.observe([("a", "nobody")], [True])),
    "never proposed": (ObservationError, lambda each: each.observe([("x", "y")], [True])),
    "too few": (ObservationError, lambda each: each.observe([("a", "b")], [])),
    "too many": (ObservationError, lambda each: each.observe([("a", "b")], [True, True])),
    "no list": (ObservationError, lambda each: each.observe([("a", "b")], True)),
    "twice": (ObservationError, lambda each: each.observe([("a", "b")] * 2, [True] * 2)),
    "second bad": (
        ObservationError,
        lambda each: each.observe([("a", "b"), ("x", "y")], [True, False]),
    ),
    "an integer": (ObservationError, lambda each: each.observe([("a", "b")], [1])),
    "nothing": (ObservationError, lambda each: each.observe([("a", "b")], [None])),
    "a word": (ObservationError, lambda each: each.observe([("a", "b")], ["True"])),
    "not in matching": (
        ObservationError,
        lambda each: each.observe([("a", "b")], {("x", "y"): True}),
    ),
    "both orders": (
        ObservationError,
        lambda each: each.observe([("a", "b")], {("a", "b"): True, ("b", "a"): True}),
    ),
    "bad in mapping": (
        ObservationError,
        lambda each: each.observe([("a", "b")], {("a", "b"): "yes"}),
    ),
    "no couple in mapping": (MatchingError, lambda each: each.observe([("a", "b")], {"ab": True})),
    "no matching": (MatchingError, lambda each: each.observe(None, [True])),
    "a string": (MatchingError, lambda each: each.observe("ab", [True, True])),
    "with itself": (MatchingError, lambda each: each.observe([("a", "a")], [True])),
    "three": (MatchingError, lambda each: each.observe([("a", "b", "x")], [True])),
}


def test_an_error_leaves_the_learner_unchanged(variant):
    learner = variant.learner("abxy")
    play(learner, 30)
    learner.propose(["a", "b"])
    before = learner.to_bytes()
    for name, (kind, call) in BAD_CALLS.items():
        with pytest.raises(PairupError) as caught:
            call(learner)
        assert caught.type is kind, name
        assert learner.to_bytes() == before, name
    assert_same_future(learner, Learner.from_bytes(before))
