"""Rules of what is kept for good: what was observed, whoever proposed it."""

from __future__ import annotations

import random
import re

from pairup.learning.learner import Learner
from pairup.matching import Matching
from pairup.testing.expectation import expect, expect_equal, expect_full
from pairup.testing.playing import expect_same_future, play
from pairup.testing.variants import Variant


def has_the_evidence_that_it_was_told(variant: Variant) -> None:
    """A learner that is told of proposals has the same evidence as the one that made them."""
    asked, told = _lives(variant)
    expect_equal(told.evidence(), asked.evidence(), "evidence")
    expect_equal(told.pending, asked.pending, "pending outcomes")
    expect_equal(sorted(told.estimates()), sorted(asked.estimates()), "estimates")
    for learner in (asked, told):
        expect_full(play(learner, 5)[-1], learner.players)


def is_made_again_from_evidence(variant: Variant) -> None:
    """A learner that is made from evidence knows the same, and goes on in one way only."""
    (learner,) = _lives(variant, 1)
    rebuilt = Learner.from_evidence(learner.evidence())
    expect_equal(rebuilt.evidence(), learner.evidence(), "evidence")
    expect_equal(rebuilt.players, learner.players, "players")
    expect_equal(rebuilt.pending, learner.pending, "pending outcomes")
    expect_equal(sorted(rebuilt.estimates()), sorted(learner.estimates()), "estimates")
    leader = rebuilt.leader
    expect(leader is None or set(leader.players) == set(learner.players), "a leader of others")
    again = Learner.from_evidence(learner.evidence())
    for matching, same in zip(play(rebuilt, 20), play(again, 20), strict=True):
        expect_full(matching, learner.players)
        expect_equal(same, matching, "matching of a second learner made from the evidence")
    expect_equal(rebuilt.evidence(), again.evidence(), "evidence later")


def goes_on_from_evidence_and_cache(variant: Variant) -> None:
    """A learner that is made from evidence and cache goes on as if it had never stopped."""
    for learner in _lives(variant):
        learner.propose()
        twin = Learner.from_evidence(learner.evidence(), learner.cache())
        expect_same_future(learner, twin)


def learns_what_was_never_proposed(variant: Variant) -> None:
    """A learner that is told a history has the evidence of one that lived through it."""
    lived, told = variant.learner("abcdef"), variant.learner("abcdef")
    draw = random.Random(5)
    couples = [tuple(draw.sample("abcdef", 2)) for _ in range(40)]
    played = [draw.random() < 0.5 for _ in couples]
    # Of some games it is told who accepted, of some of them by one player alone.
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
    """Blot out the number of rounds, of which a history counts none."""
    return re.sub(rb'"rounds": [0-9]+', b"", evidence, count=1)


def _lives(variant: Variant, count: int = 2) -> list[Learner]:
    """Return learners of which the first is asked, and the others are only told what happened."""
    asked, *told = learners = [variant.learner("abcdef", seed=3) for _ in range(count)]
    draw = random.Random(7)
    for turn in range(60):
        present = list(asked.players)
        matching = asked.propose(draw.sample(present, draw.randint(2, len(present))))
        played = {couple: draw.random() < 0.5 for couple in matching if draw.random() < 0.9}
        gone = present[turn % len(present)]
        # What the first of them estimates is a fact, of which the others are told.
        rate = next((known.rate for known in asked.rates([gone])), None)
        for learner in told:
            learner.record(matching)
        for learner in learners:
            answers = {couple[0]: True for couple in played if played[couple]}
            learner.observe(matching, played, accepted=answers if turn % 2 else None)
            if turn % 10 == 4:
                learner.leave(gone, rate=rate)
            if turn % 20 == 9:
                learner.leave(gone, forget=False)
            if turn % 40 == 15:
                learner.forget(learner.kept[0], rate=rate)
            if turn % 5 == 1:
                learner.join(f"p{turn}")
    return learners


RULES = (
    has_the_evidence_that_it_was_told,
    is_made_again_from_evidence,
    goes_on_from_evidence_and_cache,
    learns_what_was_never_proposed,
)
