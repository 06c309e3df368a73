from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup.kernels.couple_statistics import PHANTOM_MEAN, new_book, record

PAIRS = list(combinations(range(4), 2))


@given(st.lists(st.tuples(st.sampled_from(PAIRS), st.booleans())))
def test_keeps_tries_games_and_means(outcomes):
    book = new_book(5)
    for (i, j), played in outcomes:
        record(book, i, j, played)
    for i, j in PAIRS:
        played = [outcome for couple, outcome in outcomes if couple == (i, j)]
        assert book.tries[i, j] == len(played)
        assert book.games[i, j] == sum(played)
        mean = Fraction(sum(played), len(played)) if played else 0
        assert book.mean[i, j] == book.mean[j, i] == float(mean)


def test_returns_the_new_mean():
    book = new_book(3)
    assert [record(book, 0, 1, played) for played in (True, False, True)] == [1.0, 0.5, 2 / 3]


@pytest.mark.parametrize("slots", [2, 5])
def test_the_phantom_is_below_every_player(slots):
    book = new_book(slots)
    assert (book.mean[-1] == PHANTOM_MEAN).all()
    assert (book.mean[:, -1] == PHANTOM_MEAN).all()
    assert (book.mean[:-1, :-1] == 0).all()
    assert not np.any(book.tries)
