"""Rules about refusals: an error leaves a learner as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pairup.errors import MatchingError, ObservationError, PairupError, PlayerError
from pairup.learning.learner import Learner
from pairup.testing.expectation import expect, expect_equal
from pairup.testing.playing import expect_same_future, play
from pairup.testing.variants import Variant

_BAD_CALLS: dict[str, tuple[type[PairupError], Callable[[Any], Any]]] = {
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
    "leave at a rate of 2": (PlayerError, lambda each: each.leave("a", rate=2)),
    "forget one present": (PlayerError, lambda each: each.forget("a")),
    "learn of strangers": (PlayerError, lambda each: each.learn([("a", "new")], [True])),
    "learn nothing": (ObservationError, lambda each: each.learn([("a", "b")])),
    "learn an integer": (ObservationError, lambda each: each.learn([("a", "b")], [1])),
    "learn a contradiction": (
        ObservationError,
        lambda each: each.learn([("n", "m")], [True], accepted=[(False, None)], unknown="join"),
    ),
    "learn of one": (MatchingError, lambda each: each.learn([("a", "a")], [True])),
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


def is_unchanged_by_an_error(variant: Variant) -> None:
    """A call that is refused leaves the learner unchanged."""
    learner = variant.learner("abxy")
    play(learner, 30)
    learner.propose(["a", "b"])
    before = learner.to_bytes()
    for name, (kind, call) in _BAD_CALLS.items():
        try:
            call(learner)
        except PairupError as error:
            expect_equal(type(error), kind, f"error of a call with {name}")
        else:
            expect(False, f"a call with {name} is not refused")
        expect_equal(learner.to_bytes(), before, f"what is saved after a call with {name}")
    expect_same_future(learner, Learner.from_bytes(before))


RULES = (is_unchanged_by_an_error,)
