"""Rules about outcomes, late or in bulk, players who are forgotten, names, and refused calls."""

from __future__ import annotations

import enum
import random
import re
from collections.abc import Callable
from typing import Any

from pairup.errors import MatchingError, ObservationError, PairupError, PlayerError
from pairup.learning.learner import Learner
from pairup.matching import Matching
from pairup.problem import Problem
from pairup.simulation.replication import new_replication
from pairup.testing.expectation import expect, expect_equal, expect_full
from pairup.testing.playing import expect_same_future, outcomes, play
from pairup.testing.variants import Variant


def learns_late_outcomes_in_any_order(variant: Variant) -> None:
    """Outcomes may come late, in any order and in parts."""
    learner, twin = variant.learner(range(8)), variant.learner(range(8))
    replication = new_replication(Problem.random(8, seed=1), 0, 0)
    known: list[tuple[Any, bool]] = []
    for t in range(12):
        matching = learner.propose()
        expect_equal(twin.propose(), matching, "matching while outcomes are pending")
        known.extend(zip(matching, outcomes(replication, t, matching), strict=True))
    for couple, played in known:
        learner.observe([couple], [played])
    random.Random(3).shuffle(known)
    for part in range(0, len(known), 7):
        couples = [random.Random(part).sample(couple, 2) for couple, _ in known[part : part + 7]]
        twin.observe(couples, [played for _, played in known[part : part + 7]])
    expect_equal((learner.pending, twin.pending), ({}, {}), "pending outcomes")
    expect_equal(sorted(learner.estimates()), sorted(twin.estimates()), "estimates")
    expect_same_future(learner, twin)


def learns_what_was_never_proposed(variant: Variant) -> None:
    """A learner that learns a history has the evidence of one that lived through it."""
    lived, told = variant.learner("abcdef"), variant.learner("abcdef")
    draw = random.Random(5)
    couples = [tuple(draw.sample("abcdef", 2)) for _ in range(40)]
    played = [draw.random() < 0.5 for _ in couples]
    # Of some games it is given who accepted, for some of them for one player alone.
    answers = [(game or draw.choice([None, False]), None) for game in played]
    for couple, game, (answer, _) in zip(couples, played, answers, strict=True):
        lived.record(Matching([couple]))
        lived.observe([couple], [game], accepted={} if answer is None else {couple[0]: answer})
    expect_equal(told.learn(couples, played, accepted=answers), len(couples), "rows learnt")
    expect_equal(sorted(told.estimates()), sorted(lived.estimates()), "estimates")
    lived_evidence, told_evidence = (_without_rounds(each.evidence()) for each in (lived, told))
    expect_equal(told_evidence, lived_evidence, "evidence")
    expect_full(play(told, 5)[-1], "abcdef")


def _without_rounds(evidence: bytes) -> bytes:
    """Remove the number of rounds, which a history does not have."""
    return re.sub(rb'"rounds": [0-9]+', b"", evidence, count=1)


def gives_a_newcomer_no_record(variant: Variant) -> None:
    """A newcomer inherits nothing of the player who left, and records of common games vanish.

    A learner with a high estimate of that player, and one with a low estimate, stay identical.
    """
    futures = []
    for played in (True, False):
        learner = variant.learner("abcdef")
        for other in "bcdef" * 4:
            learner.observe(learner.propose(["a", other]), [played])
        for other in "cdef" * 2:
            learner.observe(learner.propose(["b", other]), [True])
        learner.propose(["a", "b"])
        learner.leave("a")
        learner.join("z")
        expect_equal(learner.players[0], "z", "player in the slot that became free")
        known = {player for each in learner.estimates() for player in each.couple}
        expect("z" not in known, "the newcomer has estimates")
        expect_equal(learner.pending, {}, "pending outcomes")
        futures.append(learner)
    expect_equal(futures[0].estimates(), futures[1].estimates(), "estimates")
    if not variant.policy_class.draws_go_on:
        expect_same_future(futures[0], futures[1])
    elif not variant.given.learns_prior:
        rates = [each.rates(["z"]) for each in futures]
        expect_equal(rates[0], rates[1], "rate of the newcomer")


def forgets_players_who_left(variant: Variant) -> None:
    """Nothing remains of players who left, if their partners are to forget them too.

    Learners with one player in common stay identical.
    """
    futures = []
    for seed in (0, 1):
        learner = variant.learner("abcdef")
        play(learner, 30, seed)
        for gone, new in zip("bcdef", "vwxyz", strict=True):
            learner.leave(gone, rate=None)
            learner.join(new)
        expect_equal(learner.estimates(), [], "estimates of couples with a player who left")
        futures.append(learner)
    if not variant.given.learns_prior:
        expect_same_future(futures[0], futures[1])


def takes_any_hashable_name(variant: Variant) -> None:
    """Players have any hashable name, and the names change nothing."""

    class Colour(enum.Enum):
        RED = "red"

    names = ["ann", 3, ("bob", (1, "x")), frozenset("xy"), Colour.RED, 0.5, b"raw", object(), True]
    learner, twin = variant.learner(names), variant.learner(range(len(names)))
    for matching, numbered in zip(play(learner, 20), play(twin, 20), strict=True):
        expect_equal(list(matching), [(names[i], names[j]) for i, j in numbered], "couples")
        waiting = [names[i] for i in numbered.waiting]
        expect_equal(list(matching.waiting), waiting, "players who wait")


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


RULES = (
    learns_late_outcomes_in_any_order,
    learns_what_was_never_proposed,
    gives_a_newcomer_no_record,
    forgets_players_who_left,
    takes_any_hashable_name,
    is_unchanged_by_an_error,
)
