"""The pages of the Python API can be read in the repository, and list public names only."""

import re

import pytest

from scripts.reference.api import PAGES, page
from tests.support.docs.pages import read

INDEX = read("reference/api/index.md")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_call_and_a_summary_of_each_public_name(name):
    rows = re.findall(r"^\| (?:\[`(\w+)`\]\(.*?\)|`(\w+)`) \| (.*?) \| (.*) \|$", page(name), re.M)
    assert rows
    for linked, plain, call, summary in rows:
        assert not (linked or plain).startswith("_")
        assert summary
        assert not re.search(r"0x[0-9a-f]{6}|<", call)  # the same on every machine
    assert "Error" in name.title() or any(call for *_, call, _ in rows)


@pytest.mark.parametrize("name", PAGES)
def test_the_index_leads_to_a_page_by_what_it_is_for(name):
    assert re.search(rf"^\| .+ \| .* \| \[.+\]\({name}\.md\) \|$", INDEX, re.M)
