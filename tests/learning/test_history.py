"""Outcomes in bulk: the forms in which they come, and what is learnt of them."""

import numpy as np
import polars as pl
import pytest

from pairup import (
    PMED,
    ExploreThenCommit,
    Learner,
    Matching,
    MatchingError,
    ObservationError,
    PlayerError,
    PolicyError,
    RankOneThompson,
    Uniform,
    Unimodal,
)
from pairup.learning.history import read_history
from pairup.learning.roster import Roster

ONE, OTHER = ["ann", "bob", "cyd"], ["bob", "ann", "ann"]
NAMED = list(zip(ONE, OTHER, strict=True))
FORMS = {
    "pairs": NAMED,
    "iterator": iter(NAMED),
    "lists": [list(pair) for pair in NAMED],
    "sets": [set(pair) for pair in NAMED],
    "array": np.array(NAMED),
    "arrays": (np.array(ONE), np.array(OTHER)),
    "objects": (np.array(ONE, object), np.array(OTHER, object)),
    "series": (pl.Series(ONE), pl.Series(OTHER)),
}


@pytest.mark.parametrize("form", FORMS)
def test_couples_come_in_rows_or_columns(form):
    learner = Unimodal().learner(["ann", "bob", "cyd"])
    assert learner.learn(FORMS[form], [True, False, False]) == 3
    counts = {each.couple: each[1:] for each in learner.estimates()}
    assert counts == {("ann", "bob"): (2, 1), ("ann", "cyd"): (1, 0)}
    assert all(type(name) is str for name in learner.players)


@pytest.mark.parametrize(
    "accepted",
    [
        [(True, False), (None, True), (False, None)],
        np.array([[True, False], [None, True], [False, None]], object),
        np.array([[True, False], [np.nan, True], [False, np.nan]], object),
        (pl.Series([True, None, False]), pl.Series([False, True, None])),
    ],
)
def test_answers_come_with_missing_values(accepted):
    history = read_history(NAMED, None, accepted)
    assert history.answers.tolist() == [[1, 0], [-1, 1], [0, -1]]
    observed = history.observed(Roster(["ann", "bob", "cyd"]))
    assert observed.couples.tolist() == [[0, 1], [0, 2]]  # nothing follows from one acceptance
    assert observed.answers.tolist() == [[1, 0], [-1, 0]]
    assert observed.played.tolist() == [False, False]


def test_rows_that_decide_nothing_are_left_out():
    learner = RankOneThompson().learner(["ann", "bob", "cyd"])
    assert learner.learn(NAMED, [None, True, None], accepted=[(True, None)] * 3) == 1
    assert [each.couple for each in learner.estimates()] == [("ann", "bob")]


@pytest.mark.parametrize("unknown", ["join", "keep"])
def test_a_history_is_the_evidence_of_a_learner_that_lived_through_it(unknown):
    draw = np.random.default_rng(3)
    names = np.array([f"p{number}" for number in range(40)], object)
    pairs = np.array([draw.choice(40, 2, replace=False) for _ in range(600)])
    one, other = names[pairs[:, 0]], names[pairs[:, 1]]
    played = draw.random(600) < 0.4
    declined = np.where(played | (draw.random(600) < 0.5), None, False)
    lived, learner = RankOneThompson().learner([]), RankOneThompson().learner([])
    for name in dict.fromkeys([*one, *other]):
        lived.join(name)
    for i, j, game, answer in zip(one, other, played.tolist(), declined, strict=True):
        lived.record(Matching([(i, j)]))
        lived.observe([(i, j)], [game], accepted={} if answer is None else {i: answer})
    accepted = declined, np.full(600, None)
    assert learner.learn((one, other), played, accepted=accepted, unknown=unknown) == 600
    for name in learner.kept:
        learner.join(name)
    assert learner.evidence() == lived.evidence().replace(b'"rounds": 600', b'"rounds": 0', 1)


def test_players_who_are_kept_are_learnt_of():
    learner = Unimodal().learner(["ann", "bob"])
    learner.leave("bob", forget=False)
    learner.learn([("bob", "ann")], [True])
    assert learner.estimates() == []
    learner.join("bob")
    assert learner.estimates()[0].played == 1


@pytest.mark.parametrize(
    ("couples", "played", "accepted", "kind", "says"),
    [
        (NAMED, None, None, ObservationError, "give `played`, `accepted` or both"),
        (NAMED, [True], None, ObservationError, "`played` has 1 rows for 3 couples"),
        (NAMED, True, None, ObservationError, "`played` must be a list of values, got True"),
        (NAMED, [True, 1, None], None, ObservationError, "got 1 in row 1"),
        (NAMED, None, [(True, 0)] * 3, ObservationError, "got 0 in row 0"),
        (NAMED, None, [(True,)] * 3, ObservationError, "two answers per row"),
        (NAMED, None, [True] * 3, ObservationError, "two answers per row, got True"),
        (NAMED, [True] * 3, [(True, True)] * 2 + [(False, None)], ObservationError, "row 2"),
        ([("ann", "ann")], [True], None, MatchingError, "'ann' is coupled with itself in row 0"),
        ([("ann",)], [True], None, MatchingError, "exactly two distinct players"),
        ("ann", [True], None, MatchingError, "couples must be a list of pairs, got 'ann'"),
        ((np.array(ONE), np.array(["bob"])), [True] * 3, None, MatchingError, "3 and 1 names"),
        ([("ann", "eve")], [True], None, PlayerError, "1 of the players are not known, 'eve'"),
        ([("ann", ["eve"])], [True], None, PlayerError, r"\['eve'\] is not hashable"),
        ([("ann", None)], [True], None, PlayerError, "not known, None"),
    ],
)
def test_bad_histories_are_refused_and_change_nothing(couples, played, accepted, kind, says):
    learner = RankOneThompson().learner(["ann", "bob", "cyd"])
    before = learner.to_bytes()
    with pytest.raises(kind, match=says):
        learner.learn(couples, played, accepted=accepted)
    assert learner.to_bytes() == before


@pytest.mark.parametrize("unknown", ["join", "keep"])
def test_nobody_is_let_in_by_a_history_that_is_refused(unknown):
    learner = Unimodal().learner(["ann"])
    before = learner.to_bytes()
    for couples, played in (
        ([("ann", "bob"), ("cyd", None)], [True, True]),
        ([("ann", "bob"), ("cyd", "dan")], [True, None]),
    ):
        with pytest.raises((PlayerError, ObservationError)):
            learner.learn(couples, played, accepted=[(False, None)] * 2, unknown=unknown)
        assert learner.to_bytes() == before
        assert (learner.players, learner.kept) == (("ann",), ())


@pytest.mark.parametrize("couple", [("ann", "bob"), ("bob", "eve"), ("eve", "fay")])
def test_exploration_goes_on_after_a_history_that_is_refused(couple):
    """Also if some who would have come found a free slot, and others needed more room."""
    learner = ExploreThenCommit(cycles=5).learner(["ann", "bob", "cyd", "dan"])
    learner.leave("cyd")
    for _ in range(7):
        learner.observe(learner.propose(), [True])
    before = learner.to_bytes()
    with pytest.raises(ObservationError, match="row 0"):
        learner.learn([couple], [True], accepted=[(False, None)], unknown="join")
    assert learner.to_bytes() == before


def test_players_who_are_too_many_are_refused_before_room_is_made_for_them():
    learner = PMED().learner(["ann", "bob"])
    before = learner.to_bytes()
    couples = [(f"player {i}", "ann") for i in range(10**6)]
    with pytest.raises(PolicyError, match="at most 40 players, got 1000002"):
        learner.learn(couples, [True] * len(couples), unknown="join")
    assert learner.to_bytes() == before


def test_a_word_for_unknown_players_is_checked():
    with pytest.raises(PlayerError, match='did you mean "join"'):
        Uniform().learner([]).learn([], [], unknown="joins")


def test_an_empty_history_teaches_nothing():
    learner = Learner(Unimodal(), "ab")
    assert learner.learn([], []) == 0
    assert learner.learn(np.zeros((0, 2), object), [], accepted=[]) == 0
    assert learner.estimates() == []
