"""The page on graphs shows the tables of its script."""

import pytest

from scripts.figures import graphs, robustness
from tests.support.docs.tables import digest, table

PAGE = "explanation/graphs.md"


@pytest.mark.parametrize(
    ("title", "numbers"),
    [("density, equal worth", "6764ed3be2c4"), ("density, random worth", "9d91cfea58cb")],
)
def test_a_table_has_the_rows_of_the_script_and_the_numbers_of_its_last_run(title, numbers):
    rows = table(PAGE, title)
    assert list(rows) == list(graphs.POLICIES)
    for cells in rows.values():
        assert list(cells) == [f"{density:g}" for density in graphs.DENSITIES]
    assert digest(rows) == numbers, "take over what python -m scripts.figures.graphs prints"


@pytest.mark.parametrize(
    ("title", "make", "density", "label"),
    [
        ("density, equal worth", graphs.equal_worth, 0.5, "Rank one"),
        ("density, random worth", graphs.random_worth, 0.1, "Uniform"),
    ],
)
def test_a_cell_of_each_table_is_what_the_script_prints(title, make, density, label, capsys):
    policies = {label: graphs.POLICIES[label]}
    swept = robustness.sweep(make, (density,), policies, graphs.ROUNDS, graphs.INSTANCES)
    robustness.show(title, (density,), swept)
    assert f"| {label} | {table(PAGE, title)[label][f'{density:g}']} |" in capsys.readouterr().out


def test_a_graph_of_density_one_is_complete():
    assert graphs.equal_worth(1.0, 3).graph is None
    assert len(graphs.random_worth(1.0, 3).graph.low) == 190
    assert len(graphs.equal_worth(0.1, 3).graph.low) < 50
