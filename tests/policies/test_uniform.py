from collections import Counter

import pytest

from pairup import Problem, Uniform, simulate


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
