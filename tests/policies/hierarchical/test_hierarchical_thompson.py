import numpy as np
import pytest

from pairup import CombThompson, HierarchicalThompson, Problem, RankOneThompson, simulate
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
    found = policy.deviation(playing.state)
    assert found.chances.sum() == pytest.approx(1.0)
    assert found.concentrations[0] == np.inf
    likeliest = found.concentrations[found.chances.argmax()]
    assert (found.chances[0] > 0.5) == exact
    assert (likeliest < 100) != exact


def test_wrong_options_are_refused_in_its_own_name():
    with pytest.raises(Exception, match="prior of hierarchical_thompson cannot be 'flat'"):
        HierarchicalThompson(prior="flat")
