"""What every policy must do, and passes merely by being registered."""

import enum
import itertools
import random

import numpy as np
import pytest

from pairup import (
    Learner,
    Matching,
    Problem,
    get_policy,
    simulate,
)
from pairup.simulation.replication import new_replication
from tests.support.learners import assert_full, assert_same_future, play
from tests.support.policy_variants import (
    outcomes,
    served,
    simulated,
    size,
    variants,
)

SIZES = range(2, 14)

pytestmark = pytest.mark.parametrize("variant", variants(), ids=str)


@pytest.mark.parametrize("players", SIZES)
def test_proposes_full_matchings(variant, players):
    for matching in play(variant.learner(range(players)), 60):
        assert_full(matching, range(players))


@pytest.mark.parametrize("players", [2, 3, 4, 7, 8, 13])
def test_what_is_served_is_what_is_simulated(variant, players):
    problem = Problem.random(players, seed=players)
    replication = new_replication(problem, 5, 0)
    policy = variant.policy(replication.rates)
    rounds = range(300)
    learner = policy.learner(range(players), seed=5)
    regrets, games = [], []
    for ours, theirs in zip(
        served(learner, replication, rounds),
        simulated(policy, replication, rounds, seed=5),
        strict=True,
    ):
        assert list(ours[0]) == theirs[0]
        assert ours[1:] == theirs[1:3]
        regrets.append(ours[1])
        games.append(ours[2])
    run = simulate(problem, policy, len(rounds), 1, seed=5, checkpoints=[t + 1 for t in rounds])
    assert run.regret[0].tolist() == regrets
    assert run.games[0].tolist() == games


def test_seeded_runs_repeat_bit_for_bit(variant):
    problem = Problem.random(7, seed=3)
    first, again, other = (
        simulate(problem, variant.policy(problem.rates), 500, 3, seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first.regret, again.regret)
    assert np.array_equal(first.games, again.games)
    assert not np.array_equal(first.games, other.games)


def test_another_seed_changes_proposals_if_and_only_if_the_policy_draws(variant):
    first, again, other = (play(variant.learner(range(10), seed), 5) for seed in (1, 1, 2))
    assert first == again
    draws = get_policy(variant.name).draws_at_random
    assert (first != other) == draws


@pytest.mark.parametrize("players", [2, 5, 8])
def test_saving_midway_changes_nothing(variant, players):
    learner = variant.learner(range(players), seed=4)
    for rounds in (0, 1, 30, 100):
        play(learner, rounds)
        assert_same_future(learner, Learner.from_bytes(learner.to_bytes()))


def test_saving_keeps_pending_outcomes_and_present_players(variant):
    learner = variant.learner("abcdefg")
    play(learner, 20)
    learner.leave("c")
    learner.leave("a")
    learner.join("h")
    late = [learner.propose(), learner.propose("bdeh"[:3].__iter__()), learner.propose()]
    twin = Learner.from_bytes(learner.to_bytes())
    assert twin.pending == learner.pending
    assert twin.players == learner.players
    assert twin.leader == learner.leader
    assert twin.estimates() == learner.estimates()
    for each in (learner, twin):
        for matching in late:
            each.observe(matching, [True] * len(matching))
        each.join("i")
        each.join("j")
    assert_same_future(learner, twin)


def test_the_state_does_not_grow_with_the_rounds(variant):
    replication = new_replication(Problem.random(9, seed=2), 0, 0)
    policy = variant.policy(replication.rates)
    sizes = [size(state) for *_, state in simulated(policy, replication, [500, 20_000])]
    assert sizes[1] <= 2 * sizes[0]
    assert sizes[1] < 2**16


def test_what_is_saved_does_not_grow_with_the_rounds(variant):
    replication, pick = new_replication(Problem(np.linspace(0.1, 0.9, 9)), 0, 0), random.Random(0)
    learner, sizes = variant.policy(replication.rates).learner(range(9)), []
    for t in range(1_600):
        available = pick.sample(range(9), pick.randint(2, 9)) if t % 2 else None
        matching = learner.propose(available)
        learner.observe(matching, outcomes(replication, t, matching))
        sizes.append(len(learner.to_bytes()) if t % 400 == 399 else 0)
    assert sizes[1_599] <= 1.2 * sizes[399]
    assert max(sizes) < 2**13


def test_outcomes_that_never_come_stay_bounded(variant):
    learner = variant.learner(range(7))
    for _ in range(300):
        learner.propose()
    assert len(learner.pending) <= 7 * 6 // 2
    assert sum(learner.pending.values()) == 300 * 3


@pytest.mark.parametrize(
    "rates",
    [
        [0, 0],
        [1, 1],
        [0, 1],
        [0, 0, 0],
        [1, 0, 1],
        [0] * 6,
        [1] * 6,
        [0.5] * 7,
        [1, 1, 0, 0],
        [1, 0, 1, 0, 1],
        [1e-300, 1 - 2**-53, 0.5, 5e-324],
    ],
)
def test_holds_at_the_extremes(variant, rates):
    problem = Problem(rates)
    run = simulate(problem, variant.policy(rates), 400, 2, checkpoints=range(1, 401))
    assert np.all(np.diff(run.regret, axis=1) >= 0)
    assert np.all(run.regret <= problem.best_games * run.rounds * (1 + 1e-9))
    if len(set(rates)) == 1 or len(rates) == 2:
        assert np.all(run.regret == 0)
    if set(rates) == {1}:
        assert np.all(run.games == problem.pairs * run.rounds)
    if 1 not in rates and set(rates) <= {0}:
        assert np.all(run.games == 0)


@pytest.mark.parametrize("players", [2, 5, 8])
def test_matches_whoever_is_available(variant, players):
    learner, pick = variant.learner(range(players)), random.Random(1)
    for count in [*range(players + 1)] * 4:
        available = pick.sample(range(players), count)
        before = learner.to_bytes()
        assert_full(play(learner, 1, available=iter(available))[0], available)
        if count < 2:
            assert learner.to_bytes() == before
        assert learner.leader is None or set(learner.leader.players) == set(range(players))
        assert_full(play(learner, 1)[0], range(players))


def test_all_available_is_the_default(variant):
    learner, twin = variant.learner(range(6)), variant.learner(range(6))
    for _ in range(30):
        assert play(learner, 1, available=[5, 3, 4, 0, 1, 2]) == play(twin, 1)
    assert learner.to_bytes() == twin.to_bytes()


def test_a_look_at_the_leader_changes_nothing(variant):
    looked, twin = variant.learner(range(7)), variant.learner(range(7))
    pick = random.Random(2)
    for _ in range(60):
        available = pick.sample(range(7), pick.randint(2, 7))
        assert play(looked, 1, available=available) == play(twin, 1, available=available)
        if looked.leader is not None:
            assert_full(looked.leader, range(7))
        looked.estimates(), looked.pending, looked.to_bytes()
    assert looked.to_bytes() == twin.to_bytes()


def test_outcomes_come_late_in_any_order_and_in_parts(variant):
    learner, twin = variant.learner(range(8)), variant.learner(range(8))
    replication = new_replication(Problem.random(8, seed=1), 0, 0)
    known = []
    for t in range(12):
        matching = learner.propose()
        assert twin.propose() == matching
        known.extend(zip(matching, outcomes(replication, t, matching), strict=True))
    for couple, played in known:
        learner.observe([couple], [played])
    random.Random(3).shuffle(known)
    for part in range(0, len(known), 7):
        couples = [random.Random(part).sample(couple, 2) for couple, _ in known[part : part + 7]]
        twin.observe(couples, (played for _, played in known[part : part + 7]))
    assert learner.pending == twin.pending == {}
    assert sorted(learner.estimates()) == sorted(twin.estimates())
    assert_same_future(learner, twin)


def test_a_mapping_may_leave_outcomes_out(variant):
    learner = variant.learner("abcd")
    matching = learner.propose()
    (a, b), (c, d) = matching
    learner.observe(matching, {(b, a): np.True_})
    assert learner.pending == {(c, d): 1}
    learner.observe(matching, {frozenset((c, d)): False})
    assert learner.pending == {}


def test_players_join_and_leave_midway(variant):
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
        assert set(learner.players) == present
        assert_full(play(learner, 2, seed=len(present))[-1], present)
        assert {player for each in learner.estimates() for player in each.couple} <= present
    assert_same_future(learner, Learner.from_bytes(learner.to_bytes()))


def test_all_may_leave_and_come_back(variant):
    learner = variant.learner("abc")
    play(learner, 5)
    for player in "abc":
        learner.leave(player)
        assert learner.leader is None or set(learner.leader.players) == set(learner.players)
    assert learner.propose() == Matching(())
    assert learner.players == ()
    assert_same_future(learner, Learner.from_bytes(learner.to_bytes()))
    for player in "defghijklm":
        learner.join(player)
    assert_full(play(learner, 30)[-1], "defghijklm")


def test_begins_with_nobody_or_one(variant):
    learner = variant.learner([])
    assert learner.propose() == Matching(())
    learner.join("a")
    assert learner.propose() == Matching((), ["a"])
    learner.join("b")
    assert learner.propose() == Matching([("a", "b")])


@pytest.mark.parametrize("count", [6, 7])
def test_can_be_saved_whoever_is_available(variant, count):
    players, draw = "abcdefg"[:count], random.Random(count)
    learner = variant.learner(players)
    for _ in range(40):
        available = draw.sample(players, draw.randrange(2, count + 1))
        matching = learner.propose(available)
        assert set(matching.players) == set(available)
        learner = Learner.from_bytes(learner.to_bytes())
        if draw.random() < 0.8:
            learner.observe(matching, [draw.random() < 0.5 for _ in matching])


def test_a_new_player_inherits_nothing(variant):
    """A learner that thought highly of the player who left, and one that did not, go on alike."""
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
        assert learner.players[0] == "z"  # in the slot of "a"
        assert "z" not in {player for each in learner.estimates() for player in each.couple}
        assert learner.pending == {}
        futures.append(learner)
    if get_policy(variant.name).draws_go_on:
        assert len({known["z"] for known in map(rates_by_player, futures)}) == 1
        assert futures[0].estimates() == futures[1].estimates()
    else:
        assert_same_future(*futures)


def rates_by_player(learner):
    return {known.player: known for known in learner.rates()}


def test_nothing_stays_of_players_who_left(variant):
    """Two learners with different pasts, of which one player is left, go on alike."""
    futures = []
    for seed in (0, 1):
        learner = variant.learner("abcdef")
        play(learner, 30, seed)
        for gone, new in zip("bcdef", "vwxyz", strict=True):
            learner.leave(gone)
            learner.join(new)
        assert learner.estimates() == []
        futures.append(learner)
    assert_same_future(*futures)


def test_players_have_any_hashable_name(variant):
    class Colour(enum.Enum):
        RED = "red"

    names = ["ann", 3, ("bob", (1, "x")), frozenset("xy"), Colour.RED, 0.5, b"raw", object(), True]
    learner, twin = variant.learner(names), variant.learner(range(len(names)))
    for matching, numbered in zip(play(learner, 20), play(twin, 20), strict=True):
        assert [(names[i], names[j]) for i, j in numbered] == list(matching)
        assert [names[i] for i in numbered.waiting] == list(matching.waiting)


def lives(variant, count=2):
    """Return learners of which the first is asked, and the others are only told what happened."""
    asked, *told = (variant.learner("abcdef", seed=3) for _ in range(count))
    draw = random.Random(7)
    for turn in range(60):
        present = list(asked.players)
        matching = asked.propose(draw.sample(present, draw.randint(2, len(present))))
        played = {couple: draw.random() < 0.5 for couple in matching if draw.random() < 0.9}
        for learner in told:
            learner.record(matching)
        for learner in (asked, *told):
            answers = {couple[0]: True for couple in played if played[couple]}
            learner.observe(matching, played, accepted=answers if turn % 2 else None)
            if turn % 10 == 4:
                learner.leave(present[turn % len(present)])
            if turn % 10 in (1, 7):
                learner.join(f"p{turn}")
    return asked, *told


def test_a_learner_that_is_told_of_proposals_has_the_same_evidence(variant):
    asked, told = lives(variant)
    assert told.evidence() == asked.evidence()
    assert told.pending == asked.pending
    assert sorted(told.estimates()) == sorted(asked.estimates())
    for learner in (asked, told):
        assert_full(play(learner, 5)[-1], learner.players)


def test_a_learner_made_from_evidence_knows_the_same(variant):
    (learner,) = lives(variant, 1)
    rebuilt = Learner.from_evidence(learner.evidence())
    assert rebuilt.evidence() == learner.evidence()
    assert rebuilt.players == learner.players
    assert rebuilt.pending == learner.pending
    assert sorted(rebuilt.estimates()) == sorted(learner.estimates())
    assert rebuilt.leader is None or set(rebuilt.leader.players) == set(learner.players)
    again = Learner.from_evidence(learner.evidence())
    for matching, same in zip(play(rebuilt, 20), play(again, 20), strict=True):
        assert_full(matching, learner.players)
        assert same == matching  # it goes on in one way only
    assert rebuilt.evidence() == again.evidence()


def test_a_learner_made_from_evidence_and_cache_goes_on_as_if_it_had_never_stopped(variant):
    for learner in lives(variant):
        learner.propose()
        twin = Learner.from_evidence(learner.evidence(), learner.cache())
        assert_same_future(learner, twin)
