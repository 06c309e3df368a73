"""The marginal likelihood of how far couples deviate, against sums over a grid of rates."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import betaln

from pairup import HierarchicalThompson
from pairup.policies.hierarchical.fit import climb, gather, log_evidence
from pairup.policies.hierarchical.hierarchical_thompson import CONCENTRATIONS
from tests.support.twins.compiled import Compiled

# Games and misses of three couples.
OUTCOMES = {
    "products": {(0, 1): (63, 37), (0, 2): (36, 64), (1, 2): (28, 72)},
    "far from products": {(0, 1): (90, 10), (0, 2): (5, 95), (1, 2): (88, 12)},
    "few": {(0, 1): (3, 2), (0, 2): (0, 4), (1, 2): (2, 2)},
    "one couple often": {(0, 1): (700, 300), (0, 2): (3, 5), (1, 2): (1, 7)},
}


def fitted(outcomes):
    """The log marginal likelihood of each concentration, by the kernels."""
    compiled = Compiled(HierarchicalThompson(), 3, horizon=10_000)
    for couple, (games, missed) in outcomes.items():
        compiled.observe([couple] * (games + missed), [True] * games + [False] * missed)
    inner, fit, found = compiled.state.inner, compiled.state.fit, []
    gather(inner, fit)
    for concentration in CONCENTRATIONS:
        mode = np.full(len(inner.met), 0.5)
        density = climb(inner, fit, concentration, mode)
        found.append(log_evidence(inner, fit, concentration, density))
    return np.array(found)


def summed(outcomes, points=150):
    """The same by a sum over a grid of the three rates, which are uniform."""
    rate = (np.arange(points) + 0.5) / points
    rates, found = np.meshgrid(rate, rate, rate, indexing="ij"), []
    for k in CONCENTRATIONS:
        log = np.zeros((points,) * 3)
        for (i, j), (games, missed) in outcomes.items():
            m = rates[i] * rates[j]
            if k == np.inf:
                log += games * np.log(m) + missed * np.log1p(-m)
            else:
                a, b = k * m, k * (1 - m)
                log += betaln(a + games, b + missed) - betaln(a, b)
        found.append(np.log(np.exp(log - log.max()).sum()) + log.max())
    return np.array(found)


@pytest.mark.parametrize("name", OUTCOMES)
def test_marginal_likelihoods_are_those_of_a_sum_over_rates(name):
    found, expected = fitted(OUTCOMES[name]), summed(OUTCOMES[name])
    difference = (found - found[-1]) - (expected - expected[-1])
    expected -= expected.max()
    likely = expected > -8.0
    likely[-1] = False
    spread = np.ptp((found - expected)[expected > -8.0])
    assert spread < 0.7, difference


def test_the_mode_is_where_nothing_is_gained():
    compiled, random = Compiled(HierarchicalThompson(), 6, horizon=1_000), np.random.default_rng(0)
    for couple in combinations(range(6), 2):
        compiled.observe([couple] * 40, random.random(40) < 0.4)
    inner, fit = compiled.state.inner, compiled.state.fit
    gather(inner, fit)
    for concentration in CONCENTRATIONS:
        mode = np.full(len(inner.met), 0.5)
        density = climb(inner, fit, concentration, mode)
        for _ in range(50):
            near = np.clip(mode + random.normal(0, 0.02, len(mode)), 0.01, 0.99)
            # A climb from there ends as high, and begins lower.
            assert climb(inner, fit, concentration, near) == pytest.approx(density, abs=5e-3)
