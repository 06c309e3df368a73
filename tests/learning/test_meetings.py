"""Who may meet whom, and what a game is worth, as a learner is told it."""

import math

import numpy as np
import pytest

from pairup import (
    CombThompson,
    Matching,
    MatchingError,
    Oracle,
    PlayerError,
    RankOneThompson,
    Uniform,
    Unimodal,
)

NAMES = ["ann", "bob", "cyd", "dan"]
LINE = [("ann", "bob"), ("bob", "cyd"), ("cyd", "dan")]
RATES = (0.9, 0.8, 0.7, 0.6)


def test_worth_decides_who_meets_and_who_waits():
    learner = Oracle(rates=RATES).learner(NAMES)
    assert learner.propose() == Matching([("ann", "bob"), ("cyd", "dan")])
    assert learner.propose(worth={("cyd", "bob"): 10.0}) == Matching(
        [("bob", "cyd"), ("ann", "dan")]
    )
    assert learner.propose(allowed=LINE, worth={("bob", "cyd"): 10.0}) == Matching(
        [("bob", "cyd")], ["ann", "dan"]
    )


def test_matrices_have_their_rows_in_the_order_of_the_available_players():
    learner = Oracle(rates=RATES).learner(NAMES)
    allowed = np.zeros((3, 3), bool)
    allowed[0, 1] = allowed[1, 0] = True  # dan and ann
    expected = Matching([("ann", "dan")], ["cyd"])
    assert learner.propose(["dan", "ann", "cyd"], allowed=allowed) == expected
    worth = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]])
    assert learner.propose(["dan", "ann", "cyd"], worth=worth) == Matching(
        [("cyd", "dan")], ["ann"]
    )


def test_couples_apart_are_forbidden_whatever_else_is_allowed():
    learner = RankOneThompson().learner(NAMES)
    for _ in range(20):
        matching = learner.propose(apart=[("bob", "ann")], allowed=LINE)
        assert ("ann", "bob") not in matching
        assert "ann" in matching.waiting


def test_rules_may_name_players_who_are_not_available():
    learner = Uniform().learner(NAMES)
    matching = learner.propose(["ann", "bob"], allowed=LINE, worth={("cyd", "dan"): 0.5})
    assert matching == Matching([("ann", "bob")])


def test_what_the_policy_wanted_is_visible():
    learner = Oracle(rates=RATES).learner(NAMES)
    assert learner.wanted is None
    matching = learner.propose(apart=[("ann", "bob")])
    assert ("ann", "bob") not in matching
    assert learner.wanted == Matching([("ann", "bob"), ("cyd", "dan")])
    matching = learner.propose(allowed=LINE)
    assert learner.wanted == matching


def test_the_leader_obeys_the_same_rules():
    learner = CombThompson().learner(NAMES)
    for couple, played in ((("ann", "bob"), True), (("cyd", "dan"), True), (("bob", "cyd"), False)):
        learner.observe(learner.propose(couple), [played])
    assert learner.leader_among() == Matching([("ann", "bob"), ("cyd", "dan")])
    assert ("ann", "bob") not in learner.leader_among(apart=[("ann", "bob")])
    on_line = learner.leader_among(allowed=LINE, worth={("bob", "cyd"): 100.0})
    assert on_line == Matching([("bob", "cyd")], ["ann", "dan"])
    assert Uniform().learner(NAMES).leader_among(allowed=LINE) is None


def test_learning_goes_on_between_proposals_with_rules_and_without():
    learner = RankOneThompson().learner(NAMES)
    for turn in range(40):
        matching = learner.propose(allowed=LINE) if turn % 2 else learner.propose()
        learner.observe(matching, ["ann" in couple for couple in matching])
    known = {couple for couple, *_ in learner.estimates()}
    assert known
    assert sum(each.proposed for each in learner.estimates()) >= 60


@pytest.mark.parametrize(
    ("rules", "error", "says"),
    [
        ({"allowed": [("ann", "eve")]}, PlayerError, "'eve' is not present"),
        ({"allowed": [("ann", "ann")]}, MatchingError, "'ann' with itself"),
        ({"allowed": "ab"}, MatchingError, "allowed must be a list of couples"),
        ({"allowed": np.ones((3, 3), bool)}, MatchingError, r"got shape \(3, 3\)"),
        ({"worth": {("ann", "eve"): 1}}, PlayerError, "'eve' is not present"),
        ({"worth": {("ann", "bob"): -1}}, MatchingError, r"got -1 for \('ann', 'bob'\)"),
        ({"worth": {("ann", "bob"): math.nan}}, MatchingError, "got nan"),
        ({"worth": {("ann", "bob"): "much"}}, MatchingError, "got 'much'"),
        ({"worth": np.triu(np.ones((4, 4)), 1)}, MatchingError, "worth must be symmetric"),
    ],
)
def test_bad_rules_are_refused_before_anything_is_proposed(rules, error, says):
    learner = RankOneThompson().learner(NAMES)
    before = learner.to_bytes()
    with pytest.raises(error, match=says):
        learner.propose(**rules)
    assert learner.to_bytes() == before


def test_forbidden_couples_leave_the_complete_policies_as_they_were():
    learner = Unimodal().learner(NAMES)
    matching = learner.propose(apart=[("ann", "bob")])
    assert ("ann", "bob") not in matching
    assert len(matching) == 2
