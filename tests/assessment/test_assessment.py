"""Assessments of simulated histories, of which the truth is known."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import betaln

import pairup
from pairup.assessment import fit_checks, simulate_history
from pairup.assessment.fit_checks import FitCheck
from pairup.assessment.outlook import Interval, pair_at_random, pair_best
from pairup.assessment.sentences import describe_verdict
from pairup.errors import AssessmentError
from pairup.service.api.schemas.pools import NewPool
from tests.support.assessment import true_gain


@pytest.fixture(scope="module")
def found():
    return pairup.assess(simulate_history(players=60, rounds=60, seed=1))


def test_the_gain_is_that_of_the_players_rates(found):
    low, high = found.gain.low, found.gain.high
    assert low < true_gain(players=60, seed=1) < high
    assert high - low < found.gain.estimate
    assert found.verdict == "worth it"
    assert found.fit == "fits"


def test_rates_of_two_kinds_of_players_are_no_beta_distribution_but_covered():
    history = simulate_history(players=100, rounds=120, rates=(0.2, 0.9), seed=1)
    rates = np.random.default_rng(1).choice((0.2, 0.9), 100)
    gain = pairup.assess(history).gain
    assert gain.low < pair_best(rates) - pair_at_random(rates) < gain.high


def test_players_who_are_all_alike_are_not_worth_it():
    alike = simulate_history(players=60, rounds=200, distribution=(7e4, 3e4), told=True, seed=2)
    found = pairup.assess(alike)
    assert found.verdict == "not worth it"
    assert found.games_needed is None


def test_one_game_of_each_player_decides_nothing():
    found = pairup.assess(simulate_history(players=200, rounds=1, seed=3))
    assert found.verdict == "not enough data"
    assert found.games_needed > found.table.games
    assert "pattern" in found.unchecked


def test_very_many_players_with_a_game_or_two_decide_nothing():
    """Each couple plays with probability 0.2: nobody differs, and nothing of that can be seen."""
    rng = np.random.default_rng(5)
    pairs = np.stack([rng.permutation(20_000).reshape(-1, 2) for _ in range(2)]).reshape(-1, 2)
    played = rng.random(len(pairs)) < 0.2
    frame = pl.DataFrame({"player_a": pairs[:, 0], "player_b": pairs[:, 1], "played": played})
    found = pairup.assess(frame)
    assert found.verdict == "not enough data"
    assert found.games_needed == 30_000
    assert describe_verdict(found).startswith("Not enough data. Players have 2.0 games on average")


@pytest.mark.parametrize(
    ("options", "cause", "policy", "rules"),
    [
        ({"pattern": 1.0}, "pattern", "hierarchical_thompson", {"holdout"}),
        ({"rating_effect": 1.0}, "rating distance", "rank_one_thompson", {"holdout", "worth"}),
        ({"rating_effect": -1.0}, "rating distance", "hierarchical_thompson", {"holdout"}),
    ],
)
def test_couples_that_are_not_products_are_noticed(options, cause, policy, rules):
    found = pairup.assess(simulate_history(players=100, rounds=100, seed=4, **options))
    alarms = [each.name for each in found.checks if each.alarm]
    assert cause in alarms
    assert found.fit.startswith("does not fit, because of ")
    assert found.rules["policy"] == policy
    assert found.rules.keys() & {"worth", "constraints", "memory_s", "holdout"} == rules


@pytest.mark.parametrize(("concentration", "alarm"), [(1e9, False), (8.0, True)])
def test_couples_with_chances_of_their_own_are_noticed(concentration, alarm):
    """Three rounds of the same 2,000 couples: that they differ shows in who plays again."""
    draws = np.random.default_rng(5)
    rates, one = draws.beta(2, 3, 200), np.repeat(np.arange(200), 20)
    other = (one + 1 + np.tile(np.arange(20), 200)) % 200
    products = rates[one] * rates[other]
    chances = draws.beta(concentration * products, concentration * (1.0 - products))
    columns = {"player_a": np.tile(one, 3), "player_b": np.tile(other, 3)}
    played = draws.random(3 * len(one)) < np.tile(chances, 3)
    found = pairup.assess(pl.DataFrame(columns | {"played": played}))
    (check,) = (each for each in found.checks if each.name == "couples")
    assert check.alarm == alarm
    deviation = np.sqrt(np.mean(products * (1.0 - products)) / (concentration + 1.0))
    assert check.deviation == pytest.approx(deviation, rel=0.2, abs=0.05)


def test_couples_who_met_once_do_not_hide_those_who_differ():
    one, other, games = np.array([0, 0, 1, 2, 2, 3]), np.array([1, 1, 2, 3, 3, 0]), np.ones(6)
    couples = np.unique(4 * one + other, return_inverse=True)[1]
    check = fit_checks._deviating(couples)
    chances = np.array([0.4, 0.4, 0.01, 0.6, 0.6, 0.99])
    assert check.statistic(games - chances, chances) == pytest.approx(1 / 0.4 + 1 / 0.6)


def test_the_statistic_of_couples_is_the_slope_of_their_marginal_likelihood():
    draws = np.random.default_rng(6)
    couples = draws.integers(0, 30, 200)
    chances = draws.uniform(0.1, 0.9, 30)[couples]
    played = draws.random(200) < 0.5
    check = fit_checks._deviating(couples)
    statistic = check.statistic(played - chances, chances * (1.0 - chances))
    tries, games = np.bincount(couples), np.bincount(couples, played)
    m, small = np.bincount(couples, chances) / tries, 1e-6
    a, b = m / small, (1.0 - m) / small
    ratio = betaln(a + games, b + tries - games) - betaln(a, b)
    ratio -= games * np.log(m) + (tries - games) * np.log(1.0 - m)
    constant = np.sum(tries * (tries - 1)) / 2
    assert statistic - constant == pytest.approx(ratio.sum() / small, abs=0.01)


def test_the_same_history_and_seed_give_the_same_numbers(found):
    again = pairup.assess(simulate_history(players=60, rounds=60, seed=1))
    for name in ("population", "checks", "pool", "pools"):
        assert getattr(again, name) == getattr(found, name)
    assert np.array_equal(again.samples[-1].rates, found.samples[-1].rates)


def test_all_numbers_are_json_and_the_rules_make_a_pool(found):
    numbers = json.loads(json.dumps(found.to_dict()))
    assert numbers["gain"]["low"] <= numbers["gain"]["estimate"] <= numbers["gain"]["high"]
    assert NewPool(**numbers["rules"]).name == "assessed"


def test_the_lowest_tenth_pays_and_the_highest_gains(found):
    free, half, most = found.floors
    assert free.tenths[0].high < 0.0 < free.tenths[-1].low
    assert free.tenths[0].estimate < half.tenths[0].estimate < most.tenths[0].estimate
    assert free.gain.estimate > half.gain.estimate > most.gain.estimate > 0.0
    for each in found.floors:
        assert np.mean([tenth.estimate for tenth in each.tenths]) == pytest.approx(
            each.gain.estimate
        )


def test_the_gain_without_a_floor_is_that_of_the_pool(found):
    assert found.floors[0].gain.estimate == pytest.approx(found.gain.estimate, abs=0.002)


def test_a_floor_is_held_by_each_tenth(found):
    random = np.array([draw.rates.mean() * np.sort(draw.rates) for draw in found.samples])
    random = random.mean(axis=0).reshape(10, -1).mean(axis=1)
    for each in found.floors:
        got = random + [tenth.estimate for tenth in each.tenths]
        assert (got > (each.floor - 0.1) * random).all()


def test_a_pool_that_learns_comes_near_the_gain(found):
    assert found.learning.rounds < 400
    assert 0.6 < found.learning.reached < 1.1


def test_rules_follow_what_couples_depend_on(found):
    above = found.pool.random

    def rules_of(name, beyond):
        bins = tuple((float(x), y, 0.01) for x, y in enumerate(beyond))
        check = FitCheck(name, "?", 0.001, 0.1, True, above, above, bins)
        return replace(found, checks=(check,)).rules

    assert "constraints" in rules_of("same region", (-0.1, 0.1))
    assert "constraints" not in rules_of("same region", (0.1, -0.1))
    assert rules_of("drift", (0.0,))["memory_s"] == 59 * 1_200.0  # a third of 60 rounds


def test_the_best_pairing_is_the_best_matching_of_the_rates():
    rates = np.random.default_rng(0).random(12)
    best = pairup.best_matching(np.outer(rates, rates))
    couples = np.array(best.couples)
    assert pair_best(rates) == pytest.approx(rates[couples].prod(axis=1).mean())
    one, other = np.triu_indices(12, 1)
    assert pair_at_random(rates) == pytest.approx((rates[one] * rates[other]).mean())


def test_the_picture_shows_every_part(found):
    figure = found.plot()
    titles = [axis.get_title() for axis in figure.axes]
    assert titles[:4] == [
        "How often players accept",
        "Games that are played",
        "Who gains, and who pays",
        "Gain over random pairing",
    ]
    assert titles[4] == "How far games are from products of rates"
    binned = [each.question for each in found.checks if each.bins]
    assert titles[5 : 5 + len(binned)] == binned
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    expected = [each.estimate for name, each in found.population.items() if "tenth" in name]
    assert heights == pytest.approx(expected)


@pytest.mark.parametrize(
    ("apart", "middles"),
    [([0.0], [0.0]), ([0.0, 100.0], [0.0, 100.0]), ([0.0] * 20 + [1.0, 2.0], [0.0, 1.5])],
)
def test_bins_of_few_distances_are_never_empty(apart, middles):
    frame = simulate_history(players=40, rounds=40, seed=1)
    distance = np.resize(apart, len(frame))
    rated = {"rating_a": np.zeros(len(frame)), "rating_b": distance}
    found = pairup.assess(frame.with_columns(**{name: pl.Series(x) for name, x in rated.items()}))
    (check,) = [each for each in found.checks if each.name == "rating distance"]
    assert [middle for middle, *_ in check.bins] == middles


def test_a_deviation_is_that_of_the_chances_however_small_they_are():
    """Chances of about 1.2%: by a fifth instead of their variance it would be four times this."""
    draw = np.random.default_rng(1)
    frame = simulate_history(players=200, rounds=1_000, distribution=(2.0, 16.0), seed=1)
    chance = np.where(frame["time"].dt.hour() < 12, 0.002, 0.022)
    found = pairup.assess(frame.with_columns(played=pl.Series(draw.random(len(frame)) < chance)))
    (hour,) = [each for each in found.checks if each.name == "hour"]
    assert hour.alarm
    assert hour.deviation == pytest.approx(0.01, rel=0.1)


def test_checks_that_a_history_does_not_allow_are_named(found):
    assert found.unchecked == ("same region",)
    bare = simulate_history(players=10, rounds=60, seed=1)["player_a", "player_b", "played"]
    assert pairup.assess(bare).unchecked == (
        "pattern",
        "rating distance",
        "same region",
        "hour",
        "drift",
    )


def test_too_few_players_are_refused():
    frame = pl.DataFrame({"player_a": ["a"] * 9, "player_b": ["b"] * 9, "played": [True] * 9})
    with pytest.raises(AssessmentError, match="has 2 players"):
        pairup.assess(frame)


def test_a_wider_interval_needs_more_games(found):
    wanted = 0.02 * found.pool.random.estimate
    unsure = Interval(wanted * 1.5, wanted * 0.5, wanted * 2.5)
    pool = replace(found.pool, gain=unsure)
    doubtful = replace(found, pool=pool)
    assert doubtful.verdict == "not enough data"
    assert doubtful.games_needed == pytest.approx(4 * found.table.games, rel=0.01)


def test_a_history_of_which_some_games_are_looked_at_raises_no_false_alarm(monkeypatch):
    """Draws fit the games that they come from, and no others as closely."""
    from pairup.assessment import posterior

    monkeypatch.setattr(posterior, "_MAX_GAMES", 6_000)
    monkeypatch.setattr(posterior, "_MAX_WORK", 900_000)
    history = simulate_history(players=400, rounds=150, churn=0.05, seed=1)
    assert [each.name for each in pairup.assess(history).checks if each.alarm] == []


def test_checks_raise_alarms_however_few_draws_a_long_history_has(monkeypatch):
    from pairup.assessment import posterior

    monkeypatch.setattr(posterior, "_MAX_WORK", 1)
    found = pairup.assess(simulate_history(players=100, rounds=100, pattern=1.0, seed=4))
    assert len(found.samples) == 60
    assert "pattern" in [each.name for each in found.checks if each.alarm]
