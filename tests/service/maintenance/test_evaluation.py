"""Evaluations of other rules from the log of a pool, whose players' true rates are known."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from pairup.cli import app
from pairup.errors import PairupError, ServiceError
from pairup.service.domain import events
from pairup.service.domain.events import Recorded
from pairup.service.maintenance.evaluation import Evaluator, count_games, evaluate
from tests.support.service.held_pool import HeldPool

DEFAULT = {"policy": "rank_one_thompson", "options": {"period": 4, "prior": "learned"}}
UNIFORM = {"policy": "uniform"}
SAM = {"policy": "sam", "options": {"horizon": 10_000}}  # it draws nothing


class PatternedPool(HeldPool):
    """Players of two kinds, who play only with their own: no product of rates."""

    def chance(self, one, other):
        return 0.9 if one % 2 == other % 2 else 0.1


def play(pool, rounds):
    for _ in range(rounds):
        pool.play_round()
    return pool


def evaluated(pool, changes):
    """Evaluate a log; returns the evaluation, and the true share and gain."""
    evaluator = Evaluator(1, changes, first=count_games(pool.log) // 2)
    for recorded in pool.log:
        evaluator.add(recorded)
    games = len(evaluator.rows)
    wanted = evaluator.wanted.items()
    share = sum(often * pool.chance(*couple) for couple, often in wanted) / games
    logged = sum(pool.chance(row.one, row.other) for row in evaluator.rows) / games
    return evaluator.finish(np.random.default_rng(0)), share, share - logged


def covers(interval, truth):
    return interval.low <= truth <= interval.high


@pytest.mark.parametrize(
    ("rules", "holdout", "changes"),
    [
        ({}, 0.3, UNIFORM),
        ({}, 0.0, {"fairness": {"floor": 0.75}}),
        (UNIFORM, 0.0, DEFAULT),
    ],
)
def test_the_intervals_have_the_truth(rules, holdout, changes):
    found = [
        evaluated(play(HeldPool(seed, 20, holdout, churn=0.01, **rules), 60), changes)
        for seed in range(3)
    ]
    assert sum(covers(each.model, share) for each, share, _ in found) >= 2
    assert sum(covers(each.model_gain, gain) for each, _, gain in found) >= 2
    robust = [each for each in found if each[0].doubly_robust]
    assert sum(covers(each.doubly_robust, share) for each, share, _ in robust) >= len(robust) - 1


def test_the_log_corrects_a_model_that_does_not_fit():
    """Uniform pairing is known exactly; a policy by rates gains nothing with these players."""
    found, share, gain = evaluated(play(PatternedPool(1, 12, 0.0, **UNIFORM), 400), DEFAULT)
    assert found.fit.startswith("does not fit")
    assert found.overlap > 0.8
    assert covers(found.doubly_robust, share)
    assert covers(found.gain, gain)
    wide = found.model.high - found.model.low
    assert wide > 0.1  # a model that does not fit is not trusted


def test_it_refuses_where_neither_model_nor_log_can_tell():
    pool = play(PatternedPool(1, 20, 0.0, options={"period": 100}), 200)
    with pytest.raises(ServiceError, match=r"does not fit.*hold out a control arm"):
        evaluated(pool, DEFAULT)
    with pytest.raises(ServiceError, match=r"12 games of the log can be compared.*at least 100"):
        evaluated(play(HeldPool(1, 12, 0.0), 4), DEFAULT)


def test_the_pools_own_rules_gain_nothing_where_nothing_is_left_to_chance():
    own = {"policy": "uniform", "seed": 0}
    found, _, gain = evaluated(play(HeldPool(4, 8, 0.0, **UNIFORM), 60), own)
    assert abs(gain) < 0.05
    assert covers(found.gain, gain)
    found, *_ = evaluated(play(HeldPool(4, 8, 0.0, **SAM), 60), SAM)
    assert found.overlap == 1.0
    assert max(map(abs, (found.gain.low, found.gain.estimate, found.gain.high))) < 1e-12
    assert found.estimate.estimate == pytest.approx(found.logged.estimate)


def test_rules_that_a_pool_cannot_have_are_refused():
    for changes, why in (
        ({"policy": "unimodel"}, "no policy is called 'unimodel'"),
        ({"fairness": {"floor": 1.5}}, "floor"),
        ({"options": {"period": 0}}, "period"),
        ({"policy": "oracle"}, "cannot serve a pool"),
    ):
        with pytest.raises(PairupError, match=why):
            Evaluator(1, changes).add(HeldPool(1, 4, 0.0).log[0])


def test_later_changes_of_the_log_do_not_change_what_is_evaluated():
    pool = play(HeldPool(1, 8, 0.0), 3)
    pool.happen(events.Configured({**SAM, "lifetime_s": 30.0}))
    evaluator = Evaluator(1, UNIFORM)
    for recorded in play(pool, 3).log:
        evaluator.add(recorded)
    assert len(evaluator.rows) == 24
    sides = [
        sum(often for couple, often in evaluator.wanted.items() if player in couple)
        for player in range(1, 9)
    ]
    assert sides == [pytest.approx(6.0)] * 8  # each player once in each round


def watch(pool, players, rounds, **rated):
    """Let a pool in shadow observe players who are paired at random, with attributes or none."""
    draw = np.random.default_rng(1)
    pool.rates = dict(zip(players, draw.beta(2, 3, len(players)).tolist(), strict=True))
    pool.happen(events.Joined(players, "away"))
    pool.happen(events.Attributed(players[:10], [rated] * 10, []))
    for number in range(rounds):
        pool.now += pool.step
        some = players if number % 2 else players[:10]
        couples = draw.permutation(some).reshape(-1, 2).tolist()
        heard = [[bool(draw.random() < pool.rates[each]) for each in both] for both in couples]
        pool.happen(events.Observed(couples, [all(each) for each in heard], heard, None))
    return pool


def test_a_pool_in_shadow_is_evaluated_too():
    pool = watch(HeldPool(1, 0, 0.0, mode="shadow"), list(range(1, 13)), 80)
    found, share, gain = evaluated(pool, DEFAULT)
    assert covers(found.model, share)
    assert covers(found.model_gain, gain)
    assert (found.games, found.uncompared) == (220, 0)


def test_rounds_of_players_without_what_the_rules_need_are_not_compared():
    near = {"kind": "distance", "attribute": "rating", "at_most": 100}
    pool = HeldPool(1, 0, 0.0, mode="shadow", constraints=[near])
    found, *_ = evaluated(watch(pool, list(range(1, 13)), 80, rating=1500.0), DEFAULT)
    assert (found.games, found.uncompared) == (100, 20)


def run(database, *arguments):
    return CliRunner().invoke(app, ["evaluate", *arguments, "--database", database])


def test_the_command_evaluates_a_served_pool(api):
    api.pool(players="abcdefgh", policy="uniform")
    draw = np.random.default_rng(0)
    for _ in range(50):
        for game in api.propose()["games"]:
            api.report(game, "played" if draw.random() < 0.5 else "cancelled")
    found = evaluate(api.service.store, "chess", {"fairness": {"floor": 0.5}})
    assert found.games == 100
    done = run(api.database, "--pool", "chess", "--floor", "0.5", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == json.loads(json.dumps(found.to_dict()))
    done = run(api.database, "--pool", "chess", "--policy", "sam:horizon=1000")
    assert "Of 100 games that the pool proposed" in done.stdout
    for arguments, why in ((["go", "--floor", "0"], "no pool is called 'go'"), (["chess"], "give")):
        done = run(api.database, "--pool", *arguments)
        assert done.exit_code == 2
        assert why in done.stderr


def test_a_log_that_begins_with_a_snapshot_is_evaluated_from_there():
    pool = play(HeldPool(3, 12, 0.0), 20)
    middle = len(pool.log)
    before = HeldPool(3, 12, 0.0).pool
    for recorded in pool.log[len(HeldPool(3, 12, 0.0).log) : middle]:
        before.apply(Recorded.of(before.seq + 1, recorded.at, recorded.event))
    play(pool, 40)
    evaluator = Evaluator(1, UNIFORM)
    evaluator.begin(before)
    for recorded in pool.log[middle:]:
        evaluator.add(recorded)
    assert evaluator.finish(np.random.default_rng(0)).games == 240
