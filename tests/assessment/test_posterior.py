"""The posterior of rates against exact sums."""

import numpy as np
import pytest

from pairup.assessment.posterior import Evidence, draw_rates

GRID = (np.arange(200) + 0.5) / 200


def _exact_means(accepted, declined, missed, mean, concentration):
    """Return the posterior means of two rates, with a known population, by sums over a grid."""
    a, b = mean * concentration, (1 - mean) * concentration
    one, other = np.meshgrid(GRID, GRID, indexing="ij")
    weight = np.ones_like(one)
    for rate, yes, no in ((one, accepted[0], declined[0]), (other, accepted[1], declined[1])):
        weight *= rate ** (a - 1 + yes) * (1 - rate) ** (b - 1 + no)
    weight *= (1 - one * other) ** missed
    return [(rate * weight).sum() / weight.sum() for rate in (one, other)]


@pytest.mark.parametrize("missed", [0, 1, 6])
def test_rates_are_drawn_from_their_posterior(monkeypatch, missed):
    from pairup.assessment import posterior

    # With the population held where it starts: mean 1/2, a + b = 5.
    monkeypatch.setattr(posterior._Population, "move", lambda *_, **__: None)
    accepted, declined = np.array([3.0, 1.0]), np.array([1.0, 2.0])
    evidence = Evidence(accepted, declined, np.zeros(missed, int), np.ones(missed, int))
    draws = draw_rates(evidence, np.random.default_rng(1), sweeps=20_000, kept=10_000)
    means = np.mean([draw.rates for draw in draws], axis=0)
    exact = _exact_means(accepted, declined, missed, 0.5, 5.0)
    assert means == pytest.approx(exact, abs=0.01)


def test_the_population_is_found():
    rng = np.random.default_rng(2)
    rates = rng.beta(8.0, 2.0, 2_000)
    accepted = rng.binomial(50, rates).astype(float)
    evidence = Evidence(accepted, 50 - accepted, *np.zeros((2, 0), int))
    draws = list(draw_rates(evidence, rng, sweeps=300, kept=100))
    assert np.mean([draw.mean for draw in draws]) == pytest.approx(0.8, abs=0.01)
    assert np.mean([draw.concentration for draw in draws]) == pytest.approx(10.0, rel=0.1)
