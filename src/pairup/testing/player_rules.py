"""Rules of players who come and go, of their names, and of outcomes that come late."""

from __future__ import annotations

import enum
import itertools
import random
from typing import Any

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


def learns_part_of_a_matching(variant: Variant) -> None:
    """A mapping of outcomes may leave couples out, and name them in either order."""
    learner = variant.learner("abcd")
    matching = learner.propose()
    (a, b), (c, d) = matching
    learner.observe(matching, {(b, a): True})
    expect_equal(learner.pending, {(c, d): 1}, "pending outcomes")
    learner.observe(matching, {(d, c): False})
    expect_equal(learner.pending, {}, "pending outcomes")


def lets_players_join_and_leave(variant: Variant) -> None:
    """Players join and leave midway, and only those present are known and coupled."""
    learner, pick = variant.learner(range(3)), random.Random(4)
    present, names = set(range(3)), itertools.count(3)
    for _ in range(120):
        if pick.random() < (0.8 if len(present) < 12 else 0.2):
            present.add(next(names))
            learner.join(max(present))
        else:
            gone = pick.choice(sorted(present))
            present.remove(gone)
            learner.leave(gone)
        expect_equal(set(learner.players), present, "players")
        expect_full(play(learner, 2, seed=len(present))[-1], present)
        known = {player for each in learner.estimates() for player in each.couple}
        expect(known <= present, "estimates name players who left")
    expect_same_future(learner, Learner.from_bytes(learner.to_bytes()))


def lets_all_leave_and_others_come(variant: Variant) -> None:
    """All may leave, and many others come."""
    learner = variant.learner("abc")
    play(learner, 5)
    for player in "abc":
        learner.leave(player)
        if learner.leader is not None:
            expect_equal(set(learner.leader.players), set(learner.players), "leader's players")
    expect_equal(learner.propose(), Matching(()), "matching of nobody")
    expect_equal(learner.players, (), "players")
    expect_same_future(learner, Learner.from_bytes(learner.to_bytes()))
    for player in "defghijklm":
        learner.join(player)
    expect_full(play(learner, 30)[-1], "defghijklm")


def gives_a_newcomer_no_record(variant: Variant) -> None:
    """A newcomer inherits nothing of the player who left, and others' records with him vanish.

    A learner that thought highly of the player who left, and one that did not, go on alike.
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
    if variant.policy_class.draws_go_on:
        rates = [{known.player: known for known in each.rates()}["z"] for each in futures]
        expect_equal(rates[0], rates[1], "rate of the newcomer")
        expect_equal(futures[0].estimates(), futures[1].estimates(), "estimates")
    else:
        expect_same_future(futures[0], futures[1])


def forgets_players_who_left(variant: Variant) -> None:
    """Of players who left nothing stays, if their partners are to forget them too.

    Learners with one player in common go on alike.
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
    expect_same_future(futures[0], futures[1])


def keeps_players_who_may_return(variant: Variant) -> None:
    """A player who left and was kept finds its record again, and may be forgotten."""
    learner = variant.learner("abcdef")
    play(learner, 30)
    known = sorted(learner.estimates())
    for player in "eb":
        learner.leave(player, forget=False)
    expect_equal((set(learner.players), learner.kept), (set("acdf"), ("b", "e")), "players")
    named = {player for each in learner.estimates() for player in each.couple}
    expect(named <= set("acdf"), "estimates name players who are away")
    expect_full(learner.propose(), "acdf")
    expect_same_future(learner, Learner.from_bytes(learner.to_bytes()), rounds=0)
    expect_equal(Learner.from_evidence(learner.evidence()).kept, ("b", "e"), "players kept")
    for player in "be":
        learner.join(player)
    expect_equal(learner.kept, (), "players kept")
    expect_equal(sorted(learner.estimates()), known, "estimates after the return")
    learner.leave("b", forget=False)
    learner.forget("b")
    learner.join("b")
    named = {player for each in learner.estimates() for player in each.couple}
    expect("b" not in named, "a player who was forgotten has estimates")
    expect_full(play(learner, 5)[-1], "abcdef")


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


RULES = (
    learns_late_outcomes_in_any_order,
    learns_part_of_a_matching,
    lets_players_join_and_leave,
    lets_all_leave_and_others_come,
    gives_a_newcomer_no_record,
    forgets_players_who_left,
    keeps_players_who_may_return,
    takes_any_hashable_name,
)
