from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup.compiled.couples.statistics import PHANTOM_MEAN, new_couple_statistics, record

PAIRS = list(combinations(range(4), 2))


@given(st.lists(st.tuples(st.sampled_from(PAIRS), st.booleans())))
def test_keeps_tries_games_and_means(outcomes):
    stats = new_couple_statistics(5)
    for (i, j), played in outcomes:
        record(stats, i, j, played)
    for i, j in PAIRS:
        played = [outcome for couple, outcome in outcomes if couple == (i, j)]
        assert stats.tries[i, j] == len(played)
        assert stats.games[i, j] == sum(played)
        mean = Fraction(sum(played), len(played)) if played else 0
        assert stats.mean[i, j] == stats.mean[j, i] == float(mean)


def test_returns_the_new_mean():
    stats = new_couple_statistics(3)
    assert [record(stats, 0, 1, played) for played in (True, False, True)] == [1.0, 0.5, 2 / 3]


@pytest.mark.parametrize("slots", [2, 5])
def test_the_phantom_is_below_every_player(slots):
    stats = new_couple_statistics(slots)
    assert (stats.mean[-1] == PHANTOM_MEAN).all()
    assert (stats.mean[:, -1] == PHANTOM_MEAN).all()
    assert (stats.mean[:-1, :-1] == 0).all()
    assert not np.any(stats.tries)
