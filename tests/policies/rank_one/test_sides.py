"""Rank-one Thompson sampling on two sides, against its twin and against its posterior."""

import numpy as np
import pytest

from pairup import Problem, RankOneThompson, simulate
from pairup.compiled.steps import propose_step, set_available_step
from pairup.policies.contract import StartContext
from pairup.simulation.playthrough import Playthrough
from pairup.simulation.replication import new_replication, replicated_ground
from tests.support.twins import loop as naive_loop
from tests.support.twins import streams
from tests.support.twins.rank_one_sides import TwoSidedRankOne

POSITIONS = [1, 0.75, 0.6, 0.3, 0.1]
STANDARD = Problem.two_sided([0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01], POSITIONS)


@pytest.mark.parametrize(
    ("rows", "columns", "options"),
    [
        ([0.9, 0.5, 0.3, 0.2], [0.3, 1.0], {}),
        ([0.9, 0.5], [0.3, 1.0, 0.6], {"period": 1, "prior": (2.0, 3.0)}),
        ([0.9, 0.5, 0.1], [0.3, 0.8, 0.6], {"prior": "learned"}),
        ([0.9, 0.5, 0.1], [0.3, 0.8], {"memory": 20.0}),
    ],
    ids=["more rows", "more columns and a prior", "learned prior", "memory"],
)
def test_proposals_are_those_of_the_twin(rows, columns, options):
    problem, rounds, seed = Problem.two_sided(rows, columns), 40, 3
    rates = new_replication(problem, seed, 0).rates.tolist()
    keys = [streams.stream_key(seed, 0, purpose) for purpose in range(3)]
    twin = TwoSidedRankOne(
        replicated_ground(problem, seed, 0).columns.tolist(), key=keys[streams.POLICY], **options
    )
    playthrough = Playthrough(problem, RankOneThompson(**options), rounds, seed, 0)
    for t in range(rounds):
        expected = twin.propose()
        playthrough.play_to(t + 1)
        couples = [tuple(each) for each in playthrough.totals.couples.tolist() if each[0] >= 0]
        assert sorted(couples) == expected, t
        played = naive_loop.outcomes(keys[streams.ACCEPTANCES], rates, t, couples, "independent")
        twin.observe(couples, played)
        inner = playthrough.state.inner
        assert inner.rates[: len(rates)] == pytest.approx(twin.rates, rel=1e-6)
        assert inner.mean[: len(rates)] == pytest.approx(twin.mean, rel=1e-6)


@pytest.mark.parametrize("sides", [(3, 1), (1, 3), (2, 2)], ids=str)
@pytest.mark.parametrize("prior", ["uniform", (2.0, 3.0)], ids=str)
def test_without_outcomes_the_rates_have_their_prior(sides, prior):
    """A scale that moved by other rules would show in the moments."""
    players, draws = sum(sides), 20_000
    policy = RankOneThompson(period=1, prior=prior)
    columns = np.arange(players) >= sides[0]
    context = StartContext(players, np.uint64(7), horizon=draws, columns=columns)
    state = policy.on_sides(policy.start(context), context)
    set_available_step(state, np.arange(players))
    couples = np.zeros((players // 2, 2), np.int64)
    drawn = np.zeros((draws, players))
    for t in range(draws):
        propose_step(state, couples)
        drawn[t] = state.inner.rates[:players]
    a, b = (1.0, 1.0) if prior == "uniform" else prior
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    assert drawn.mean(axis=0) == pytest.approx(np.full(players, mean), abs=0.015)
    assert drawn.var(axis=0) == pytest.approx(np.full(players, variance), rel=0.06)
    assert np.abs(np.corrcoef(drawn.T) - np.eye(players)).max() < 0.05


def test_the_standard_ranking_is_learnt_as_fast_as_by_the_prototype():
    """Known answers: 34 and 55 after 1,000 and 10,000 rounds, as means of three games."""
    run = simulate(STANDARD, RankOneThompson(), 10_000, 8, checkpoints=[1_000])
    early, late = run.mean()
    assert 25 < early < 45
    assert 40 < late < 80
