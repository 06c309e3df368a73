"""On a GPU every policy has the CPU's numbers, bit for bit, at every checkpoint."""

import numpy as np
import pytest

from gpu_tests.cases import REPLICATIONS, SEED, cases, checkpoints
from pairup import PMED, Problem, RankOneThompson, get_policy, policy_names, simulate


def assert_same(problem, policy, count, checkpoints):
    settings = {"seed": SEED, "checkpoints": checkpoints}
    cpu = simulate(problem, policy, checkpoints[-1], count, **settings)
    gpu = simulate(problem, policy, checkpoints[-1], count, **settings, engine="cuda")
    assert np.array_equal(cpu.regret, gpu.regret)
    assert np.array_equal(cpu.games, gpu.games)


@pytest.mark.parametrize(
    ("policy", "problem"), cases(), ids=lambda each: getattr(each, "name", None) and str(each)
)
def test_a_gpu_has_the_bits_of_the_cpu(policy, problem):
    assert_same(problem, policy, REPLICATIONS, checkpoints(policy))


def test_every_registered_policy_is_tested():
    tested = {policy.name for policy, _ in cases()}
    assert tested == set(policy_names())


@pytest.mark.parametrize("name", ["rank_one_thompson", "oracle"])
@pytest.mark.parametrize(
    "problem",
    [
        Problem([0.9, 0.8, 0.7, 0.5, 0.3], allowed=[(0, 1), (1, 2), (2, 3), (3, 4)]),
        Problem.piecewise([0, 20], [[0.9, 0.1, 0.5, 0.4], [0.1, 0.9, 0.5, 0.4]]),
        Problem.from_matrix([[0, 0.2, 0.4], [0.2, 0, 0.6], [0.4, 0.6, 0]]),
    ],
    ids=["graph", "changing", "couples"],
)
def test_graphs_changes_and_rates_of_couples_have_the_bits_of_the_cpu(name, problem):
    assert_same(problem, get_policy(name), 100, [7, 60])


@pytest.mark.parametrize(("policy", "rounds"), [(RankOneThompson(), 20_000), (PMED(), 300)])
def test_few_replications_of_many_rounds_have_the_bits_of_the_cpu(policy, rounds):
    assert_same(Problem.from_zero(4, 0.1), policy, 5, [rounds])
