from collections import Counter
from random import Random

import pytest

from pairup import Uniform
from tests.support.twins import uniform as naive_uniform
from tests.support.twins.compiled import Compiled


@pytest.mark.parametrize("n", range(2, 13))
def test_equals_its_twin_step_for_step(n):
    compiled, twin, random = Compiled(Uniform(), n, key=n), naive_uniform.Uniform(n, n), Random(n)
    for _ in range(200):
        assert compiled.propose() == twin.propose()
    for _ in range(200):
        available = random.sample(range(n), random.randint(2, n))
        compiled.set_available(available)
        assert compiled.propose() == twin.propose(available)


def test_draws_every_matching_equally_often():
    compiled = Compiled(Uniform(), 4, key=1)
    counts = Counter(tuple(compiled.propose()) for _ in range(3000))
    assert len(counts) == 3
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations
