"""The leader equals the greedy choice from scratch, whatever is observed, whoever is available."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup import Unimodal
from tests.support.twins import unimodal as naive_unimodal
from tests.support.twins.compiled import Compiled

KEYS = st.integers(0, 2**64 - 1)


def duel(n, key):
    return Compiled(Unimodal(), n, key), naive_unimodal.Unimodal(n, key)


@st.composite
def histories(draw):
    """A number of players and what happens to them: outcomes, available players, a look."""
    n = draw(st.integers(2, 9))
    pairs = list(combinations(range(n), 2))
    outcome = st.tuples(st.sampled_from(pairs), st.booleans())
    seating = st.sets(st.integers(0, n - 1), min_size=2)
    look = st.just(None)
    return n, draw(st.lists(st.one_of(outcome, outcome, outcome, seating, look), max_size=60))


@settings(max_examples=300)
@given(histories(), KEYS)
def test_is_the_greedy_choice_after_any_history(history, key):
    n, events = history
    compiled, twin = duel(n, key)
    available = set(range(n))
    for event in events:
        if isinstance(event, tuple):
            couple, played = event
            compiled.observe([couple], [played])
            twin.observe([couple], [played])
        elif isinstance(event, set):
            available = event
            compiled.set_available(available)
        else:
            assert compiled.leader == twin.leader(available)
    assert compiled.leader == twin.leader(available)


@pytest.mark.parametrize("n", [6, 11, 12])
def test_is_the_greedy_choice_all_along_a_long_history(n):
    compiled, twin = duel(n, n)
    random, pairs = Random(n), list(combinations(range(n), 2))
    for _ in range(1500):
        news = random.choices(pairs, k=random.choice([1, 1, 2, 6]))
        played = [random.random() < 0.5 for _ in news]
        compiled.observe(news, played)
        twin.observe(news, played)
        assert compiled.leader == twin.leader()


@pytest.mark.parametrize("n", range(2, 13))
def test_ties_go_to_the_larger_word(n):
    for key in (0, 1, 2**64 - 1):
        compiled, twin = duel(n, key)
        assert compiled.leader == twin.leader()


def test_every_pair_of_equals_may_lead():
    first = {duel(4, key)[0].leader[0] for key in range(200)}
    assert first == set(combinations(range(4), 2))


def test_a_pair_that_rises_from_behind_passes_all_couples_before_it():
    # The pair comes from the last two couples, so that only the third couple is seen to fall.
    compiled, twin = duel(8, 0)
    leader = twin.leader()
    for couple in leader[:2]:
        compiled.observe([couple] * 2, [True, False])
        twin.observe([couple] * 2, [True, False])
    assert compiled.leader == twin.leader()
    (i, _), (j, _) = twin.leader()[2:]
    rising = (min(i, j), max(i, j))
    compiled.observe([rising], [True])
    twin.observe([rising], [True])
    assert twin.leader()[0] == rising
    assert compiled.leader == twin.leader()


def test_a_couple_that_sinks_lets_the_pairs_it_blocked_pass():
    compiled, twin = duel(6, 3)
    best = twin.leader()[0]
    for pair in combinations(range(6), 2):
        if set(pair) & set(best):
            compiled.observe([pair] * 4, [True, True, pair == best, False])
            twin.observe([pair] * 4, [True, True, pair == best, False])
    assert compiled.leader == twin.leader()
    compiled.observe([best] * 3, [False] * 3)
    twin.observe([best] * 3, [False] * 3)
    assert twin.leader()[0] != best
    assert compiled.leader == twin.leader()
