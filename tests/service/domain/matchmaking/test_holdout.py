"""A holdout pairs a share of the players at random, and compares the others with them."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup.errors import PairupError
from pairup.service.domain import events
from pairup.service.domain.events import SECOND
from pairup.service.domain.matchmaking.filters import GivenFilter
from pairup.service.domain.matchmaking.holdout import (
    PERIOD,
    ArmComparison,
    ArmCounts,
    control_arm,
    pair_at_random,
    pair_the_rest,
)
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import replay
from pairup.service.domain.snapshot import durable_part, read_snapshot, write_snapshot
from tests.service.domain.matchmaking.test_constraints import VALUES, constraints
from tests.support.service.held_pool import HeldPool

NOBODY_FIRST = np.zeros(100, bool)


def arms_of(event):
    control = set(event.control)
    return [sum(player in control for player in game["players"]) for game in event.games]


def test_players_stay_in_their_arm_for_a_day():
    players = list(range(1, 2_001))
    first, later = (control_arm("1 0", 0.1, players, at) for at in (0, PERIOD - 1))
    assert (first == later).all()
    assert 150 < first.sum() < 250
    again = control_arm("1 0", 0.1, players, PERIOD)
    assert 5 < (first & again).sum() < 40  # drawn independently
    assert (control_arm("1 0", 0.1, players[::-1], 0)[::-1] == first).all()
    assert 5 < (first & control_arm("2 0", 0.1, players, 0)).sum() < 40


def test_arms_meet_only_where_it_pairs_everyone():
    pool = HeldPool(seed=3, players=41, holdout=0.3, churn=0.05)
    mixed = Counter()
    for _ in range(60):
        event = pool.play_round()
        control, across = len(event.control), arms_of(event).count(1)
        assert across == (control % 2 and (len(pool.pool.players) - control) % 2)
        assert len(event.waiting) == len(pool.pool.players) % 2
        mixed[across] += 1
    pool.come(1)
    for _ in range(60):
        event = pool.play_round()
        across = arms_of(event).count(1)
        assert across == len(event.control) % 2
        assert not event.waiting
        mixed[across] += 1
    assert min(mixed[0], mixed[1]) > 10


def test_every_matching_of_the_control_arm_is_equally_likely():
    draw, seen = np.random.default_rng(1), Counter()
    for _ in range(3_000):
        couples = pair_at_random([], np.array([3, 5, 6, 9]), draw, NOBODY_FIRST)
        seen[frozenset(frozenset(couple) for couple in couples.tolist())] += 1
    assert len(seen) == 3
    assert min(seen.values()) > 900


def test_players_who_are_left_over_meet_only_whom_they_may_meet():
    places = np.arange(12)
    for seed in range(50):
        draw = np.random.default_rng(seed)
        allowed = np.array(list(itertools.combinations(range(12), 2)))[draw.random(66) < 0.2]
        filters = [GivenFilter("allowed", allowed, 12)]
        listed = {tuple(couple) for couple in allowed.tolist()}
        for found in (
            pair_the_rest(filters, places, places, draw),
            pair_the_rest(filters, places[:5], places[5:], draw),
            pair_at_random(filters, places, draw, NOBODY_FIRST[:12]),
        ):
            assert {tuple(sorted(couple)) for couple in found.tolist()} <= listed
            assert len(np.unique(found)) == found.size


def test_an_odd_player_of_the_control_arm_is_not_an_overdue_one():
    overdue = NOBODY_FIRST.copy()
    overdue[[1, 2]] = True
    draw = np.random.default_rng(1)
    for _ in range(50):
        assert set(pair_at_random([], np.array([1, 2, 3]), draw, overdue)[0]) & {1, 2}
        matched = {*pair_at_random([], np.arange(1, 6), draw, overdue).ravel().tolist()}
        assert {1, 2} <= matched
        assert len(matched) == 4


@settings(deadline=None, max_examples=40)
@given(
    st.lists(constraints(), max_size=2),
    st.lists(st.fixed_dictionaries(VALUES), min_size=4, max_size=12),
    st.sampled_from([0.0, 0.5]),
    st.sampled_from([None, 5.0]),
)
def test_nobody_waits_beside_somebody_whom_they_may_meet(limits, known, floor, max_wait_s):
    rules = {"constraints": limits, "fairness": {"floor": floor}, "max_wait_s": max_wait_s}
    pool = HeldPool(seed=1, players=0, holdout=0.5, **rules)
    for each in known:
        pool.come(1, **each)
    allowed = pool.allowed_couples()
    event = pool.propose()
    couples = {tuple(sorted(game["players"])) for game in event.games}
    assert couples <= allowed
    control = set(event.control)
    left = {*event.waiting} & control
    assert not {couple for couple in allowed if left >= set(couple)}
    others = {*event.waiting} - control
    across = itertools.product(left, others)
    assert not [couple for couple in across if tuple(sorted(couple)) in allowed]


def test_an_overdue_player_of_the_control_arm_is_matched_first():
    pool = HeldPool(seed=2, players=9, holdout=0.1, max_wait_s=10.0)
    held = {1}
    while held:  # until a day on which one player is in the control arm, and one must wait
        pool.now += PERIOD
        held = set(pool.propose().control)
        pool.release()
        if len(held) == 1:
            break
    (alone,) = held
    assert alone not in pool.propose().waiting


def test_evidence_of_the_control_arm_is_learnt_too():
    pool = HeldPool(seed=1, players=20, holdout=0.5)
    event = pool.play_round()
    assert arms_of(event).count(2) > 1
    assert pool.pool.counters.learnt == len(event.games)
    told = {frozenset(each.couple) for each in pool.pool.learner.estimates()}
    assert told == {frozenset(game["players"]) for game in event.games}


def test_games_of_the_control_arm_do_not_count_as_explored():
    pool = HeldPool(seed=1, players=30, holdout=0.5)
    event = pool.play_round()
    control = set(event.control)
    assert not any(each["explores"] for each in event.games if control & set(each["players"]))


def test_a_pool_with_a_holdout_is_replayed_and_restored():
    pool = HeldPool(seed=4, players=30, holdout=0.3, churn=0.05, step_s=7_200)
    for _ in range(30):
        pool.play_round()
    pool.propose()  # with open games
    wanted = durable_part(pool.pool)
    assert durable_part(replay(1, pool.log)) == wanted
    again = read_snapshot(1, pool.pool.head, write_snapshot(pool.pool))
    assert durable_part(again) == wanted
    assert again.holdout.compare().gain == pool.pool.holdout.compare().gain
    assert {game.arm for game in again.games.values()} >= {"policy", "control"}


def test_pools_without_a_holdout_are_stored_as_before():
    pool = HeldPool(seed=4, players=10, holdout=0.0)
    event = pool.propose()
    assert "holdout" not in pool.rules.stored()
    assert "control" not in event.as_json()
    assert "ruled" not in event.as_json()
    assert b"holdout" not in durable_part(pool.pool)
    assert all(len(row) == 5 for _, rows in pool.pool.games.as_json() for row in rows)


def test_counts_begin_again_with_rules_on_who_meets():
    pool = HeldPool(seed=4, players=30, holdout=0.3)
    pool.play_round()
    pool.propose()
    since = pool.pool.holdout.since
    pool.happen(events.Configured({"lifetime_s": 30.0}))
    assert pool.pool.holdout.since == since
    assert pool.pool.holdout.arms["policy"].games
    pool.now += SECOND
    pool.happen(events.Configured({"holdout": 0.2}))
    pool.decide()  # games that were proposed under other rules
    assert pool.pool.holdout.since == pool.now
    assert not any(arm.games for arm in pool.pool.holdout.arms.values())
    assert not pool.pool.holdout.mixed
    pool.happen(events.Configured({"holdout": 0.0}))
    assert pool.pool.holdout is None
    assert pool.propose().control is None


def test_units_are_closed_by_the_day_and_with_the_player():
    pool = HeldPool(seed=4, players=30, holdout=0.3)
    pool.play_round()
    arms = pool.pool.holdout.arms
    units = sum(len(arm.open) for arm in arms.values())
    assert units >= 28
    assert not any(arm.units for arm in arms.values())
    whole = pool.pool.holdout.compare()
    player = next(iter(arms["policy"].open))
    pool.happen(events.Left([player], True, None))
    assert arms["policy"].units == 1
    assert player not in arms["policy"].open
    assert pool.pool.holdout.compare() == whole
    pool.now += PERIOD
    pool.propose()
    assert not any(arm.open for arm in arms.values())
    assert sum(arm.units for arm in arms.values()) == units


def dyadic_variance(games):
    """Compute the variance of a share from all couples of games that share a player."""
    share = np.mean([played for *_, played in games])
    total = sum(
        (one[2] - share) * (other[2] - share) * len({*one[:2]} & {*other[:2]})
        for one, other in itertools.product(games, repeat=2)
        if one is not other
    )
    alone = sum((played - share) ** 2 for *_, played in games)
    return share, total + alone, alone


def test_the_variance_counts_games_that_share_a_player():
    draw, arm, games = np.random.default_rng(5), ArmCounts(), []
    rates = np.repeat([0.95, 0.3], 6)
    for _ in range(150):
        one, other = draw.choice(12, 2, replace=False).tolist()
        games.append((one, other, bool(draw.random() < rates[one] * rates[other])))
        arm.note(games[-1][:2], games[-1][2])
    share, spread, alone = dyadic_variance(games)
    closed = arm.closed()
    assert closed.share == pytest.approx(share)
    wanted = (spread + alone) * 12 / 11 - alone
    assert wanted > 1.2 * alone
    assert closed.variance == pytest.approx(wanted / 150**2)


def counted(games, played, players=50):
    arm = ArmCounts()
    for x in range(games):
        arm.note((2 * (x % players), 2 * (x % players) + 1), x % games < played)
    return arm.closed()


def test_more_games_are_asked_for_until_the_interval_leaves_out_no_difference():
    close = ArmComparison(counted(1_000, 520), counted(200, 100))
    assert close.gain["low"] < 0 < close.gain["high"]
    far = ArmComparison(counted(1_000, 900), counted(200, 100))
    assert far.gain["low"] > 0
    assert far.more_games == 0
    half = (close.gain["high"] - close.gain["low"]) / 2
    assert close.more_games == pytest.approx(1_200 * ((half / 0.02) ** 2 - 1), abs=1)
    assert ArmComparison(counted(1_000, 500), counted(200, 100)).more_games is None
    few = ArmComparison(counted(1_000, 500), counted(2, 1))
    assert few.gain is None
    assert few.more_games is None
    same = ArmComparison(counted(1_000, 1_000), counted(200, 200))
    assert same.gain == {"estimate": 0.0, "low": -1.0, "high": 1.0}


@pytest.mark.parametrize("share", [-0.1, 0.51, float("nan")])
def test_a_share_that_cannot_be_held_out_is_refused(share):
    with pytest.raises(PairupError, match="holdout is a share of players from 0, none"):
        Rules(holdout=share).check_meetings()


def test_the_interval_covers_the_gain_of_pools_with_churn_that_learn():
    truths, gains = [], []
    for seed in range(40):
        pool = HeldPool(seed, players=40, holdout=0.3, churn=0.01, step_s=1_800)
        for _ in range(50):
            pool.play_round()
        truths.append(pool.gain)
        gains.append(pool.pool.holdout.compare().gain)
    off = [abs(each["estimate"] - np.mean(truths)) for each in gains]
    halves = [(each["high"] - each["low"]) / 2 for each in gains]
    covered = sum(far <= half for far, half in zip(off, halves, strict=True))
    assert covered >= 36
    assert sum(far <= half / 2 for far, half in zip(off, halves, strict=True)) < 36
