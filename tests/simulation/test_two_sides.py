"""Two sides in simulations: who meets whom, draws, and what policies are told."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from pairup import (
    GRAB,
    Oracle,
    PolicyError,
    Problem,
    RankOneThompson,
    Uniform,
    Unimodal,
    simulate,
)
from pairup.simulation.playthrough import Playthrough
from pairup.simulation.replication import new_replication, replicated_ground
from tests.support.twins import loop as naive_loop
from tests.support.twins import streams

ROWS, COLUMNS = [0.9, 0.5, 0.4, 0.2], [0.3, 1.0, 0.7]
PROBLEM = Problem.two_sided(ROWS, COLUMNS, "mine")


def proposals(playthrough, rounds):
    """The couples of each round, as they were proposed."""
    for t in range(rounds):
        playthrough.play_to(t + 1)
        yield [(i, j) for i, j in playthrough.totals.couples.tolist() if i >= 0]


@pytest.mark.parametrize("draws", ["independent", "common"])
def test_two_sides_are_played_as_the_twin_says(draws):
    problem, rounds = Problem.two_sided(ROWS, COLUMNS, draws=draws), 300
    run = simulate(problem, Uniform(), rounds, range(3, 5), seed=9)
    for row, number in enumerate((3, 4)):
        key = streams.stream_key(9, number, streams.ACCEPTANCES)
        rates = new_replication(problem, 9, number).rates.tolist()
        columns = replicated_ground(problem, 9, number).columns
        regret, games = 0.0, 0
        playthrough = Playthrough(problem, Uniform(), rounds, 9, number)
        for t, couples in enumerate(proposals(playthrough, rounds)):
            assert len(couples) == 3
            assert all(columns[i] != columns[j] for i, j in couples)
            games += sum(naive_loop.outcomes(key, rates, t, couples, draws))
            regret += problem.best_games - sum(rates[i] * rates[j] for i, j in couples)
        assert games == run.games[row, -1]
        assert regret == pytest.approx(run.regret[row, -1])


def test_players_accept_as_they_do_on_one_side():
    """The optimum has the same couples, so that its games are the same."""
    rates = [0.9, 0.5, 1.0, 0.7]
    one_side, two_sides = Problem(rates), Problem.two_sided(rates[:2], rates[2:])
    runs = [simulate(each, Oracle(), 500, 3, seed=3) for each in (one_side, two_sides)]
    assert np.array_equal(runs[0].games, runs[1].games)
    assert not runs[1].regret.any()


def test_common_draws_let_couples_play_together_and_as_often():
    independent, common = (
        simulate(Problem.two_sided([0.5, 0.5], [1, 1], draws=draws), Oracle(), 1, 4_000)
        for draws in ("independent", "common")
    )
    assert set(common.games[:, 0]) == {0, 2}
    assert set(independent.games[:, 0]) == {0, 1, 2}
    assert common.games.mean() == pytest.approx(1, abs=0.06)


@dataclass(frozen=True)
class TwoSidedUniform(Uniform):
    """A policy that needs two sides, and is told the order of the columns."""

    name: ClassVar[str] = "two_sided_uniform"
    needs_sides: ClassVar[bool] = True
    is_told_column_order: ClassVar[bool] = True
    contexts: ClassVar[list] = []

    def start(self, context):
        self.contexts.append(context)
        return super().start(context)


def test_a_policy_is_told_the_sides_and_the_order_of_the_columns_if_it_asks():
    contexts = TwoSidedUniform.contexts
    Playthrough(PROBLEM, TwoSidedUniform(), 10, 0, 5)
    rates = new_replication(PROBLEM, 0, 5).rates
    assert sorted(rates[contexts[-1].columns]) == sorted(COLUMNS)
    assert rates[contexts[-1].column_order].tolist() == [1.0, 0.7, 0.3]


def test_a_policy_for_two_sides_is_refused_on_one():
    with pytest.raises(PolicyError, match=r"^two_sided_uniform is for two sides, .*: pose [^\n]*$"):
        simulate(Problem(ROWS), TwoSidedUniform(), 10, 1)
    with pytest.raises(PolicyError, match="is for two sides"):
        simulate(Problem.random_graph(6, 0.5), TwoSidedUniform(), 10, 1)


@dataclass(frozen=True)
class DerivedGRAB(GRAB):
    """A third-party policy with the steps of one of pairup's own."""

    name: ClassVar[str] = "derived_grab"


def test_a_policy_derived_from_ours_may_leave_players_waiting():
    problem = Problem.two_sided(ROWS, COLUMNS[:2])
    derived, ours = (simulate(problem, policy, 200, 2) for policy in (DerivedGRAB(), GRAB()))
    assert np.array_equal(derived.regret, ours.regret)


def test_a_policy_for_complete_graphs_is_refused_on_two_sides():
    with pytest.raises(PolicyError, match=r"^unimodal is for complete graphs .*: [^\n]*$"):
        simulate(PROBLEM, Unimodal(), 10, 1)


def test_rates_of_two_sides_may_change():
    later = Problem.two_sided(ROWS[::-1], COLUMNS)
    problem = Problem.piecewise([0, 50], [PROBLEM, later])
    assert simulate(problem, Oracle(), 100, 2).regret[:, -1].tolist() == [0, 0]


def test_a_policy_on_graphs_learns_two_sides():
    run = simulate(PROBLEM, RankOneThompson(), 2_000, 4)
    assert run.mean()[-1] < 0.1 * simulate(PROBLEM, Uniform(), 2_000, 4).mean()[-1]


def test_labels_of_rows_and_columns_are_shuffled():
    first = np.array([replicated_ground(PROBLEM, 0, number).columns[0] for number in range(300)])
    assert 0.3 < first.mean() < 0.6
