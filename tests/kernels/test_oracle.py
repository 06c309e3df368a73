from random import Random

import pytest

from pairup import Oracle
from tests.support.twins import oracle as naive_oracle
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled
from tests.support.twins.rate_families import FAMILIES


@pytest.mark.parametrize("n", range(2, 13))
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin(family, n):
    rates = streams.shuffled(n, FAMILIES[family](n))
    compiled, twin = Compiled(Oracle(), n, rates=rates), naive_oracle.Oracle(rates)
    random = Random(n)
    assert compiled.propose() == twin.propose()
    for _ in range(10):
        available = random.sample(range(n), random.randint(2, n))
        compiled.set_available(available)
        assert compiled.propose() == twin.propose(available)
