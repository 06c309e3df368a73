"""The pages of the Python API: which modules each one shows.

mkdocstrings fills them in from the docstrings when the site is built. Modules are named one by one,
so that a class which a package exports again is shown once, where it is defined. Of a policy only
the class is shown, without the state and the compiled steps that stand beside it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pairup
from pairup import policies
from scripts.reference.markdown import NOTICE

SOURCES = Path(pairup.__file__).parent


class ApiPage(NamedTuple):
    """A page about some modules, or about all modules of some packages."""

    title: str
    introduction: str
    modules: tuple[str, ...]
    classes: tuple[str, ...] = ()


_POLICIES = tuple(
    f"{each.__module__}.{each.__name__}"
    for each in (getattr(policies, name) for name in policies.__all__)
    if isinstance(each, type) and each is not policies.Policy
)


PAGES = {
    "problems": ApiPage(
        "Problems and matchings",
        "The subject itself: acceptance rates, matchings, and the best matching of a problem or\n"
        "of any weights.",
        (
            "problem/problem",
            "problem/families",
            "problem/gaps",
            "problem/weights",
            "problem/meeting_graph",
            "problem/declaration",
            "problem/rates",
            "matching",
            "best_matching",
        ),
    ),
    "policies": ApiPage(
        "Policies",
        "One frozen dataclass per policy. What each does and when to use it:\n"
        "[policies](../../explanation/policies.md).",
        (
            "policies/contract",
            "policies/registry",
            "policies/couple_policies",
            "policies/couple_counts",
        ),
        _POLICIES,
    ),
    "extending": ApiPage(
        "Extending",
        "What a policy of your own builds on, and the contract that it fulfils. How to write one:\n"
        "[add a policy](../../how-to/add-a-policy.md).",
        ("extending", "testing"),
    ),
    "learning": ApiPage(
        "Live learning",
        "A policy that learns from live players: what the [service](../../how-to/serve-pools.md)\n"
        "runs for each pool.",
        ("learning",),
    ),
    "bounds": ApiPage(
        "Bounds",
        "The least regret that any policy can reach, and the bounds that are proved for some.\n"
        "What they mean: [the limit](../../explanation/limit.md).",
        ("bounds",),
    ),
    "simulation": ApiPage(
        "Simulation",
        "A policy plays a problem, in compiled code or as a [Gymnasium\n"
        "environment](../../how-to/use-the-gymnasium-environment.md).",
        ("simulation",),
    ),
    "experiments": ApiPage(
        "Experiments",
        "From a TOML file, described in [experiment file](../experiment-file.md), to a folder of\n"
        "results, described in [results](../results.md).",
        ("experiments",),
    ),
    "analysis": ApiPage(
        "Analysis",
        "Statistics of results, without drawing. How they are computed: [statistics and\n"
        "claims](../statistics.md).",
        ("analysis", "intervals"),
    ),
    "reporting": ApiPage(
        "Reporting",
        "Figures, tables and the report page. How to use them: [make a\n"
        "report](../../how-to/make-a-report.md).",
        ("reporting",),
    ),
    "client": ApiPage(
        "Client",
        "Clients of the service, simulated players, and the schemas of requests and answers. How\n"
        "to use them: [use the client](../../how-to/use-the-client.md).",
        ("client", "service/api/schemas"),
    ),
    "errors": ApiPage(
        "Errors",
        "Every error that pairup raises on purpose is a `PairupError`. Its message holds the\n"
        "value, the rule and the way out.",
        ("errors",),
    ),
}


def page(name: str) -> str:
    """Return the text of a page."""
    about = PAGES[name]
    modules = [found for each in about.modules for found in _modules(each)]
    shown = (f"::: {each}" for each in (*modules, *about.classes))
    parts = [f"# {about.title}", NOTICE, about.introduction, *shown]
    return "\n\n".join(parts) + "\n"


def _modules(place: str) -> Iterator[str]:
    """Name the module at a place in the sources, or all modules of the package there."""
    path = SOURCES / place
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    for file in files:
        if not file.name.startswith("_"):
            yield ".".join(("pairup", *file.relative_to(SOURCES).with_suffix("").parts))
