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
    checked_symmetric,
    even_out,
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


def test_what_is_symmetric_up_to_rounding_becomes_symmetric():
    table = np.array([[0.0, 0.3, math.inf], [0.1 + 0.2, 0.0, 1e300], [math.inf, 1e300, 0.0]])
    evened = checked_symmetric("weights", table, ProblemError)
    assert np.array_equal(evened, evened.T)
    assert evened[0, 1] == pytest.approx(0.3, rel=1e-15)
    assert evened[1, 2] == 1e300
    assert checked_symmetric("weights", evened, ProblemError) is evened


@pytest.mark.parametrize(
    ("one", "other"), [(0.5, 0.5 + 1e-9), (math.inf, -math.inf), (math.inf, 1.0), (1e308, -1e308)]
)
def test_what_differs_by_more_than_rounding_is_refused(one, other):
    table = np.array([[0.0, one], [other, 0.0]])
    with pytest.raises(ProblemError, match=r"must be symmetric, .*try \(rates \+ rates.T\) / 2"):
        checked_symmetric("rates of couples", table, ProblemError)


def test_entries_that_equal_their_mirror_images_keep_their_bits():
    entries = np.array([5e-324, 0.1, 0.3])
    evened, wrong = even_out(entries, np.array([5e-324, 0.1, 0.1 + 0.2]))
    assert evened[:2].tolist() == [5e-324, 0.1]
    assert not wrong.any()
