"""Every registered policy is explained, and every figure about it stands in one place."""

import re

import pytest

from pairup import ESCB, get_policy, policy_names, simulate
from scripts.figures import escb_searches
from tests.support.paths import DOCS

PAGE = (DOCS / "explanation/policies.md").read_text("utf-8")
SECTIONS = [
    section
    for name in ("policies", "policies-of-products", "policies-of-couples", "rankings")
    for section in (DOCS / f"explanation/{name}.md").read_text("utf-8").split("\n## ")[1:]
]
MEASURED = {"performance.md", "performance-at-scale.md", "performance-of-the-service.md"}
PERFORMANCE = (DOCS / "explanation/performance.md").read_text("utf-8")
TABLE = PAGE.split("## ")[0]


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_has_a_row_in_the_table(name):
    row = re.search(rf"^\| `{name}` \|(.*)\|$", TABLE, re.M)
    assert row, f"docs/explanation/policies.md has no row for {name}"
    guarantee, use = (cell.strip() for cell in row[1].split("|"))
    assert re.match("proved|measured|conjectured", guarantee)
    assert use


@pytest.mark.parametrize("name", policy_names())
def test_a_policy_has_a_section(name):
    policy = get_policy(name, **({"rates": [0.5, 0.5]} if name == "oracle" else {}))
    heads = [section.partition("\n") for section in SECTIONS]
    ((head, _, section),) = (each for each in heads if f"`{type(policy).__name__}(" in each[0])
    assert re.search("cost|takes", section)
    assert re.search(r"[Uu]se ", section)
    for option in policy.options:
        assert option in head


@pytest.mark.parametrize("name", policy_names())
def test_the_cost_of_a_policy_is_in_the_page_on_performance(name):
    policy = get_policy(name, **({"rates": [0.5, 0.5]} if name == "oracle" else {}))
    assert re.search(rf"^\| {type(policy).__name__}\b.* \|.*\d", PERFORMANCE, re.M)


# Durations that the code has, not measured ones.
FIXED = {
    "deploy.md": {"10 s"},
    "make-a-report.md": {"0.3 s"},
    "monitor-the-service.md": {"1 s", "2 s", "4 s", "5 s", "10 minutes"},
    "operate-the-service.md": {"3 s", "5 s", "20 s"},
    "service-design.md": {"3 s"},
    "use-the-client.md": {"1.6 s", "60 s"},
}


TEXTS = [
    path
    for part in ("explanation", "how-to", "tutorials")
    for path in sorted((DOCS / part).rglob("*.md"))
    if path.name not in MEASURED
]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_only_the_pages_on_performance_say_how_long_something_takes(path):
    unit = r"(?:nano|micro|milli)?seconds?|minutes?|[nµm]?s"
    found = set(re.findall(rf"[\d.,]*\d (?:{unit})\b", path.read_text("utf-8")))
    assert found == FIXED.get(path.name, set())


def test_pages_agree_on_the_regret_of_the_rank_one_sampler():
    (row,) = re.findall(r"^\| Rank one \| (.*) \|$", PAGE, re.M)
    zero, _, around, _ = (cell.split()[0] for cell in row.split(" | "))
    other = (DOCS / "explanation/rank-one.md").read_text("utf-8")
    for problem, regret in (("from_zero(4, 0.1)", zero), ("around(0.5, 4, 0.1)", around)):
        assert f"| `{problem}` | {regret} |" in other


def test_no_row_is_of_a_policy_that_is_not_there():
    assert set(re.findall(r"^\| `(\w+)` \|", TABLE, re.M)) == set(policy_names())


def test_a_cell_of_the_table_of_searches_is_what_the_script_prints():
    problem, rounds, replications = escb_searches.PROBLEMS[-1]
    regrets = simulate(problem, ESCB("approximate"), rounds, replications).regret[:, -1]
    page = (DOCS / "explanation/policies-of-couples.md").read_text("utf-8")
    assert f"| two sides, 4 and 3 players | 20,000 | {replications} |" in page
    assert f"| {escb_searches.mean_text(regrets)} |" in page
