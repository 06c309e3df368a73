"""Rules for policies of two sides only: what they propose, keep, save and refuse.

Such policies have no live learner, whose players are on one side: the simulator plays them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pairup.compiled.randomness import POLICY, stream_key
from pairup.compiled.simulation_loop import new_totals, play_rounds
from pairup.compiled.steps import FULL, set_available_step
from pairup.compiled.third_party.steps import checked_bounds, for_state
from pairup.errors import PolicyError
from pairup.policies.contract import Policy, StartContext
from pairup.problem import Problem
from pairup.simulation.replication import new_replication, replicated_ground
from pairup.simulation.simulate import simulate
from pairup.testing.expectation import expect, expect_equal
from pairup.testing.playing import size
from pairup.testing.proposal_rules import is_a_frozen_set_of_options
from pairup.testing.variants import Variant

_SIDES = ((1, 1), (2, 1), (1, 3), (3, 3), (5, 3), (2, 4), (10, 5))
_EXTREMES: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = (
    ((0,), (1,)),
    ((0, 0, 0), (1, 1)),
    ((1, 1, 1), (1, 1, 1)),
    ((1, 0, 1), (1, 0)),
    ((0.5, 0.5), (0.5, 0.5, 0.5)),
    ((1e-300, 1 - 2**-53, 0.5), (5e-324, 1)),
)
_HORIZON = 1_000
_MAX_STATE_BYTES = 1 << 16  # of ten rows and five columns


class _Play:
    """A policy that plays a replication of a problem of two sides, round by round."""

    def __init__(self, policy: Policy, problem: Problem, seed: int = 0) -> None:
        self.policy, self.replication = policy, new_replication(problem, seed, 0)
        self.columns = replicated_ground(problem, seed, 0).columns
        self.key = np.uint64(stream_key(seed, 0, POLICY))
        self.totals = new_totals(problem.players)
        self.state = self._set_available(self._started())

    def _started(self) -> Any:
        assert self.columns is not None
        rates, slots = self.replication.rates, np.flatnonzero(self.columns)
        order = slots[np.argsort(-rates[slots], kind="stable")]
        told = order if self.policy.is_told_column_order else None
        context = StartContext(len(rates), self.key, _HORIZON, rates, None, self.columns, told)
        state = self.policy.start(context)
        self.policy.set_present(state, np.arange(len(rates)))
        return self.policy.on_sides(state, context)

    def _set_available(self, state: Any) -> Any:
        for_state(set_available_step, state)(state, np.arange(len(self.replication.rates)))
        return state

    def play(self, rounds: int) -> list[list[tuple[int, int]]]:
        """Play some more rounds; returns the couples of each."""
        return [self._next() for _ in range(rounds)]

    def _next(self) -> list[tuple[int, int]]:
        until = int(self.totals.round[0]) + 1
        loop = for_state(play_rounds, self.state)
        while loop(self.state, self.replication, self.totals, until) == FULL:
            self.state = self.policy.grow(self.state)
        return [(i, j) for i, j in self.totals.couples.tolist() if i >= 0]

    def save_and_load(self) -> None:
        """Continue with a state made from what was saved."""
        saved = {name: array.copy() for name, array in self.policy.saved(self.state).items()}
        self.state = self._set_available(self.policy.load(self._started(), saved))


def _problem(rows: int, columns: int) -> Problem:
    return Problem.two_sided(np.linspace(0.9, 0.1, rows), np.linspace(1.0, 0.3, columns))


def _expect_across(couples: Any, columns: Any, what: str) -> None:
    """Raise unless the couples are as many as possible, each of a row and a column."""
    players = [player for couple in couples for player in couple]
    count = min(np.count_nonzero(columns), np.count_nonzero(~columns))
    expect_equal(len(couples), count, f"couples of {what}")
    expect_equal(len(set(players)), 2 * count, f"different players of {what}")
    expect(all(i < j for i, j in couples), f"{what} has couples out of order")
    expect(all(columns[i] != columns[j] for i, j in couples), f"{what} couples a side with itself")


def couples_rows_with_columns(variant: Variant) -> None:
    """Each proposal couples as many rows with columns as possible; so does the leader."""
    for rows, columns in _SIDES:
        play = _Play(variant.policy([]), _problem(rows, columns), seed=rows)
        for couples in play.play(60):
            _expect_across(couples, play.columns, "a proposal")
        leader = play.policy.leader(play.state)
        if leader is not None:
            _expect_across(leader.tolist(), play.columns, "the leader")


def repeats_bit_for_bit_on_sides(variant: Variant) -> None:
    """The same seed gives the same numbers, bit for bit, and another seed others."""
    problem = _problem(5, 3)
    first, again, other = (
        simulate(problem, variant.policy([]), 500, 3, seed) for seed in (1, 1, 2)
    )
    expect(np.array_equal(first.regret, again.regret), "regrets of equal seeds differ")
    expect(np.array_equal(first.games, again.games), "games of equal seeds differ")
    expect(not np.array_equal(first.games, other.games), "games of different seeds are the same")


def holds_at_the_extremes_of_sides(variant: Variant) -> None:
    """With rates of 0 and 1, equal rates and tiny ones, the regret stays in its possible range."""
    for rows, columns in _EXTREMES:
        problem = Problem.two_sided(rows, columns)
        run = simulate(problem, variant.policy([]), 400, 2, checkpoints=range(1, 401))
        expect(np.all(np.diff(run.regret, axis=1) >= 0), f"regret falls, with rows {rows}")
        most = problem.best_games * run.rounds * (1 + 1e-9)
        expect(np.all(run.regret <= most), f"regret exceeds the best games, with rows {rows}")
        if len(set(rows)) == 1:  # and there is one for each column, or columns are equal too
            expect(np.all(run.regret == 0), f"regret where none is possible, with rows {rows}")


def goes_on_after_saving_on_sides(variant: Variant) -> None:
    """A state that was saved and loaded continues as if it had never stopped."""
    for rows, columns in _SIDES:
        play, twin = (_Play(variant.policy([]), _problem(rows, columns), 4) for _ in range(2))
        for rounds in (0, 1, 30, 100):
            expect_equal(twin.play(rounds), play.play(rounds), "proposals after loading")
            twin.save_and_load()
        expect_equal(twin.play(50), play.play(50), "proposals after loading")


def keeps_a_state_of_bounded_size_on_sides(variant: Variant) -> None:
    """The state does not grow with the rounds."""
    play = _Play(variant.policy([]), _problem(10, 5))
    play.play(500)
    early = size(play.state)
    play.play(5_000)
    late = size(play.state)
    expect(late <= 2 * early, f"the state grew from {early:,} to {late:,} bytes")
    expect(late < _MAX_STATE_BYTES, f"the state of fifteen players takes {late:,} bytes")


def is_refused_on_one_side(variant: Variant) -> None:
    """One side is refused in one line, simulated and live."""
    policy = variant.policy([])
    for call in (
        lambda: simulate(Problem([0.9, 0.5, 0.3, 0.1]), policy, 10, 1),
        lambda: policy.learner("abcd"),
    ):
        try:
            call()
        except PolicyError as error:
            expect("two sides" in str(error) and "\n" not in str(error), f"it is refused: {error}")
        else:
            expect(False, "players on one side are not refused")


def stays_within_its_arrays_on_sides(variant: Variant) -> None:
    """Steps read and write within their arrays."""
    with checked_bounds():
        for rows, columns in _SIDES:
            try:
                _Play(variant.policy([]), _problem(rows, columns)).play(20)
            except IndexError:
                expect(False, f"a step goes beyond an array, with {rows} rows, {columns} columns")


RULES = (
    is_a_frozen_set_of_options,
    couples_rows_with_columns,
    repeats_bit_for_bit_on_sides,
    holds_at_the_extremes_of_sides,
    goes_on_after_saving_on_sides,
    keeps_a_state_of_bounded_size_on_sides,
    is_refused_on_one_side,
)
