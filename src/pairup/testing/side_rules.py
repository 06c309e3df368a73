"""Rules for policies of two sides only: what they propose, keep, save and refuse.

Such policies have no live learner, whose players are on one side: the simulator plays them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pairup.compiled.steps import set_available_step
from pairup.compiled.third_party import checked_bounds, for_state
from pairup.errors import PolicyError
from pairup.problem import Problem
from pairup.simulation.replication import replicated_ground
from pairup.simulation.simulate import simulate
from pairup.testing.expectation import expect, expect_equal
from pairup.testing.playing import RoundByRound
from pairup.testing.proposal_rules import (
    holds_at_the_extremes,
    is_a_frozen_set_of_options,
    keeps_a_state_of_bounded_size,
    repeats_bit_for_bit,
)
from pairup.testing.variants import Variant, two_sided

_SIDES = ((1, 1), (2, 1), (1, 3), (3, 3), (5, 3), (2, 4), (10, 5))


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
        problem, policy = two_sided(rows, columns), variant.policy([])
        playing = RoundByRound(policy, problem, seed=rows)
        is_column = replicated_ground(problem, rows, 0).columns
        for couples in playing.play(60):
            _expect_across(couples, is_column, "a proposal")
        leader = policy.leader(playing.state)
        if leader is not None:
            _expect_across(leader.tolist(), is_column, "the leader")


def goes_on_after_saving_on_sides(variant: Variant) -> None:
    """A state that was saved and loaded continues as if it had never stopped."""
    for rows, columns in _SIDES:
        problem, policy = two_sided(rows, columns), variant.policy([])
        playing, twin = (RoundByRound(policy, problem, seed=4) for _ in range(2))
        for rounds in (0, 1, 30, 100):
            expect_equal(twin.play(rounds), playing.play(rounds), "proposals after loading")
            saved = {name: each.copy() for name, each in policy.saved(twin.state).items()}
            twin.state = policy.load(RoundByRound(policy, problem, seed=4).state, saved)
            for_state(set_available_step, twin.state)(twin.state, np.arange(problem.players))
        expect_equal(twin.play(50), playing.play(50), "proposals after loading")


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
                RoundByRound(variant.policy([]), two_sided(rows, columns)).play(20)
            except IndexError:
                expect(False, f"a step goes beyond an array, with {rows} rows, {columns} columns")


RULES = (
    is_a_frozen_set_of_options,
    couples_rows_with_columns,
    repeats_bit_for_bit,
    holds_at_the_extremes,
    goes_on_after_saving_on_sides,
    keeps_a_state_of_bounded_size,
    is_refused_on_one_side,
)
