"""The problems of the page on robustness are what it says, and its tables those of its script."""

import numpy as np
import pytest

from pairup import Problem, Uniform
from scripts.figures import robustness
from tests.support.docs.tables import digest, table

PAGE = "explanation/robustness.md"


def test_without_noise_couples_are_products():
    plain = robustness.PLAIN
    assert np.allclose(robustness.noisy_products(0.0, 1).couple_rates, plain.couple_rates)
    upper = np.triu_indices(8, 1)
    noisy, exact = robustness.noisy_products(0.1, 1).couple_rates[upper], plain.couple_rates[upper]
    shift = np.log(noisy / (1 - noisy)) - np.log(exact / (1 - exact))
    assert 0.05 < shift.std() < 0.15


def test_players_exchange_their_rates():
    problem = robustness.changing_rates(3, 1)
    assert problem.starts == (0, 5_000, 10_000, 15_000)
    assert problem.at(0) == robustness.PLAIN
    for piece in problem.pieces:
        assert sorted(piece.rates) == sorted(robustness.PLAIN.rates)
    assert len({piece.rates.tobytes() for piece in problem.pieces}) == 4


def test_rates_drift_within_their_bounds():
    problem = robustness.drifting_rates(0.08, 1)
    rates = np.array([piece.rates for piece in problem.pieces])
    assert rates.min() >= 0.1
    assert rates.max() <= 0.9
    assert np.diff(rates, axis=0).std() == pytest.approx(0.08, rel=0.1)
    still = robustness.drifting_rates(0.0, 1)
    assert all(np.allclose(piece.rates, robustness.PLAIN.rates) for piece in still.pieces)


@pytest.mark.parametrize(
    ("title", "values", "numbers"),
    [
        ("noise", robustness.NOISES, "1cfb4b0bf822"),
        ("changes", robustness.CHANGES, "83290e846777"),
        ("step", robustness.DRIFTS, "de5edf1637c0"),
    ],
)
def test_a_table_has_the_rows_of_the_script_and_the_numbers_of_its_last_run(title, values, numbers):
    rows = table(PAGE, title)
    assert list(rows) == list(robustness.POLICIES)
    for cells in rows.values():
        assert list(cells) == [f"{value:g}" for value in values]
    assert digest(rows) == numbers, "take over what python -m scripts.figures.robustness prints"


@pytest.mark.parametrize(
    ("title", "make", "value", "label"),
    [
        ("noise", robustness.noisy_products, 0.1, "Rank one"),
        ("noise", robustness.noisy_products, 0.8, "Hierarchical"),
        ("changes", robustness.changing_rates, 1, "V2 KL"),
        ("step", robustness.drifting_rates, 0.02, "ε-greedy"),
    ],
)
def test_a_cell_of_each_table_is_what_the_script_prints(title, make, value, label, capsys):
    swept = robustness.sweep(make, (value,), {label: robustness.POLICIES[label]})
    robustness.show(title, (value,), swept)
    assert f"| {label} | {table(PAGE, title)[label][f'{value:g}']} |" in capsys.readouterr().out


def test_a_sweep_averages_replications_and_keeps_instances():
    swept = robustness.sweep(
        lambda gap, seed: Problem.around(0.5, 2, gap), (0.0, 0.2), {"u": Uniform()}, 60, 3
    )
    assert swept["u"].shape == (2, 3)
    assert (swept["u"][0] == 0).all()
    assert (swept["u"][1] > 0).all()
