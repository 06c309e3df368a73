"""A measured figure stands on one page; the others link to it."""

import re
from collections import defaultdict

from scripts.reference import PAGES as GENERATED
from tests.support.paths import DOCS, ROOT

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
    if path.relative_to(ROOT).as_posix().removeprefix("docs/reference/") not in GENERATED
}
# Equal numbers of different things. One that is gone fails the test too.
COINCIDENCES = {
    "1,045": "regret on a graph, and after changes of rates",
    "1,143": "the regret of random pairing on experiments of the same size",
    "1,337": "instructions of a GPU, and a regret",
    "1.05": "a ratio of speeds, of regrets and a percentage",
    "16.3": "a percentage of the gain, and the slope of a tail",
    "2,048": "the replications of one study, in its regret and in its time",
    "99.9": "a quantile",
}
CODE = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)|<!--.*?-->", re.S)
NUMBER = re.compile(r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?(?![\w-])")


def numbers(text):
    """Yield the numbers of a text with how many significant digits they have, without years."""
    for found in NUMBER.findall(text):
        number = found.rstrip(",")
        if not re.fullmatch(r"(?:19|20)\d\d|3\.1\d", number):  # nor versions of Python
            yield number, len(re.sub("[.,]", "", number).strip("0"))


def repeated(pages):
    """Return the figures that stand on several pages, with these pages.

    They have four significant digits, or are decimals with three in running text: shorter numbers
    are too often equal by chance.
    """
    places, telling = defaultdict(set), set()
    for name, page in pages.items():
        text = CODE.sub("", page)
        prose = "\n".join(line for line in text.splitlines() if not line.startswith(("|", "<")))
        for number, digits in numbers(text):
            places[number].add(name)
            telling |= {number} if digits >= 4 else set()
        telling |= {number for number, digits in numbers(prose) if digits >= 3 and "." in number}
    return {number: sorted(places[number]) for number in telling if len(places[number]) > 1}


def test_a_figure_stands_on_one_page():
    found = repeated(PAGES)
    new = {number: places for number, places in found.items() if number not in COINCIDENCES}
    assert new == {}, "link to the page that has the figure, or add it to the coincidences"
    assert set(COINCIDENCES) <= set(found), "a coincidence is gone: take it off the list"


def test_a_figure_that_is_quoted_elsewhere_is_found():
    name = "docs/explanation/robustness.md"
    quoted = PAGES | {name: PAGES[name] + "\nRank one lost 39.5 games, uniform pairing 57,142.9.\n"}
    assert {"39.5", "57,142.9"} <= repeated(quoted).keys() - repeated(PAGES).keys()
