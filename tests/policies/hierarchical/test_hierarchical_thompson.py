import numpy as np
import pytest

from pairup import (
    CombThompson,
    HierarchicalThompson,
    Matching,
    Problem,
    RankOneThompson,
    simulate,
)
from pairup.policies.hierarchical.hierarchical_thompson import CONCENTRATIONS
from pairup.simulation.playthrough import Playthrough

PLAIN = Problem.around(0.5, 4, 0.1)


def noisy(noise, seed):
    """A problem whose couples deviate from products in log odds."""
    products = PLAIN.couple_rates
    draws = np.triu(np.random.default_rng(seed).normal(0, noise, products.shape), 1)
    odds = products / (1 - products) * np.exp(draws + draws.T)
    return Problem.from_matrix(odds / (1 + odds))


def mean_regret(policy, noise, rounds, instances):
    return np.mean(
        [
            simulate(noisy(noise, seed), policy, rounds, 1, seed, [rounds]).mean()[-1]
            for seed in range(instances)
        ]
    )


@pytest.mark.parametrize("noise", [0.0, 0.8])
def test_it_loses_little_whether_couples_are_products_or_not(noise):
    """Far less than the policy that is wrong there; docs/explanation/hierarchical.md has more."""
    ours, one, every = (
        mean_regret(policy, noise, 4_000, 6)
        for policy in (HierarchicalThompson(), RankOneThompson(), CombThompson())
    )
    assert ours < 0.5 * max(one, every)
    assert ours < 3.0 * min(one, every)


@pytest.mark.parametrize(("noise", "exact"), [(0.0, True), (0.8, False)])
def test_it_learns_whether_couples_follow_the_rates(noise, exact):
    policy = HierarchicalThompson()
    playing = Playthrough(noisy(noise, 3), policy, 3_000, 1, 0)
    playing.play_to(3_000)
    chances = playing.state.chances
    assert chances.sum() == pytest.approx(1.0)
    likeliest = CONCENTRATIONS[chances.argmax()]
    assert (chances[0] > 0.5) == exact
    assert (likeliest < 100) != exact


@pytest.mark.parametrize("concentration", [np.inf, 100.0, 10.0])
def test_the_interval_of_the_deviation_covers_it(concentration):
    """In at least 90 of 100; docs/explanation/hierarchical.md has more."""
    covered, policy = 0, HierarchicalThompson()
    for seed in range(20):
        draws = np.random.default_rng(seed)
        rates = draws.beta(2, 2, 8)
        products = np.triu(np.outer(rates, rates), 1)
        if concentration < np.inf:
            chances = draws.beta(
                concentration * np.outer(rates, rates), concentration * (1 - np.outer(rates, rates))
            )
            chances = np.triu(chances, 1)
        else:
            chances = products
        playing = Playthrough(Problem.from_matrix(chances + chances.T), policy, 2_000, 1, seed)
        playing.play_to(2_000)
        m = products[np.triu_indices(8, 1)]
        variance = np.mean(m * (1 - m))
        low, high = policy.concentrations(playing.state).deviation(variance)[1:]
        covered += low <= np.sqrt(variance / (concentration + 1)) <= high
    assert covered >= 17


def test_asking_for_the_deviation_changes_nothing():
    learner = HierarchicalThompson().learner(range(6))
    random = np.random.default_rng(0)
    for _ in range(40):
        matching = learner.propose()
        learner.observe(matching, random.random(len(matching)) < 0.5)
        learner.learn([(0, 1), (2, 3)], [True, False])
        saved = learner.to_bytes()
        assert 0.0 <= learner.couple_deviation().low <= learner.couple_deviation().high < 0.5
        assert learner.to_bytes() == saved


def test_the_deviation_is_known_where_only_others_propose():
    learner = HierarchicalThompson().learner(range(4))
    for _ in range(200):
        for played, couples in ((True, [(0, 1), (2, 3)]), (False, [(0, 2), (1, 3)])):
            matching = Matching(couples)
            learner.record(matching)
            learner.observe(matching, [played, played])
    assert learner.couple_deviation().low > 0.1


def test_the_deviation_of_couples_needs_a_policy_that_learns_it_and_two_players():
    assert RankOneThompson().learner("abc").couple_deviation() is None
    assert HierarchicalThompson().learner("a").couple_deviation() is None
    assert HierarchicalThompson().learner("abc").couple_deviation(["a"]) is None
    assert HierarchicalThompson().learner("abc").couple_deviation(["a", "b"]) is not None


def test_wrong_options_are_refused_in_its_own_name():
    with pytest.raises(Exception, match="prior of hierarchical_thompson cannot be 'flat'"):
        HierarchicalThompson(prior="flat")
