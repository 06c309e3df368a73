"""Sentences of the pages."""

import pytest

from pairup.service.api.schemas.insight import (
    ComparisonView,
    DifferenceInterval,
    GameCounts,
    HoldoutView,
    Interval,
    ShadowView,
    StatsView,
)
from pairup.service.dashboard import sentences
from pairup.service.domain.matchmaking.constraints import KINDS
from pairup.service.domain.matchmaking.rules import Rules


def stats(games, gain, of_the_way=None, **others):
    """Return stats with what the sentences need."""
    low, high = gain
    interval = DifferenceInterval(low=low, estimate=(low + high) / 2, high=high)
    compared = ComparisonView.model_construct(games=games, gain=interval, of_the_way=of_the_way)
    known = {
        "policy": "rank_one_thompson",
        "games": GameCounts.model_construct(learnt=2 * games),
        "played_share": Interval(low=0.4, estimate=0.5, high=0.6),
        "compared": compared,
    }
    return StatsView.model_construct(**known | others)


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (stats(400, (0.1, 0.2)), "More games are played than random pairing of the same players"),
        (stats(400, (-0.2, -0.1)), "Fewer games"),
        (stats(400, (-0.1, 0.2)), "No difference"),
        (stats(400, (0.1, 0.2)), "the latest 400 of 800 games"),
        (stats(99, (0.1, 0.2)), "Too early to say: 99 games can be compared"),
        (stats(400, (0.1, 0.2), compared=None), "No comparison: policy rank_one_thompson"),
        (stats(0, (0, 0), played_share=None, compared=None), "No game"),
    ],
)
def test_the_verdict_goes_by_the_interval_of_the_gain(of, said):
    assert said in sentences.verdict(of)


@pytest.mark.parametrize(
    ("of_the_way", "said"),
    [(None, "too early"), (0.643, "64% of the way"), (-0.2, "0% of"), (1.1, "all the way")],
)
def test_progress_lies_between_random_pairing_and_the_best_matching(of_the_way, said):
    assert said in sentences.progress(stats(400, (0.1, 0.2), of_the_way))


def test_the_deviation_of_couples_is_described_if_it_is_learned():
    found = Interval(low=0.0221, estimate=0.041, high=0.0678)
    said = sentences.couple_deviation(stats(400, (0.1, 0.2), couple_deviation=found))
    assert (
        said == "Couples follow the players' rates to within 4.1 points (95% interval 2.2 to 6.8)."
    )
    none = sentences.couple_deviation(stats(400, (0.1, 0.2), couple_deviation=None))
    assert none == ""


ALL_KINDS = [
    {"kind": "distance", "attribute": "rating", "at_most": 100},
    {"kind": "equal", "attribute": "region", "relax": [{"after_s": 30}]},
    {"kind": "different", "attribute": "side"},
    {"kind": "overlap", "attribute": "modes"},
    {
        "kind": "latency",
        "attribute": "ping",
        "at_most": 80,
        "relax": [{"after_s": 9, "at_most": 90}],
    },
    {"kind": "block", "attribute": "blocked"},
    {"kind": "cooldown", "games": 3, "relax": [{"after_s": 5, "games": 1}]},
    {"kind": "cooldown", "within_s": 60},
]


def test_each_kind_of_constraint_is_a_sentence():
    assert sentences.meetings(Rules(constraints=ALL_KINDS)) == [
        f"Two players meet if {words}."
        for words in (
            "their rating differs by at most 100",
            "their region is the same; whatever it is after 30 s of waiting",
            "their side differs",
            "their modes have an element in common",
            "there is a region in which the ping of both is at most 80; at most 90 after 9 s of "
            "waiting",
            "neither lists the other in blocked",
            "they have not played each other in the last 3 games of either; in the last game of "
            "either after 5 s of waiting",
            "they have not played each other for 60 s",
        )
    ]


def test_the_examples_cover_all_kinds_of_constraints():
    assert {each["kind"] for each in ALL_KINDS} == set(KINDS)


def test_worth_is_a_sentence():
    near = {"kind": "distance", "attribute": "rating", "half_at": 100}
    assert sentences.meetings(Rules(worth=[near, {"kind": "waiting", "double_after_s": 60}])) == [
        "A game is worth half as much for each 100 of rating apart.",
        "A game is worth twice as much after 60 s of waiting.",
    ]


def test_a_pool_without_rules_on_who_meets_says_nothing_of_them():
    assert sentences.meetings(Rules()) == []


@pytest.mark.parametrize(("sign", "said"), [(1, "does better, by"), (-1, "does worse, by")])
def test_a_decided_holdout_says_which_arm_is_better(sign, said):
    arm = {"games": 100, "played": 50, "share": 0.5, "units": 50}
    ends = sorted((0.1 * sign, 0.3 * sign))
    gain = {"estimate": 0.2 * sign, "low": ends[0], "high": ends[1]}
    since = "2026-01-01T00:00:00Z"
    held = {"since": since, "policy": arm, "control": arm, "mixed_games": 0, "gain": gain}
    assert said in sentences.holdout(HoldoutView(**held, more_games=0))


def in_shadow(**changes):
    """Return what was observed of another matchmaker, with its comparison changed."""
    shares = {"observed": 0.5, "expected": 0.6, "random": 0.5, "best": 0.6}
    played = {"estimate": 0.5, "low": 0.45, "high": 0.55}
    gain = {"estimate": 0.1, "low": 0.05, "high": 0.15}
    compared = {"games": 400, "played": played, "gain": gain, **shares, **changes}
    counts = {"rounds": 10, "uncompared": 0, "games": 800, "played": 400}
    return ShadowView(**counts, compared=compared)


def test_a_pool_in_shadow_says_what_it_would_have_gained():
    said = sentences.shadow(in_shadow())
    assert said.startswith("50.0% of the latest 400 games observed were played.")
    assert said.endswith("couples that play more often: +10.0 points, 95% interval +5.0 to +15.0.")
    worse = {"estimate": -0.1, "low": -0.2, "high": 0.0}
    assert "play less often: −10.0 points" in sentences.shadow(in_shadow(gain=worse))
    early = in_shadow().model_copy(update={"compared": None})
    assert sentences.shadow(early).startswith("Too early to say: of 800 games")


def test_a_gain_in_shadow_is_doubted_where_its_estimates_miss_the_games_observed():
    said = sentences.shadow(in_shadow(observed=0.6))
    assert said.endswith("expect 60.0% of the games observed: do not trust the gain.")


def test_a_pool_in_shadow_says_that_it_proposes_nothing():
    assert sentences.meetings(Rules(mode="shadow")) == [
        "The pool is in shadow: it proposes nothing, and learns the games observed."
    ]
