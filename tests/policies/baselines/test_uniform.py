from collections import Counter
from random import Random

import pytest

from pairup import Problem, Uniform, simulate
from tests.support.twins import uniform as naive_uniform
from tests.support.twins.compiled import Compiled


def test_proposes_each_matching_equally_often():
    learner = Uniform().learner("abcd")
    seen = Counter(learner.propose() for _ in range(3_000))
    assert len(seen) == 3
    assert all(900 < count < 1_100 for count in seen.values())


def test_each_player_waits_equally_often():
    learner = Uniform().learner("abc")
    seen = Counter(learner.propose().waiting for _ in range(3_000))
    assert len(seen) == 3
    assert all(900 < count < 1_100 for count in seen.values())


def test_loses_what_chance_loses():
    run = simulate(Problem([1, 1, 0, 0]), Uniform(), 30_000, 4)
    assert run.mean()[-1] == pytest.approx(20_000, rel=0.02)


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
