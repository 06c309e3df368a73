"""The README's example prints what the README says, and its links lead somewhere."""

import re

import pytest

from tests.support.paths import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def test_the_example_prints_what_is_shown(capsys):
    page = (ROOT / "README.md").read_text()
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.S).groups()
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_exist(page):
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text()):
        path, _, heading = target.partition("#")
        if path.startswith("https://"):
            continue
        file = ROOT / (path or page)
        assert file.exists(), f"{page} links to {target}"
        if heading:
            assert heading in _headings(file), f"{page} links to {target}"


def _headings(file):
    """Return the anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
