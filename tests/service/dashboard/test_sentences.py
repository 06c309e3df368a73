"""Sentences of the pages."""

import pytest

from pairup.service.api.schemas.insight import (
    ComparisonView,
    DifferenceInterval,
    GameCounts,
    Interval,
    StatsView,
)
from pairup.service.dashboard import sentences


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
