"""Families of problems, as an experiment file names them and sweeps their parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pairup.checks import is_integer, is_number
from pairup.experiments.click_models import click_model
from pairup.experiments.toml_table import Table
from pairup.problem import Problem


@dataclass(frozen=True)
class PosedProblem:
    """A problem of an experiment, with its family and the values of all its parameters."""

    problem: Problem
    family: str
    parameters: Mapping[str, Any]

    @property
    def traits(self) -> dict[str, Any]:
        """The family and the parameters, by which a figure chooses problems."""
        return {"family": self.family} | dict(self.parameters)


def describe_families() -> list[dict[str, str]]:
    """Return a row for each family: its name, its parameters, and a description.

    Examples
    --------
    >>> describe_families()[0]["parameters"]
    'pairs, gap'
    """
    return [
        {
            "family": family,
            "parameters": ", ".join(key if key in needed else f"[{key}]" for key in kinds),
            "about": _ABOUT[family],
        }
        for family, (_, kinds, needed) in FAMILIES.items()
    ]


def sweep_problems(tables: Iterable[Table]) -> list[PosedProblem]:
    """Make the problems of all combinations of the listed parameters, table by table."""
    problems: list[PosedProblem] = []
    for posed in itertools.chain.from_iterable(map(_swept_family, tables)):
        if posed.family in _NUMBERED:
            number = 1 + sum(each.family == posed.family for each in problems)
            problem = posed.problem.renamed(f"{posed.family}({number})")
            posed = PosedProblem(problem, posed.family, {posed.family: number})
        problems.append(posed)
    return problems


def _swept_family(table: Table) -> list[PosedProblem]:
    family = table.choice("family", FAMILIES)
    build, kinds, needed = FAMILIES[family]
    table.check_keys(("family", *kinds), ("family", *needed))
    given = [key for key in table.values if key != "family"]
    posed = []
    for values in itertools.product(*(_swept(table, key, kinds[key]) for key in given)):
        known = _DEFAULTS.get(family, {}) | dict(zip(given, values, strict=True))
        parameters = {key: known[key] for key in kinds if key in known}
        try:
            problem = build(**parameters)
        except ValueError as error:  # a ProblemError, or numpy's error about a seed
            table.fail("", str(error))
        posed.append(PosedProblem(problem, family, parameters))
    return posed


def _swept(table: Table, key: str, kind: str) -> list[Any]:
    """Return the values of a parameter: one, or those of the list to sweep."""
    value = table.values[key]
    # One value of some kinds is a list itself, so that a sweep is a list of lists.
    values = value if _depth(value) > _KINDS[kind].depth else [value]
    if not values:
        table.fail(key, "must have at least one value, got []")
    checked = []
    for each in values:
        if not _KINDS[kind].is_valid(each):
            table.fail(key, f"must be {_KINDS[kind].rule}, or a list of such, got {each!r}")
        checked.append(float(each) if kind == "number" else each)
        if checked[-1] in checked[:-1]:
            table.fail(key, f"has {each!r} twice")
    return checked


def _depth(value: object) -> int:
    """Return how deep lists are nested in a value."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


def _is_numbers(value: object) -> bool:
    return isinstance(value, list) and all(is_number(each) for each in value)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and all(_is_numbers(each) for each in value)


class _Kind(NamedTuple):
    """A kind of parameter: how deep lists are nested in one value, and what it must be."""

    depth: int
    is_valid: Callable[[Any], bool]
    rule: str


_KINDS = {
    "count": _Kind(0, is_integer, "an integer"),
    "number": _Kind(0, is_number, "a number"),
    "pair": _Kind(
        1, lambda value: _is_numbers(value) and len(value) == 2, "two numbers such as [1, 1]"
    ),
    "rates": _Kind(1, _is_numbers, "numbers such as [0.9, 0.8, 0.3]"),
    "starts": _Kind(1, _is_numbers, "numbers of rounds such as [0, 1000]"),
    "switch": _Kind(0, lambda value: isinstance(value, bool), "true or false"),
    "word": _Kind(0, lambda value: isinstance(value, str), "a word"),
    "table": _Kind(2, _is_table, "lists of numbers such as [[0.9, 0.8], [0.2, 0.3]]"),
}

# Families known by their place in the file: a list cannot be the x of a figure.
_NUMBERED = ("rates", "matrix", "piecewise", "two_sided")

_ON_GRAPH = {"allowed": "table", "worth": "table"}

# For each family: its constructor, the kinds of its parameters, and the required ones.
FAMILIES: dict[str, tuple[Callable[..., Problem], dict[str, str], tuple[str, ...]]] = {
    "from_zero": (Problem.from_zero, {"pairs": "count", "gap": "number"}, ("pairs", "gap")),
    "around": (
        Problem.around,
        {"mean": "number", "pairs": "count", "gap": "number"},
        ("mean", "pairs", "gap"),
    ),
    "random": (
        Problem.random,
        {"players": "count", "seed": "count", "distribution": "pair"},
        ("players",),
    ),
    "rates": (Problem, {"rates": "rates"} | _ON_GRAPH, ("rates",)),
    "matrix": (Problem.from_matrix, {"couple_rates": "table"} | _ON_GRAPH, ("couple_rates",)),
    "piecewise": (Problem.piecewise, {"starts": "starts", "rates": "table"}, ("starts", "rates")),
    "two_sided": (
        Problem.two_sided,
        {"rows": "rates", "columns": "rates", "draws": "word"},
        ("rows", "columns"),
    ),
    "click_model": (click_model, {"setting": "word"}, ("setting",)),
    "random_graph": (
        Problem.random_graph,
        {"players": "count", "density": "number", "seed": "count", "random_worth": "switch"},
        ("players", "density"),
    ),
    "line": (
        Problem.line,
        {"players": "count", "window": "number", "seed": "count"},
        ("players", "window"),
    ),
    "groups": (
        Problem.groups,
        {"players": "count", "groups": "count", "seed": "count"},
        ("players", "groups"),
    ),
}
# What a file may leave out is a parameter of the problem all the same.
_DEFAULTS: dict[str, dict[str, Any]] = {"random": {"seed": 0, "distribution": [1, 1]}}

_ABOUT = {
    "from_zero": "couples a gap apart, the worst never plays (experiment 1 of the paper)",
    "around": "couples a gap apart around a mean rate (experiment 2 of the paper)",
    "random": "rates drawn from a Beta distribution, uniform by default",
    "rates": "the acceptance rates themselves",
    "matrix": "the probability that each couple plays, as a symmetric matrix",
    "piecewise": "acceptance rates that change after given numbers of rounds",
    "two_sided": "rates of rows and columns, who meet only the other side, as items and positions",
    "click_model": "items and positions of a public click model, by the name of its setting",
    "random_graph": "uniform rates, and each couple may meet with the probability `density`",
    "line": "players on a line who meet within a window, worth less with their distance",
    "groups": "uniform rates of players in groups who meet their own group only",
}
