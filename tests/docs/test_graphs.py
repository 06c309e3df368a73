"""The page on graphs shows the tables of its script."""

from scripts.figures import graphs
from tests.support.paths import DOCS


def test_the_tables_of_the_page_have_the_scripts_rows():
    page = (DOCS / "explanation" / "graphs.md").read_text("utf-8")
    for title in ("density, equal worth", "density, random worth"):
        densities = " | ".join(f"{density:g}" for density in graphs.DENSITIES)
        assert f"| {title} | {densities} |" in page
    for label in graphs.POLICIES:
        assert page.count(f"\n| {label} | ") == 2


def test_a_graph_of_density_one_is_complete():
    assert graphs.equal_worth(1.0, 3).graph is None
    assert len(graphs.random_worth(1.0, 3).graph.low) == 190
    assert len(graphs.equal_worth(0.1, 3).graph.low) < 50
