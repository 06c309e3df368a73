"""The pages of the Python API: which public names each one shows.

A page has a table of its names, each with its call and the first line of its docstring, so that it
can be read in the repository. mkdocstrings adds the rest when the site is built.
"""

import importlib
import inspect
from collections.abc import Iterator
from types import GenericAlias
from typing import Any, NamedTuple

from scripts.reference.markdown import NOTICE, table


class ApiPage(NamedTuple):
    """A page about the public names of some modules."""

    title: str
    introduction: str
    modules: tuple[str, ...]


PAGES = {
    "problems": ApiPage(
        "Problems and matchings",
        "The subject itself: acceptance rates, matchings, and the best matching of a problem or\n"
        "of any weights.",
        (
            "problem",
            "matching",
            "weighted_matching",
        ),
    ),
    "policies": ApiPage(
        "Policies",
        "One frozen dataclass per policy. What each does and when to use it:\n"
        "[policies](../../explanation/policies.md).",
        ("policies",),
    ),
    "extending": ApiPage(
        "Extending",
        "What a policy of your own builds on, and the contract that it fulfils. How to write one:\n"
        "[add a policy](../../how-to/add-a-policy.md).",
        (
            "extending",
            "testing",
        ),
    ),
    "learning": ApiPage(
        "Live learning",
        "A policy that learns from live players: what the [service](../../how-to/serve-pools.md)\n"
        "runs for each pool.",
        ("learning",),
    ),
    "assessment": ApiPage(
        "Assessment",
        "What matching would bring, from a history of games. How to use it:\n"
        "[is it for you?](../../how-to/assess-a-history.md)",
        ("assessment",),
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
        (
            "simulation",
            "simulation.environment: MatchingEnvironment",
        ),
    ),
    "experiments": ApiPage(
        "Experiments",
        "Policies compared on problems: by a call, or from a TOML file ([experiment\n"
        "file](../experiment-file.md)); in memory, or in a folder of [results](../results.md).",
        ("experiments",),
    ),
    "analysis": ApiPage(
        "Analysis",
        "Statistics of results, without drawing. How they are computed: [statistics and\n"
        "claims](../statistics.md).",
        (
            "analysis",
            "intervals",
        ),
    ),
    "reporting": ApiPage(
        "Reporting",
        "Figures, tables and the report page. How to use them: [make a\n"
        "report](../../how-to/make-a-report.md).",
        ("reporting",),
    ),
    "client": ApiPage(
        "Client",
        "Clients of the service, imports of past games, and simulated players. How to use them:\n"
        "[use the client](../../how-to/use-the-client.md). What requests and answers hold:\n"
        "[schemas](../rest.md#schemas).",
        (
            "client",
            "client.history",
            "client.demo",
        ),
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
    found = [each for module in about.modules for each in _public(module)]
    rows = [(each.link(), each.call(), each.summary()) for each in found]
    details = [f"::: {each.place}" for each in found if each.described()]
    listed = table(("name", "call", "what it is"), rows).rstrip()
    return "\n\n".join([f"# {about.title}", NOTICE, about.introduction, listed, *details]) + "\n"


class _Elided:
    """A default whose text is long, or differs from run to run."""

    def __repr__(self) -> str:
        return "..."


_ELIDED = _Elided()
_SHOWN = (bool, int, float, str, tuple, type(None))


class PublicName(NamedTuple):
    """A name that other programs may use, and where it is shown."""

    place: str
    thing: Any

    def described(self) -> bool:
        """Whether it has a docstring of its own, unlike constants and types for annotations."""
        return inspect.ismodule(self.thing) or (
            callable(self.thing) and not isinstance(self.thing, GenericAlias)
        )

    def summary(self) -> str:
        """Return the first line of its docstring, or what it is."""
        if self.described():
            return inspect.getdoc(self.thing).splitlines()[0]
        value = self.thing
        return f"Constant, {value!r}." if isinstance(value, int | float) else "Type of annotations."

    def call(self) -> str:
        """Return its parameters and their defaults; nothing for what is not to be called."""
        error = inspect.isclass(self.thing) and issubclass(self.thing, Exception)
        if not self.described() or inspect.ismodule(self.thing) or error:
            return ""
        parameters = inspect.signature(self.thing).parameters.values()
        empty = inspect.Parameter.empty
        shown = [
            each.replace(
                annotation=empty,
                default=each.default if type(each.default) in _SHOWN else _ELIDED,
            )
            if each.default is not empty
            else each.replace(annotation=empty)
            for each in parameters
        ]
        return f"`{inspect.Signature(shown)}`"

    def link(self) -> str:
        """Return its name, as a link to its description on the page."""
        name = f"`{self.place.rpartition('.')[2]}`"
        return f"[{name}](#{self.place})" if self.described() else name


def _public(module: str) -> Iterator[PublicName]:
    """Yield the names of a module: those given behind it, those in `__all__`, or all it defines.

    Names are shown where they are defined, those for policies where they are to be imported from.
    """
    module, _, chosen = module.partition(": ")
    path = f"pairup.{module}"
    names = vars(importlib.import_module(path))
    listed = chosen.split() or names.get("__all__")
    for name in listed or [each for each in names if not each.startswith("_")]:
        thing = names[name]
        defined = getattr(thing, "__module__", None)
        if listed or defined == path:
            kept = module == "extending" or not str(defined).startswith("pairup.")
            yield PublicName(f"{path if kept else defined}.{name}", thing)
