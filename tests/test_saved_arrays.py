"""One codec for all states: what is declared as saved, is checked, moved and forgotten."""

from typing import NamedTuple

import numpy as np
import pytest

from pairup import SavingError
from pairup.compiled.state_fields import Flags, Integers, Keys, Players, Reals, new_state
from pairup.saved_arrays import forget_slot, is_declared, load_arrays, saved_arrays


class Table(NamedTuple):
    keys: np.ndarray = Keys("keys", can_grow=True, saved=True)


class State(NamedTuple):
    table: Table
    mates: np.ndarray = Players("slots", -1, saved=True)
    listed: np.ndarray = Players("2, slots + 1", dtype=np.int32, saved=True)
    base: np.ndarray = Reals("slots, slots", np.inf, phantom=-1, saved=True, most=2, by_couple=True)
    flat: np.ndarray = Reals("slots * slots", 1, by_couple=True)
    counters: np.ndarray = Integers(3, saved=(0, 2), most=(9, 99))
    known: np.ndarray = Flags("slots", saved=True)
    spare: np.ndarray = Reals("slots")


class Scratch(NamedTuple):
    spare: np.ndarray = Integers(1)


def state_of(slots, keys=2):
    return new_state(State, {"slots": slots, "keys": keys})


def filled():
    """A state of two players and the phantom, in slot 2."""
    state = state_of(3)
    state.mates[:] = 2, -1, 0
    state.listed[1] = 1, 0, 2, -1
    state.base[0, 1], state.base[0, 2] = 0.5, -0.5
    state.counters[:] = 7, 8, 99
    state.known[:] = True, False, True
    state.spare[:] = 5
    state.table.keys[:] = 3, 4
    return state


def loaded(into, **changes):
    arrays = saved_arrays(filled())
    return load_arrays(state_of(into), arrays | {f"state.{k}": v for k, v in changes.items()})


def test_what_is_declared_as_saved_is_saved_and_nothing_else():
    names = ["slots", "table.keys", "mates", "listed", "base", "counters", "known"]
    arrays = saved_arrays(filled())
    assert list(arrays) == [f"state.{name}" for name in names]
    assert arrays["state.counters"].tolist() == [7, 99]
    same = load_arrays(state_of(3), arrays)
    assert {name: array.tolist() for name, array in saved_arrays(same).items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert same.counters[1] == 0
    assert not same.spare.any()


def test_a_state_without_saved_arrays_saves_nothing():
    scratch = new_state(Scratch, {})
    assert saved_arrays(scratch) == {}
    assert load_arrays(scratch, {}) == scratch


def test_in_a_larger_state_players_keep_their_slots_and_the_phantom_moves():
    state = loaded(5)
    assert state.mates.tolist() == [4, -1, -1, -1, 0]
    assert state.listed.tolist() == [[0] * 6, [1, 0, 4, -1, 0, 0]]
    assert state.base[0].tolist() == [np.inf, 0.5, np.inf, np.inf, -0.5]
    assert state.known.tolist() == [True, False, False, False, True]


def test_a_table_that_has_grown_is_taken_as_it_is():
    assert loaded(3, **{"table.keys": np.arange(8, dtype=np.uint64)}).table.keys.tolist() == [
        *range(8)
    ]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"slots": np.array([0])}, "it has 0 slots"),
        ({"slots": np.array([4])}, "it has 4 slots"),
        ({"slots": np.array([2])}, "mates has unknown players"),
        ({"mates": np.array([3, -1, 0])}, "mates has unknown players"),
        ({"mates": np.array([-2, -1, 0])}, "mates has unknown players"),
        ({"mates": np.array([2, -1])}, "mates is not of 3 slots"),
        ({"mates": np.array([2.0, -1.0, 0.0])}, "mates is not an array of int64"),
        ({"listed": np.zeros((3, 4), np.int32)}, "listed has 3 places, of which there are 2"),
        ({"listed": np.zeros(4, np.int32)}, "listed is not an array of int32"),
        ({"base": np.full((3, 3), 2.5)}, "base is out of range"),
        ({"base": np.full((3, 3), np.nan)}, "base is out of range"),
        ({"base": np.full((3, 3), -np.inf)}, "base is out of range"),
        ({"counters": np.array([10, 1])}, "counters is out of range"),
        ({"counters": np.array([1, -1])}, "counters is out of range"),
        ({"counters": np.array([1, 1, 1])}, "counters does not have 2 places"),
    ],
)
def test_values_out_of_their_range_are_refused(changes, says):
    with pytest.raises(SavingError, match=says):
        loaded(3, **changes)


def test_a_forgotten_player_leaves_no_trace_and_the_phantom_stays():
    state = filled()
    state.flat[:] = 7
    forget_slot(state, 0)
    assert state.base.tolist() == [[np.inf, np.inf, -0.5], [np.inf, np.inf, -1], [-1, -1, -1]]
    assert state.flat.reshape(3, 3).tolist() == [[1, 1, 7], [1, 7, 7], [7, 7, 7]]
    assert state.mates.tolist() == [-1, -1, -1]
    assert state.known.tolist() == [False, False, True]


def test_workspaces_and_lists_of_players_are_left_to_their_policy():
    state = filled()
    forget_slot(state, 0)
    assert state.spare.tolist() == [5, 5, 5]
    assert state.listed.tolist() == filled().listed.tolist()
    assert state.counters.tolist() == [7, 8, 99]


def test_a_state_is_declared_if_all_of_its_fields_are():
    class Undeclared(NamedTuple):
        table: Table
        spare: np.ndarray
        more: int = 3

    assert is_declared(filled())
    assert not is_declared(Undeclared(state_of(3).table, np.zeros(1)))
