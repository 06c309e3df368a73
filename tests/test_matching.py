import copy
import pickle
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup import Matching, MatchingError

PLAYERS = st.one_of(st.integers(), st.text(max_size=3), st.tuples(st.integers(), st.text()))


@st.composite
def matchings(draw):
    players = draw(st.lists(PLAYERS, max_size=11, unique=True))
    paired = 2 * draw(st.integers(0, len(players) // 2))
    return Matching(zip(players[:paired:2], players[1:paired:2], strict=True), players[paired:])


@given(matchings())
def test_a_matching_is_a_sequence_of_its_couples(matching):
    assert len(matching) == len(matching.couples)
    assert tuple(matching) == matching.couples
    assert [matching[k] for k in range(len(matching))] == list(matching.couples)
    assert matching[1:] == matching.couples[1:]
    assert list(reversed(matching)) == list(matching.couples)[::-1]


@given(matchings())
def test_partner_is_mutual_or_none(matching):
    for one, other in matching:
        assert matching.partner(one) == other
        assert matching.partner(other) == one
    for player in matching.waiting:
        assert matching.partner(player) is None
    assert sorted(map(repr, matching.players)) == sorted(
        repr(player) for group in (*matching.couples, matching.waiting) for player in group
    )


@given(matchings(), st.randoms(use_true_random=False))
def test_order_does_not_matter_to_equality(matching, rng: random.Random):
    couples = [rng.sample(couple, 2) for couple in matching]
    waiting = list(matching.waiting)
    rng.shuffle(couples)
    rng.shuffle(waiting)
    other = Matching(couples, waiting)
    assert other == matching
    assert hash(other) == hash(matching)
    assert all((b, a) in matching and (a, b) in matching for a, b in couples)


@given(matchings())
def test_copies_are_equal(matching):
    for twin in (pickle.loads(pickle.dumps(matching)), copy.deepcopy(matching)):
        assert twin == matching
        assert twin.couples == matching.couples


@pytest.mark.parametrize(
    "other",
    [
        Matching([(0, 2), (1, 3)]),
        Matching([(0, 1)]),
        Matching([(0, 1)], waiting=[2, 3]),
        Matching([(0, 1), (2, 3)], waiting=[4]),
        [(0, 1), (2, 3)],
    ],
)
def test_other_pairings_differ(other):
    assert Matching([(0, 1), (2, 3)]) != other


@pytest.mark.parametrize(
    "stranger",
    [("a", "c"), ("a",), ("a", "b", "c"), "ab", "e", None, 3, ("e", None), (None, "e"), ([], "a")],
)
def test_values_that_are_not_couples_are_not_contained(stranger):
    assert stranger not in Matching([("a", "b"), ("c", "d")], waiting=["e"])


@pytest.mark.parametrize(
    ("matching", "text"),
    [
        (Matching([]), "Matching()"),
        (Matching([("a", "b"), ("c", "d")]), "Matching(a-b, c-d)"),
        (Matching([("a", "b")], ["e", "f"]), "Matching(a-b; waiting e, f)"),
        (Matching([], ["e"]), "Matching(waiting e)"),
        (Matching(np.array([[0, 1], [2, 3]])), "Matching(0-1, 2-3)"),
    ],
)
def test_the_repr_lists_couples_then_waiting_players(matching, text):
    assert repr(matching) == text


def test_the_order_of_the_couples_is_kept():
    assert Matching([(3, 1), (0, 2)]).couples == ((3, 1), (0, 2))


def test_a_matching_is_read_only():
    matching = Matching([(0, 1)])
    for name in ("couples", "waiting", "players", "anything"):
        with pytest.raises(AttributeError):
            setattr(matching, name, ())
    with pytest.raises(TypeError):
        matching[0] = (0, 2)


@pytest.mark.parametrize(
    ("couples", "waiting", "message"),
    [
        ([(0, 1, 2)], (), "exactly two distinct players, got 3"),
        ([(0,)], (), "got 1 .* goes in `waiting`"),
        ([()], (), "got 0"),
        ([0, 1], (), "got 0: write"),
        (["ab"], (), "got 'ab': write"),
        ([(0, 0)], (), "got 0 with itself"),
        ([(0, 1), (1, 2)], (), "at most once in a matching, got 1 twice"),
        ([(0, 1)], [1], "got 1 twice"),
        ([(0, 1)], [2, 2], "got 2 twice"),
        ([(0, None)], (), "None cannot be a player"),
        ([(0, 1)], [None], "None cannot be a player"),
        ([(0, [1])], (), r"must be hashable, got \[1\]"),
        (5, (), r"couples must be a list, got 5: write \[5\]"),
        ("ab", (), "couples must be a list, got 'ab'"),
        ([(0, 1)], "eve", r"waiting must be a list, got 'eve': write \['eve'\]"),
        ([(0, 1)], 2, "waiting must be a list, got 2"),
    ],
)
def test_bad_matchings_are_refused(couples, waiting, message):
    with pytest.raises(MatchingError, match=message):
        Matching(couples, waiting)


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("anm", "'anm' is not in this matching; did you mean \"ann\"?"),
        (7, '7 is not in this matching; known: "ann", "bob"'),
        ([], r"\[\] is not in this matching; known"),
    ],
)
def test_the_partner_of_an_unknown_player_is_refused(player, message):
    with pytest.raises(MatchingError, match=message):
        Matching([("ann", "bob")]).partner(player)
