"""Simulated numbers are those of the file, bit for bit."""

import pytest

from scripts import bits


def test_the_file_has_the_problems():
    assert list(bits.kept()) == list(bits.PROBLEMS)


@pytest.mark.parametrize("name", bits.PROBLEMS)
def test_every_policy_gives_the_same_numbers(name):
    assert not bits.different(name), "if meant, write them: python -m scripts.bits --write"
