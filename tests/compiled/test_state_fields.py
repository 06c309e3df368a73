"""Fields of states declare their arrays: what they are, and how large for how many players."""

from typing import NamedTuple

import numpy as np
import pytest

from pairup import policy_names
from pairup.compiled.state_fields import Flags, Integers, Keys, Reals, fields_of, new_state
from pairup.policies import get_policy
from pairup.policies.contract import StartContext
from pairup.testing.variants import variants_of


class Part(NamedTuple):
    table: np.ndarray = Keys("leaders", can_grow=True)


class State(NamedTuple):
    part: Part
    one: np.ndarray = Integers(1)
    mates: np.ndarray = Integers("slots", -1)
    mean: np.ndarray = Reals("slots, slots", phantom=-2.0)
    cross: np.ndarray = Reals("slots // 2 + 1, 4", 0.5, dtype=np.float32)
    known: np.ndarray = Flags("slots * kl")


SIZES = {"slots": 3, "leaders": 8, "kl": 0}


def test_arrays_are_made_as_they_are_declared():
    state = new_state(State, SIZES)
    assert [(each.shape, each.dtype.name) for each in (*state.part, *state[1:])] == [
        ((8,), "uint64"),
        ((1,), "int64"),
        ((3,), "int64"),
        ((3, 3), "float64"),
        ((2, 4), "float32"),
        ((0,), "bool"),
    ]
    assert state.mates.tolist() == [-1, -1, -1]
    assert np.all(state.cross == 0.5)
    assert state.one.tolist() == [0]


def test_the_phantom_has_the_last_place_of_each_axis():
    assert new_state(State, SIZES).mean.tolist() == [[0, 0, -2], [0, 0, -2], [-2, -2, -2]]


def test_what_is_given_is_not_made():
    part, one = new_state(Part, {"leaders": 2}), np.array([7])
    state = new_state(State, SIZES, part=part, one=one)
    assert state.part is part
    assert state.one is one


def test_two_states_share_no_array():
    first, second = new_state(State, SIZES), new_state(State, SIZES)
    first.one[0] = 1
    assert second.one[0] == 0


def test_the_fields_of_a_state_are_listed_in_the_order_of_its_arrays():
    listed = fields_of(new_state(State, SIZES))
    assert [each.sizes for each in listed[:3]] == ["leaders", 1, "slots"]
    assert [each.can_grow for each in listed] == [True] + [False] * 5


def leaves(state):
    return [
        leaf for part in state for leaf in (leaves(part) if isinstance(part, tuple) else [part])
    ]


VARIANTS = [each.given for name in policy_names() for each in variants_of(type(get_policy(name)))]


@pytest.mark.parametrize("policy", VARIANTS, ids=str)
def test_every_array_of_a_policy_is_as_its_field_declares(policy):
    """A GPU lays them out by these sizes, for other numbers of players too."""
    for players in (2, 3, 8, 13):
        columns, rates = np.arange(players) % 2 == 1, np.linspace(0.1, 0.9, players)
        told = {"columns": columns, "column_order": np.flatnonzero(columns), "rates": rates}
        context = StartContext(players, np.uint64(7), horizon=1_000, **told)
        state, sizes = policy.start(context), policy.sizes(context)
        for field, array in zip(fields_of(state), leaves(state), strict=True):
            assert array.shape == field.shape(sizes)
            assert array.dtype == field.dtype
