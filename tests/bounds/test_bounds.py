import dataclasses
import math
import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup import SAM, Oracle, PolicyError, Problem, ProblemError, Uniform, Unimodal, bounds
from pairup.bounds.confusing_rates import ConfusingRates, curvature, information, slope
from pairup.bounds.places import Places
from tests.support.paths import DOCS
from tests.support.twins import bounds as naive_bounds

# Measured by others with another program; those of L >= 6 with fewer matchings.
FROM_ZERO = {2: 1.970, 3: 3.001, 4: 3.951, 5: 4.781, 6: 5.531, 7: 6.163, 8: 6.666}
FROM_ZERO |= {9: 7.014, 10: 7.186, 11: 7.149}
AROUND = {0.5: 2.938, 0.6: 2.493, 0.7: 1.964, 0.8: 1.3315}

# With rates of 0 and 1, with one and two players at 0, odd numbers, nearly equal couples.
PROBLEMS = (
    [0.9, 0.8, 0.6, 0.5],
    [0.9, 0.8, 0.4],
    [0.7, 0.7, 0.0],
    [1.0, 0.9, 0.5, 0.0],
    [0.9, 0.8, 0.0, 0.0],
    [0.5, 0.5, 0.499, 0.499],
    [0.8, 0.7, 0.5, 0.4, 0.2, 0.1],
    [1.0, 1.0, 0.7, 0.5, 0.3, 0.0],
    [1.0, 0.9, 0.7, 0.5, 0.3],
    [0.9, 0.6, 0.3, 0.2, 0.0, 0.0],
    [0.95, 0.9, 0.8, 0.5, 0.45, 0.3, 0.2, 0.1],
    [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3],
    [0.65, 0.65, 0.55, 0.55, 0.45, 0.45, 0.35, 0.35],
)


@pytest.mark.parametrize("pairs", FROM_ZERO)
def test_the_first_experiment_has_its_known_limits(pairs):
    bound = bounds.lower(Problem.from_zero(pairs, 0.1))
    assert bound.constant == pytest.approx(FROM_ZERO[pairs], abs=6e-4)
    assert 0 <= bound.gap < 1e-6


@pytest.mark.parametrize("mean", AROUND)
def test_the_second_experiment_has_its_known_limits(mean):
    bound = bounds.lower(Problem.around(mean, 4, 0.1))
    assert bound.constant == pytest.approx(AROUND[mean], abs=6e-4)
    assert 0 <= bound.gap < 1e-6


@pytest.mark.parametrize(("high", "low"), [(0.55, 0.45), (0.6, 0.3), (0.2, 0.1), (0.8, 0.7)])
def test_two_couples_of_equal_players_have_a_closed_form(high, low):
    told = naive_bounds.kl(high * low, high**2) + naive_bounds.kl(high * low, low**2)
    bound = bounds.lower(Problem([high, low, low, high]))
    assert bound.constant == pytest.approx(2 * (high - low) ** 2 / told, rel=1e-6)


levels = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=3, max_size=4)


@settings(max_examples=40, deadline=None)
@given(levels.map(Problem).filter(lambda problem: problem.strict_order))
def test_two_couples_agree_with_a_grid(problem):
    bound = bounds.lower(problem)
    if np.sort(problem.rates)[-2] == 1:
        assert bound.constant == 0
        return
    relaxed = naive_bounds.lower_on_a_grid(problem.rates.tolist(), 400)
    assert bound.gap < 1e-6
    assert relaxed <= bound.certified * (1 + 1e-7)
    assert relaxed == pytest.approx(bound.constant, rel=2e-3)


@pytest.mark.parametrize("rates", PROBLEMS, ids=str)
def test_a_generic_solver_over_all_matchings_agrees(rates):
    bound = bounds.lower(Problem(rates))
    played = [
        (often, [*matching, *((player, len(rates)) for player in matching.waiting)])
        for matching, often in bound.exploration
    ]
    low, high = naive_bounds.both_ends(naive_bounds.ConfusedProblem(rates), played)
    assert low == pytest.approx(bound.constant, rel=1e-4)
    assert high == pytest.approx(bound.constant, rel=1e-4)


@pytest.mark.parametrize("rates", PROBLEMS, ids=str)
def test_the_rates_of_the_certificate_are_confusing(rates):
    problem = Problem(rates)
    bound = bounds.lower(problem)
    seen, (better, worse) = bound.certificate.rates, bound.certificate.players
    assert np.all((seen >= 0) & (seen <= 1))
    for i, j in problem.optimum:
        assert seen[i] * seen[j] == pytest.approx(problem.rates[i] * problem.rates[j], abs=1e-12)
    assert problem.rates[better] > problem.rates[worse]
    assert seen[better] == pytest.approx(seen[worse])
    told = sum(
        often * naive_bounds.kl(problem.rates[i] * problem.rates[j], seen[i] * seen[j])
        for matching, often in bound.exploration
        for i, j in matching
        if (i, j) not in problem.optimum
    )
    assert bound.certificate.information == pytest.approx(told)
    assert told == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("rates", PROBLEMS, ids=str)
def test_the_exploration_spends_what_is_certified(rates):
    problem = Problem(rates)
    bound = bounds.lower(problem)
    spent = [often * problem.regret(matching) for matching, often in bound.exploration]
    assert sum(spent) == pytest.approx(bound.certified)
    assert all(each > 0 for each in spent)
    plays = [often for _, often in bound.exploration]
    assert plays == sorted(plays, reverse=True)
    for matching, _ in bound.exploration:
        assert sorted(matching.players) == list(range(problem.players))
        assert len(matching.waiting) == problem.players % 2


def test_the_order_of_the_players_does_not_matter():
    rates = np.array(PROBLEMS[8])
    mixed = np.random.default_rng(3).permutation(len(rates))
    one, other = bounds.lower(Problem(rates)), bounds.lower(Problem(rates[mixed]))
    assert one.constant == pytest.approx(other.constant, rel=1e-6)
    assert dict(one.exploration).keys() != dict(other.exploration).keys()


@pytest.mark.parametrize("seed", range(6))
def test_random_problems_close_the_bracket(seed):
    bound = bounds.lower(Problem.random(5 + seed, seed=seed))
    assert bound.constant > 0
    assert 0 <= bound.gap < 1e-6


def test_matchings_beyond_swaps_of_two_couples_are_found():
    problem = Problem.random(5, seed=2)
    best = problem.optimum
    moved = [
        sum(matching.partner(player) != best.partner(player) for player in range(5))
        for matching, _ in bounds.lower(problem).exploration
    ]
    assert max(moved) == 5


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        ([0.9, 0.2], "equally good"),
        ([0.5, 0.5, 0.5, 0.5], "equally good"),
        ([0.5, 0.9, 0.5, 0.5], "equally good"),
        ([0.5, 0.5, 0.5, 0.1], "equally good"),
        ([0.9, 0.0, 0.0], "equally good"),
        ([1.0, 1.0, 0.5, 0.4], "nothing need be explored"),
        ([1.0, 1.0, 0.5], "nothing need be explored"),
    ],
)
def test_problems_on_which_nothing_need_be_lost(rates, reason):
    bound = bounds.lower(Problem(rates))
    assert bound.constant == bound.certified == bound.gap == 0
    assert bound.exploration == ()
    assert bound.certificate is None
    assert reason in bound.reason


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        ([0.9, 0.5, 0.5, 0.3], "several matchings are the best"),
        ([0.9, 0.9, 0.0, 0.0, 0.0], "several matchings are the best"),
        ([1e-200, 1e-200, 1e-300, 0.0], "floating point"),
    ],
)
def test_the_constant_is_nan_where_it_is_not_known(rates, reason):
    bound = bounds.lower(Problem(rates))
    assert math.isnan(bound.constant)
    assert math.isnan(bound.regret(100))
    assert reason in bound.reason


@pytest.mark.parametrize("last", [0.0, 0.3])
def test_a_known_phantom_costs_what_a_player_who_never_accepts_costs(last):
    # A player of rate 0 could be better, its partner worse; but that a game of the partner refutes,
    # and where both are 0 the swaps that tell of one tell of the other as well.
    odd, even = bounds.lower(Problem([0.9, 0.8, last])), bounds.lower(Problem([0.9, 0.8, last, 0]))
    assert odd.constant == pytest.approx(even.constant)


def test_regret_grows_with_the_logarithm():
    bound = bounds.lower(Problem([0.9, 0.9, 0.5, 0.5]))
    assert bound.regret(1) == 0
    assert isinstance(bound.regret(7), float)
    rounds = np.array([[10, 100], [1_000, 10_000]])
    np.testing.assert_allclose(bound.regret(rounds), bound.constant * np.log(rounds))
    with pytest.raises(ProblemError, match="at least 1, got 0"):
        bound.regret(0)


def test_a_bound_is_frozen():
    bound = bounds.lower(Problem([0.9, 0.9, 0.5, 0.5]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.constant = 1.0
    with pytest.raises(ValueError, match="read-only"):
        bound.certificate.rates[0] = 1.0


@given(st.floats(0, 0.99), st.floats(1e-12, 1 - 1e-12))
def test_information_equals_its_definition(rate, other):
    # Not the logarithm of the ratio, which overflows for the smallest rates.
    shift = math.log(other) - math.log(rate) if rate > 0 else 0.0
    got = information(np.array([rate]), np.array([other]), np.array([shift]))[0]
    assert got == pytest.approx(naive_bounds.kl(rate, other), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("shift", [1e-3, 9e-4, 1e-5, 1e-9, -1e-7])
def test_information_of_nearly_equal_rates_keeps_its_digits(shift):
    # Its first terms, exact to the fourth power of the shift.
    for rate in (0.3, 0.01):
        t = shift / (1 - rate)
        expected = rate * (1 - rate) * t**2 * (1 / 2 + (1 + rate) * t / 6)
        got = information(np.array([rate]), rate * np.exp([shift]), np.array([shift]))[0]
        assert got == pytest.approx(expected, rel=t**2 + 1e-12)


@given(st.floats(0.01, 0.95), st.floats(-2, -0.06))
def test_slope_and_curvature_are_derivatives(rate, log_other):
    def at(z, what):
        other, shift = np.exp([z]), np.array([z - math.log(rate)])
        return what(np.array([rate]), other, shift)[0]

    step = 1e-5
    rise = (at(log_other + step, information) - at(log_other - step, information)) / (2 * step)
    assert at(log_other, slope) == pytest.approx(rise, rel=1e-4, abs=1e-5)
    bend = (at(log_other + step, slope) - at(log_other - step, slope)) / (2 * step)
    got = curvature(np.array([rate]), np.exp([log_other]))[0]
    assert got == pytest.approx(bend, rel=1e-4)


def test_only_players_who_can_change_overtake_others():
    def pairs(rates):
        found = ConfusingRates(Places.on_one_side(np.array(rates)))
        return set(zip(found.better.tolist(), found.worse.tolist(), strict=True))

    assert pairs([0.9, 0.8, 0.3, 0.2]) == {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert pairs([0.9, 0.8, 0.3, 0.0]) == {(0, 2), (1, 2)}
    assert pairs([0.9, 0.8, 0.0, 0.0]) == {(0, 2), (0, 3), (1, 2), (1, 3)}
    assert pairs([0.9, 0.8, 0.0]) == {(0, 2), (1, 2)}
    assert pairs([1.0, 1.0, 0.3, 0.2]) == set()


def test_theorems_of_the_paper_and_of_sam_have_their_constants():
    problem = Problem.from_zero(3, 0.1)
    assert bounds.theorem(problem, Unimodal("matchings"))[:2] == (
        "Theorem 1",
        pytest.approx(4 * 800),
    )
    # Couples of rates 0.2 and 0.1 against the next: gaps of 0.02 and 0.01, two neighbours each.
    expected = 2 * 8 * 0.01 * (1 / 0.02**2 + 1 / 0.01**2)
    assert bounds.theorem(problem, Unimodal("players"))[:2] == (
        "Theorem 2",
        pytest.approx(expected),
    )
    expected = 640 * 3 * (math.log(3) + 2) / 0.01
    assert bounds.theorem(problem, SAM())[:2] == ("SAM's theorem", pytest.approx(expected))
    for policy in (Unimodal("matchings"), Unimodal("players"), SAM()):
        assert bounds.theorem(Problem([0.5, 0.4]), policy).constant == 0


def test_the_page_on_the_paper_has_the_three_readings_of_theorem_2():
    rates = (0.9, 0.8, 0.3, 0.1)
    better, worse = rates[:2], rates[2:]
    literal = sum(  # as printed: over both orders of i, i' and of j, j'
        8 * (i * i2 + j * j2 - i * j - i2 * j2) / (i * (i2 - j2)) ** 2
        for i, i2 in permutations(better)
        for j, j2 in permutations(worse)
    )
    ours = bounds.theorem(Problem(rates), Unimodal("players")).constant
    page = (DOCS / "explanation" / "paper.md").read_text("utf-8")
    section = page.partition("### Three readings")[2]
    assert re.findall(r"\| (\d+\.\d\d) \|", section) == [
        f"{factor:.2f}" for factor in (ours, literal / 2, literal)
    ]


def test_policies_and_problems_without_a_theorem_are_refused():
    for policy in (Uniform(), Oracle()):
        with pytest.raises(PolicyError, match=r'Unimodal\("players"\) and SAM\(\)'):
            bounds.theorem(Problem([0.9, 0.8, 0.3, 0.2]), policy)
    with pytest.raises(ProblemError, match="strictly"):
        bounds.theorem(Problem([0.5, 0.5, 0.5, 0.5]), Unimodal())


@pytest.mark.parametrize("policy", [Unimodal("matchings"), Unimodal("players"), SAM()])
def test_no_theorem_promises_less_than_the_limit(policy):
    for rates in PROBLEMS:
        problem = Problem(rates)
        assert bounds.theorem(problem, policy).constant > bounds.lower(problem).constant


@pytest.mark.parametrize(
    ("problem", "reason"),
    [
        (Problem.from_matrix(Problem([0.9, 0.8, 0.3, 0.2]).couple_rates), "product of their"),
        (Problem.piecewise([0, 9], [[0.9, 0.8, 0.3], [0.1, 0.8, 0.3]]), "rates change"),
    ],
    ids=["matrix", "piecewise"],
)
def test_beyond_products_of_fixed_rates_the_limit_is_not_known_and_theorems_are_refused(
    problem, reason
):
    bound = bounds.lower(problem)
    assert math.isnan(bound.constant)
    assert math.isnan(bound.certified)
    assert reason in bound.reason
    with pytest.raises(ProblemError):
        bounds.theorem(problem, Unimodal())


def test_a_theorem_says_how_far_it_is_proved():
    problem = Problem.around(0.5, 3, 0.1)
    first, second, sam = (
        bounds.theorem(problem, policy).caveat
        for policy in (Unimodal("matchings"), Unimodal("players"), SAM())
    )
    assert first.startswith("proved in part: from lemmas whose proofs the paper defers")
    assert second.startswith("conjectured: the paper states it without a proof")
    assert "ucb" not in first + second
    assert sam.startswith("proved by")
    assert (
        'nothing is proved for index="ucb"' in bounds.theorem(problem, Unimodal(index="ucb")).caveat
    )
