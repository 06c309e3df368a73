from collections import Counter
from random import Random

import pytest

from pairup import Oracle, Uniform
from tests.support.twins import unimodal_and_sam as naive
from tests.support.twins.compiled import Compiled
from tests.support.twins.rate_families import FAMILIES


@pytest.mark.parametrize("n", range(2, 13))
def test_uniform_equals_its_twin_step_for_step(n):
    compiled, twin, random = Compiled(Uniform(), n, key=n), naive.Uniform(n, n), Random(n)
    for _ in range(200):
        assert compiled.propose() == twin.propose()
    for _ in range(200):
        seated = random.sample(range(n), random.randint(2, n))
        compiled.seat(seated)
        assert compiled.propose() == twin.propose(seated)


def test_uniform_draws_every_matching_as_often():
    compiled = Compiled(Uniform(), 4, key=1)
    counts = Counter(tuple(compiled.propose()) for _ in range(3000))
    assert len(counts) == 3
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations


@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("family", FAMILIES)
def test_oracle_equals_its_twin(family, n):
    rates = naive.shuffled(n, FAMILIES[family](n))
    compiled, twin, random = Compiled(Oracle(), n, rates=rates), naive.Oracle(rates), Random(n)
    assert compiled.propose() == twin.propose()
    for _ in range(10):
        seated = random.sample(range(n), random.randint(2, n))
        compiled.seat(seated)
        assert compiled.propose() == twin.propose(seated)
