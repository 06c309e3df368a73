import enum
import uuid

import numpy as np
import pytest

from pairup import (
    SAM,
    CoupleEstimate,
    EpsilonGreedy,
    ExploreThenCommit,
    Learner,
    Matching,
    ObservationError,
    Oracle,
    PlayerError,
    PolicyError,
    Problem,
    SavingError,
    Uniform,
    Unimodal,
)
from pairup.simulation.replication import new_replication
from pairup.testing.playing import outcomes
from tests.support.policy_variants import variants


def test_the_leader_becomes_the_optimum():
    problem = Problem([0.9, 0.3, 0.85, 0.25, 0.1, 0.6])
    replication = new_replication(problem, 0, 0)
    learner = Unimodal().learner(range(6))
    for t in range(3_000):
        matching = learner.propose()
        learner.observe(matching, outcomes(replication, t, matching))
    assert learner.leader == Problem(replication.rates).optimum
    best = learner.estimates()[0]
    assert best.couple in learner.leader
    assert best.rate == pytest.approx(0.9 * 0.85, abs=0.05)


def test_estimates_come_best_first():
    learner = Unimodal().learner("abcd")
    for couple, played in [("ab", True), ("ab", False), ("cd", True), ("ac", False)]:
        learner.observe(learner.propose(list(couple)), [played])
    assert learner.estimates() == [
        CoupleEstimate(("c", "d"), 1, 1),
        CoupleEstimate(("a", "b"), 2, 1),
        CoupleEstimate(("a", "c"), 1, 0),
    ]
    assert [estimate.rate for estimate in learner.estimates()] == [1.0, 0.5, 0.0]
    assert Uniform().learner("ab").estimates() == []


def test_the_leader_matches_all_players_present():
    learner = Unimodal().learner("abcde")
    for couple in ["ab", "cd"]:
        for _ in range(5):
            learner.observe(learner.propose(list(couple)), [True])
    learner.propose(["c", "e"])
    assert learner.leader == Matching([("a", "b"), ("c", "d")], ["e"])
    assert Uniform().learner("abcd").leader is None


@pytest.mark.parametrize(
    ("matching", "played"),
    [
        ([("a", "b"), ("c", "d")], [True, False]),
        ([["b", "a"], ["d", "c"]], [True, False]),
        (iter([("a", "b"), ("c", "d")]), iter([True, False])),
        ([("c", "d"), ("b", "a")], np.array([False, True])),
        ([{"a", "b"}, {"c", "d"}], (value for value in [True, False])),
        (Matching([("a", "b"), ("c", "d")]), {("c", "d"): False, ("b", "a"): True}),
        (iter([["a", "b"], ["c", "d"]]), {frozenset("ab"): True, ("c", "d"): np.False_}),
    ],
)
def test_outcomes_come_in_any_form(matching, played):
    learner = Unimodal().learner("abcd")
    learner.observe(learner.propose(["a", "b"]), [True])
    learner.propose(["a", "b"])
    learner.propose(["c", "d"])
    learner.observe(matching, played)
    assert learner.pending == {}
    assert set(learner.estimates()) == {
        CoupleEstimate(("a", "b"), 2, 2),
        CoupleEstimate(("c", "d"), 1, 0),
    }


def test_no_outcomes_leave_all_of_them_pending():
    learner = Unimodal().learner("abcd")
    learner.propose(["a", "b"])
    learner.observe(iter([]), [])
    assert learner.pending == {("a", "b"): 1}
    assert not any(each.proposed for each in learner.estimates())


def test_a_couple_proposed_twice_has_two_outcomes_pending():
    learner = Unimodal().learner("ab")
    learner.propose()
    learner.propose()
    assert learner.pending == {("a", "b"): 2}
    learner.observe([("a", "b"), ("b", "a")], [True, False])
    assert learner.pending == {}
    with pytest.raises(ObservationError, match="no outcome of 'a' and 'b' is pending"):
        learner.observe([("a", "b")], [True])


def test_pending_outcomes_of_a_player_who_left_lapse():
    learner = Unimodal().learner("abcd")
    matching = learner.propose(["a", "b"])
    learner.propose(["c", "d"])
    learner.leave("a")
    assert learner.pending == {("c", "d"): 1}
    with pytest.raises(PlayerError, match="'a' is not present"):
        learner.observe(matching, [True])
    learner.join("a")
    with pytest.raises(ObservationError, match="no outcome of"):
        learner.observe(matching, [True])


@pytest.mark.parametrize(
    ("players", "says"),
    [
        (["a", "b", "a"], "'a' is present already"),
        (["a", None], "None"),
        (["a", ["b"]], "not hashable"),
        (5, "players must be a list of players, got 5: write"),
    ],
)
def test_bad_players_are_refused(players, says):
    with pytest.raises(PlayerError, match=says):
        Uniform().learner(players)


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, "1", None, True])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(PolicyError, match="seed must be an integer"):
        Uniform().learner("ab", seed)


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (SAM(), "horizon"),
        (ExploreThenCommit(), "cycles or a horizon"),
        (Oracle(), "acceptance rates"),
    ],
)
def test_options_that_a_simulation_would_give_are_required(policy, says):
    with pytest.raises(PolicyError, match=says):
        policy.learner("abcd")


def test_an_unknown_player_is_answered_with_the_nearest_name():
    with pytest.raises(PlayerError, match=r"player 'anne' is not present; did you mean \"ann\"\?"):
        Uniform().learner(["ann", "bob"]).leave("anne")
    with pytest.raises(PlayerError, match=r"available must be .* got 'ann': write \['ann'\]"):
        Uniform().learner(["ann", "bob"]).propose("ann")


def test_a_player_who_does_not_fit_into_memory_changes_nothing(monkeypatch):
    learner = Unimodal().learner("ab")
    learner.observe(learner.propose(), [True])
    before = learner.to_bytes()

    def no_room(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Unimodal, "start", no_room)
        with pytest.raises(MemoryError):
            learner.join("c")
    assert learner.to_bytes() == before
    learner.join("c")
    assert learner.players == ("a", "b", "c")


def test_names_that_are_saved_come_back():
    names = ["ann", "", "\ud800", 3, -(2**70), ("bob", (1, ())), (), np.int64(7), np.str_("zoë")]
    learner = Uniform().learner(names)
    twin = Learner.from_bytes(learner.to_bytes())
    assert twin.players == learner.players
    assert twin.propose() == learner.propose()


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    "name", [0.5, True, b"raw", frozenset("ab"), Colour.RED, uuid.UUID(int=1), ("ann", 0.5)]
)
def test_names_that_cannot_be_saved_are_refused(name):
    learner = Uniform().learner(["ann", name, "bob"])
    with pytest.raises(SavingError, match="a saved player's name is a string, an integer or a"):
        learner.to_bytes()
    assert len(learner.propose()) == 1


@pytest.mark.parametrize(
    "policy",
    [
        SAM(horizon=np.int64(50)),
        ExploreThenCommit(np.int64(5), np.int64(9)),
        EpsilonGreedy(epsilon=np.float32(3)),
        Oracle(rates=np.array([0.5, 0.25], np.float32)),
    ],
)
def test_options_of_numpy_can_be_saved(policy):
    assert Learner.from_bytes(policy.learner("ab").to_bytes()).policy == policy


def test_a_learner_has_its_policy():
    policy = Unimodal(index="ucb")
    assert policy.learner("ab").policy is policy


def test_only_couples_that_were_proposed_can_be_withdrawn():
    learner = Unimodal().learner("abcd")
    learner.propose(["a", "b"])
    with pytest.raises(ObservationError, match="no outcome of 'c' and 'd' is pending"):
        learner.withdraw([("a", "b"), ("c", "d")])
    assert learner.pending == {("a", "b"): 1}


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_another_policy_takes_over_all_outcomes(variant):
    first = Unimodal().learner("abcdefg")
    first.leave("c")
    for played in (True, False, True, True):
        first.observe(first.propose(), [played, not played, True])
    matching = first.propose(["a", "b"])
    second = first.with_policy(variant.policy([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]), seed=3)
    assert second.players == first.players
    assert second.pending == first.pending
    kept = set() if variant.policy_class in (Oracle, Uniform) else set(first.estimates())
    assert set(second.estimates()) == kept
    second.observe(matching, [True])
    assert len(second.propose()) == 3
    assert Learner.from_bytes(second.to_bytes()).propose() == second.propose()


def test_the_repr_counts_players_and_outcomes():
    learner = Unimodal(index="ucb").learner("abcde")
    for _ in range(3):
        learner.observe(learner.propose(), [True, False])
    learner.propose(["a", "b"])
    counts = "5 players, 1 outcomes pending, 6 learnt"
    assert repr(learner) == f"Learner(Unimodal(index='ucb'), {counts})"
    assert repr(Uniform().learner("ab")) == "Learner(Uniform(), 2 players, 0 outcomes pending)"


def test_a_player_who_is_away_can_be_forgotten_before_or_after_a_look():
    learners = [SAM(horizon=100).learner("abcd") for _ in range(2)]
    for looked in (False, True):
        learner = learners[looked]
        for _ in range(4):
            learner.observe(learner.propose(), [True, False])
        learner.leave("d", forget=False)
        if looked:
            learner.leader  # noqa: B018 # the policy is told who is present
        learner.forget("d", rate=None)
    assert learners[0].to_bytes() == learners[1].to_bytes()
