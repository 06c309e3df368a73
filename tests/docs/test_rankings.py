"""The page on rankings shows the tables of its script, and its example runs."""

from scripts.figures import rankings
from tests.support.docs.pages import blocks, read

PAGE = "explanation/rankings.md"


def test_the_tables_of_the_page_have_the_scripts_rows():
    page = read(PAGE)
    for experiment in rankings.EXPERIMENTS:
        settings = " | ".join(rankings.settings_of(experiment))
        assert f"| policy | {settings} |" in page
    for label in rankings.POLICIES:
        assert page.count(f"\n| {label} | ") == 2


def test_the_example_of_the_page_runs(capsys):
    (example,) = blocks(PAGE, "python")
    exec(example.text, {})
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("GRAB", "UniRank", "RankOneThompson"))
