from random import Random

import pytest

from pairup.compiled.couples.anchored_index import (
    INDEX,
    lower_index,
    new_anchors,
    solve_index,
    upper_index,
)
from pairup.compiled.couples.statistics import new_couple_statistics
from tests.support.twins.indices import kl_index


def enter(stats, games, tries):
    stats.tries[0, 1], stats.games[0, 1] = tries, games
    stats.mean[0, 1] = stats.mean[1, 0] = games / tries


def test_bounds_hold_whatever_was_observed_since_the_anchor():
    draw, stats, anchor = Random(1), new_couple_statistics(3), new_anchors()
    tight = 0
    for _ in range(400):
        tries, rate = (
            draw.choice([1, 2, 5, 30, 1_000, 100_000]),
            draw.choice([0, 0.01, 0.3, 0.9, 1]),
        )
        games = min(
            max(round(draw.gauss(rate * tries, (rate * (1 - rate) * tries) ** 0.5)), 0), tries
        )
        level = draw.uniform(0.1, 14)
        enter(stats, games, tries)
        assert solve_index(anchor, stats, 0, 1, level) == pytest.approx(
            kl_index(games / tries, tries, level), abs=1e-12
        )
        for _ in range(10):
            more = draw.choice([0, 1, 3, 20])
            won = sum(draw.random() < rate for _ in range(more))
            tries, games, level = (
                tries + more,
                games + won,
                level + draw.choice([0, 1e-4, -1e-3, 2]),
            )
            enter(stats, games, tries)
            index = kl_index(games / tries, tries, max(level, 0))
            lower, upper = (
                f(anchor, stats, 0, 1, max(level, 0)) for f in (lower_index, upper_index)
            )
            assert lower - 1e-12 <= index <= upper + 1e-12
            tight += upper - lower < 0.05 / tries
    assert tight > 1_000


def test_the_anchor_itself_is_the_index():
    stats, anchor = new_couple_statistics(3), new_anchors()
    enter(stats, 30, 100)
    q = solve_index(anchor, stats, 0, 1, 5.0)
    assert lower_index(anchor, stats, 0, 1, 5.0) == upper_index(anchor, stats, 0, 1, 5.0) == q


def test_nothing_is_known_of_a_couple_that_was_never_solved():
    stats, anchor = new_couple_statistics(3), new_anchors()
    assert lower_index(anchor, stats, 0, 1, 5.0) == 1.0  # unseen couples are at 1
    enter(stats, 30, 100)
    assert (lower_index(anchor, stats, 0, 1, 5.0), upper_index(anchor, stats, 0, 1, 5.0)) == (
        0.3,
        1.0,
    )
    assert anchor[INDEX] == -1
