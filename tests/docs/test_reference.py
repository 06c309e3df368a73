"""Generated reference pages are those that the code gives."""

import pytest

from scripts.reference import PAGES
from tests.support.paths import DOCS


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (DOCS / "reference" / name).read_text("utf-8") == PAGES[name](), "run `make docs`"
