"""Who may meet whom, and what a game is worth, as a learner takes it."""

import math

import numpy as np
import pytest

from pairup import (
    CombThompson,
    Matching,
    MatchingError,
    Oracle,
    PlayerError,
    RankOneThompson,
    Uniform,
    Unimodal,
)

NAMES = ["ann", "bob", "cyd", "dan"]
LINE = [("ann", "bob"), ("bob", "cyd"), ("cyd", "dan")]
RATES = (0.9, 0.8, 0.7, 0.6)


def test_worth_decides_who_meets_and_who_waits():
    learner = Oracle(rates=RATES).learner(NAMES)
    assert learner.propose() == Matching([("ann", "bob"), ("cyd", "dan")])
    assert learner.propose(worth={("cyd", "bob"): 10.0}) == Matching(
        [("bob", "cyd"), ("ann", "dan")]
    )
    assert learner.propose(allowed=LINE, worth={("bob", "cyd"): 10.0}) == Matching(
        [("bob", "cyd")], ["ann", "dan"]
    )


def test_matrices_have_their_rows_in_the_order_of_the_available_players():
    learner = Oracle(rates=RATES).learner(NAMES)
    allowed = np.zeros((3, 3), bool)
    allowed[0, 1] = allowed[1, 0] = True  # dan and ann
    expected = Matching([("ann", "dan")], ["cyd"])
    assert learner.propose(["dan", "ann", "cyd"], allowed=allowed) == expected
    worth = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]])
    assert learner.propose(["dan", "ann", "cyd"], worth=worth) == Matching(
        [("cyd", "dan")], ["ann"]
    )


def test_couples_apart_are_forbidden_whatever_else_is_allowed():
    learner = RankOneThompson().learner(NAMES)
    for _ in range(20):
        matching = learner.propose(apart=[("bob", "ann")], allowed=LINE)
        assert ("ann", "bob") not in matching
        assert "ann" in matching.waiting


def test_rules_may_name_players_who_are_not_available():
    learner = Uniform().learner(NAMES)
    matching = learner.propose(["ann", "bob"], allowed=LINE, worth={("cyd", "dan"): 0.5})
    assert matching == Matching([("ann", "bob")])


def test_what_the_policy_wanted_is_visible():
    learner = Oracle(rates=RATES).learner(NAMES)
    assert learner.wanted is None
    matching = learner.propose(apart=[("ann", "bob")])
    assert ("ann", "bob") not in matching
    assert learner.wanted == Matching([("ann", "bob"), ("cyd", "dan")])
    matching = learner.propose(allowed=LINE)
    assert learner.wanted == matching


def test_the_leader_obeys_the_same_rules():
    learner = CombThompson().learner(NAMES)
    for couple, played in ((("ann", "bob"), True), (("cyd", "dan"), True), (("bob", "cyd"), False)):
        learner.observe(learner.propose(couple), [played])
    assert learner.leader_among() == Matching([("ann", "bob"), ("cyd", "dan")])
    assert ("ann", "bob") not in learner.leader_among(apart=[("ann", "bob")])
    on_line = learner.leader_among(allowed=LINE, worth={("bob", "cyd"): 100.0})
    assert on_line == Matching([("bob", "cyd")], ["ann", "dan"])
    assert Uniform().learner(NAMES).leader_among(allowed=LINE) is None


def test_learning_goes_on_between_proposals_with_rules_and_without():
    learner = RankOneThompson().learner(NAMES)
    for turn in range(40):
        matching = learner.propose(allowed=LINE) if turn % 2 else learner.propose()
        learner.observe(matching, ["ann" in couple for couple in matching])
    known = {couple for couple, *_ in learner.estimates()}
    assert known
    assert sum(each.proposed for each in learner.estimates()) >= 60


@pytest.mark.parametrize(
    ("rules", "error", "says"),
    [
        ({"allowed": [("ann", "eve")]}, PlayerError, "'eve' is not present"),
        ({"allowed": [("ann", "ann")]}, MatchingError, "'ann' with itself"),
        ({"allowed": "ab"}, MatchingError, "allowed must be a list of couples"),
        ({"allowed": np.ones((3, 3), bool)}, MatchingError, r"got shape \(3, 3\)"),
        ({"worth": {("ann", "eve"): 1}}, PlayerError, "'eve' is not present"),
        ({"worth": {("ann", "bob"): -1}}, MatchingError, r"got -1 for \('ann', 'bob'\)"),
        ({"worth": {("ann", "bob"): math.nan}}, MatchingError, "got nan"),
        ({"worth": {("ann", "bob"): "much"}}, MatchingError, "got 'much'"),
        ({"worth": np.triu(np.ones((4, 4)), 1)}, MatchingError, "worth must be symmetric"),
    ],
)
def test_bad_rules_are_refused_before_anything_is_proposed(rules, error, says):
    learner = RankOneThompson().learner(NAMES)
    before = learner.to_bytes()
    with pytest.raises(error, match=says):
        learner.propose(**rules)
    assert learner.to_bytes() == before


def test_forbidden_couples_leave_the_complete_policies_as_they_were():
    learner = Unimodal().learner(NAMES)
    matching = learner.propose(apart=[("ann", "bob")])
    assert ("ann", "bob") not in matching
    assert len(matching) == 2


@pytest.mark.parametrize("seed", range(6))
def test_arrays_of_places_say_the_same_as_names(seed):
    draw = np.random.default_rng(seed)
    names = [f"p{i}" for i in draw.permutation(9)]
    available = [names[i] for i in draw.permutation(9)[:7]]
    low, high = np.nonzero(np.triu(draw.random((7, 7)) < 0.6, 1))
    order = draw.permutation(len(low))
    rows = np.stack([low, high], axis=1)[order]
    rows[::2] = rows[::2, ::-1]
    worth = draw.integers(1, 9, len(rows)).astype(float)
    couples = [(available[i], available[j]) for i, j in rows]
    by_names = {"allowed": couples, "worth": dict(zip(couples, worth.tolist(), strict=True))}
    by_rows = {"allowed": rows, "worth": worth}
    by_columns = {"allowed": (rows[:, 0], rows[:, 1]), "worth": worth}
    asked = [RankOneThompson().learner(names, seed=seed) for _ in range(3)]
    for _ in range(5):
        found = [
            learner.propose(available, **rules)
            for learner, rules in zip(asked, (by_names, by_rows, by_columns), strict=True)
        ]
        assert found[0] == found[1] == found[2]
        leaders = [asked[0].leader_among(available, **rules) for rules in (by_names, by_rows)]
        assert leaders[0] == leaders[1]
        for learner, matching in zip(asked, found, strict=True):
            learner.observe(matching, [i % 2 == 0 for i in range(len(matching))])


def greatest_worth(couples, worths):
    """The most that a matching of some of the couples is worth, by trying all of them."""
    best = 0.0
    for k, (i, j) in enumerate(couples):
        rest = [x for x in range(k + 1, len(couples)) if not {i, j} & set(couples[x])]
        others = greatest_worth([couples[x] for x in rest], [worths[x] for x in rest])
        best = max(best, worths[k] + others)
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_best_matching_of_rows_is_that_of_brute_force(seed):
    draw = np.random.default_rng(seed)
    rates, order = draw.random(8), draw.permutation(8)
    low, high = np.nonzero(np.triu(draw.random((8, 8)) < 0.5, 1))
    rows = draw.permutation(np.stack([low, high], axis=1))
    worth = draw.random(len(rows)) * draw.integers(1, 4, len(rows))
    learner = Oracle(rates=tuple(rates)).learner(range(8))
    matching = learner.propose(order.tolist(), allowed=rows, worth=worth)
    couples = [(int(order[i]), int(order[j])) for i, j in rows]
    values = [rates[i] * rates[j] * each for (i, j), each in zip(couples, worth, strict=True)]
    known = {frozenset(couple): value for couple, value in zip(couples, values, strict=True)}
    found = sum(known[frozenset(couple)] for couple in matching)
    assert found == pytest.approx(greatest_worth(couples, values))


def test_rows_may_come_with_a_matrix_or_a_mapping_of_worth():
    rows = np.array([[2, 1], [0, 1], [2, 3]])
    matrix = np.ones((4, 4))
    matrix[1, 2] = matrix[2, 1] = 10.0
    expected = Matching([("bob", "cyd")], ["ann", "dan"])
    for worth in (matrix, {("bob", "cyd"): 10.0}, np.array([10.0, 1.0, 1.0])):
        learner = Oracle(rates=RATES).learner(NAMES)
        assert learner.propose(allowed=rows, worth=worth) == expected


def test_of_a_couple_whose_worth_is_given_twice_the_last_counts():
    learner = Oracle(rates=RATES).learner(NAMES)
    worth = {("bob", "cyd"): 10.0, ("cyd", "bob"): 0.1}
    assert learner.propose(worth=worth) == Matching([("ann", "bob"), ("cyd", "dan")])


def test_a_row_that_comes_twice_counts_once_without_worth():
    learner = Oracle(rates=RATES).learner(NAMES)
    matching = learner.propose(allowed=np.array([[0, 1], [1, 0]]))
    assert matching == Matching([("ann", "bob")], ["cyd", "dan"])


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ({"allowed": np.array([[0, 4]])}, r"players 0 to 3, got 4 in row 0"),
        ({"allowed": np.array([[0, 1], [-1, 2]])}, "got -1 in row 1"),
        ({"allowed": np.array([[2, 2]])}, "got 2 with itself in row 0"),
        ({"allowed": np.array([[0, 1]]), "worth": np.ones(2)}, "each of 1 couples"),
        ({"allowed": np.array([[0, 1]]), "worth": np.array(["a"])}, "array of <U1"),
        ({"allowed": np.array([[0, 1]]), "worth": np.array([math.nan])}, "got nan for players 0"),
        ({"allowed": np.array([[0, 1], [1, 0]]), "worth": np.ones(2)}, "has two rows"),
    ],
)
def test_bad_rows_are_refused_before_anything_is_proposed(rules, says):
    learner = RankOneThompson().learner(NAMES)
    before = learner.to_bytes()
    with pytest.raises(MatchingError, match=says):
        learner.propose(**rules)
    assert learner.to_bytes() == before


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[0, 1], [0, 3]], "couples are of the players 0 to 2, got 3 in row 1"),
        ([[-1, 0]], "got -1 in row 0"),
        ([[1, 1]], "got 1 with itself in row 0"),
    ],
)
def test_chances_of_places_that_are_not_there_are_refused(rows, says):
    learner = RankOneThompson().learner(NAMES)
    with pytest.raises(MatchingError, match=says):
        learner.play_probabilities(np.array(rows), NAMES[:3])
