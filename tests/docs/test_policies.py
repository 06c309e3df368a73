"""Every registered policy has its row and its section in docs/explanation/policies.md."""

import re

import pytest

from pairup import get_policy, policy_names
from tests.support.paths import DOCS

PAGE = (DOCS / "explanation/policies.md").read_text("utf-8")
TABLE = PAGE.split("## ")[0]


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_has_a_row_in_the_table(name):
    row = re.search(rf"^\| `{name}` \|(.*)\|$", TABLE, re.M)
    assert row, f"docs/explanation/policies.md has no row for {name}"
    cost, guarantee, use = (cell.strip() for cell in row[1].split("|"))
    assert "µs" in cost
    assert guarantee
    assert use


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_has_a_section(name):
    policy = get_policy(name, **({"rates": [0.5, 0.5]} if name == "oracle" else {}))
    heads = [head for head in PAGE.splitlines() if head.startswith("## ")]
    (head,) = (head for head in heads if f"`{type(policy).__name__}(" in head)
    section = PAGE.split(f"{head}\n")[1].split("\n## ")[0]
    assert re.search("cost|takes", section)
    assert re.search(r"[Uu]se ", section)
    for option in policy.options:
        assert option in head


def test_no_row_is_of_a_policy_that_is_not_there():
    assert set(re.findall(r"^\| `(\w+)` \|", TABLE, re.M)) == set(policy_names())
