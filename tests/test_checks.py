"""Checks accept what Python and NumPy call by these names, and nothing that only looks like it."""

import math

import numpy as np
import pytest

from pairup import ProblemError
from pairup.checks import (
    check_choice,
    check_instance,
    check_number,
    checked_integer,
    checked_list,
    checked_seed,
)


@pytest.mark.parametrize("value", [2, 2**70, np.int8(2), np.uint64(2)])
def test_integers_of_python_and_numpy_become_python_integers(value):
    checked = checked_integer("n", value, ProblemError, minimum=2)
    assert checked == value
    assert type(checked) is int


@pytest.mark.parametrize("value", [1, -1, 2.0, "2", True, np.True_, None, np.float64(3)])
def test_everything_else_is_refused_with_value_rule_and_way_out(value):
    with pytest.raises(ProblemError) as refused:
        checked_integer("n", value, ProblemError, minimum=2, advice="try 4")
    assert str(refused.value) == f"n must be an integer of at least 2, got {value!r}: try 4"


def test_a_seed_has_at_most_63_bits():
    assert checked_seed(2**63 - 1) == 2**63 - 1
    with pytest.raises(ProblemError, match=r"^seed must be an integer below 2\*\*63, got 9223"):
        checked_seed(2**63, ProblemError)


def test_nan_is_a_number_but_text_and_booleans_are_not():
    for value in (0, 0.5, np.float32(1), math.nan):
        check_number("gap", value, ProblemError, advice="try 0.1")
    for value in ("0.1", True, None, [0.1]):
        with pytest.raises(ProblemError, match=r"^gap must be a number, got .*: try 0.1$"):
            check_number("gap", value, ProblemError, advice="try 0.1")


def test_choices_may_be_compared_with_values_that_are_not_hashable():
    check_choice("index", "kl", iter(("kl", "ucb")), ProblemError)
    with pytest.raises(ProblemError, match=r'^index cannot be .*; known: "kl", "ucb"$'):
        check_choice("index", ["kl"], ("kl", "ucb"), ProblemError)


def test_an_instance_of_a_subclass_will_do():
    check_instance("flag", True, int, ProblemError, example="1")
    with pytest.raises(ProblemError, match=r"^flag must be an Exception, got 1: try it$"):
        check_instance("flag", 1, Exception, ProblemError, example="it")


def test_any_iterable_but_a_string_is_a_list():
    assert checked_list("x", iter((1, 2)), ProblemError) == [1, 2]
    for value in ("ab", b"ab", 5, None):
        with pytest.raises(ProblemError, match=r"^x must be a list of names, got .*: write"):
            checked_list("x", value, ProblemError, items="names")
