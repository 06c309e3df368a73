import pickle

import numpy as np
import pytest

from pairup import Problem, Run, SimulationError, Uniform, simulate

REGRET = np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]])


@pytest.fixture
def run():
    return Run(
        Problem([0.5, 0.5]),
        Uniform(),
        0,
        np.arange(3),
        np.array([10, 20]),
        REGRET,
        np.array([[4, 9], [5, 9], [6, 9]]),
    )


def test_the_mean_is_taken_over_replications_at_each_checkpoint(run):
    assert run.mean().tolist() == [2.0, 4.0]
    assert run.mean("games").tolist() == [5.0, 9.0]


def test_the_interval_is_halls_and_not_below_0(run):
    low, high = run.interval(level=0.8)
    quantile = 1.8856180831641267  # t(0.9) of 2 degrees
    bend = 5 / 8 / np.sqrt(3) / 3  # the sample has none, and is moved towards 1 by 5 values
    error = np.array([1.0, 2.0]) / np.sqrt(3)
    for ends, sign in ((low, 1), (high, -1)):
        t = (run.mean() - ends) / error
        assert t + bend * t**2 + bend**2 * t**3 / 3 + bend / 2 == pytest.approx(sign * quantile)
    assert (run.interval(level=0.999)[0] == 0).all()


def test_a_higher_level_is_a_wider_interval(run):
    widths = [np.subtract(*run.interval(level=level)[::-1])[0] for level in (0.5, 0.95, 0.99)]
    assert widths == sorted(widths)
    low, high = run.interval("games")
    assert low[0] < 5 < high[0]
    assert low[1] == high[1] == 9


def test_the_interval_covers_at_its_level():
    problem = Problem([1, 1, 0, 0])  # a round of chance loses 2/3
    covered = 0
    for seed in range(400):
        low, high = simulate(problem, Uniform(), 30, 12, seed=seed, checkpoints=[]).interval()
        covered += low[-1] <= 20 <= high[-1]
    assert 0.91 < covered / 400 < 0.98


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, float("nan"), 95, "0.95", None])
def test_refuses_a_level(run, level):
    with pytest.raises(SimulationError, match="level must lie in"):
        run.interval(level=level)


def test_refuses_a_measure(run):
    for measure in ("regrets", None, 3):
        with pytest.raises(SimulationError, match='measure must be "regret" or "games"'):
            run.mean(measure)


def test_one_replication_has_no_interval():
    run = simulate(Problem([0.5, 0.5]), Uniform(), 10, 1)
    with pytest.raises(SimulationError, match="at least 2 replications, got 1"):
        run.interval()


def test_shows_what_was_run(run):
    assert repr(run) == "Run(Uniform() on a problem: 3 x 20 rounds, mean regret 4.0)"
    named = simulate(Problem.from_zero(2, 0.1), Uniform(), 1_000, 1)
    assert repr(named).startswith("Run(Uniform() on from_zero(2, 0.1): 1 x 1,000 rounds, mean")


def test_survives_pickling(run):
    twin = pickle.loads(pickle.dumps(run))
    assert np.array_equal(twin.regret, run.regret)
    assert twin.problem == run.problem
    assert twin.policy == run.policy
