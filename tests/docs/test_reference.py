"""Pages of the reference agree with the code that they are about."""

import re

import pytest

from pairup.problem.declaration import FAMILIES
from scripts.reference import PAGES
from tests.support.docs.pages import read
from tests.support.paths import DOCS


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (DOCS / "reference" / name).read_text("utf-8") == PAGES[name](), "run `make docs`"


def test_the_page_on_results_names_every_family():
    row = next(row for row in read("reference/results.md").splitlines() if "| `family` |" in row)
    assert set(re.findall(r"`(\w+)`", row)) == {"family", *FAMILIES}
