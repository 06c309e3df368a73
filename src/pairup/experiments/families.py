"""Problems of an experiment: a family with its parameters, whose lists are swept."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pairup.experiments.toml_table import Table
from pairup.problem import Problem
from pairup.problem.declaration import FAMILIES, Kind


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


def sweep_problems(tables: Iterable[Table]) -> list[PosedProblem]:
    """Make the problems of all combinations of the listed parameters, table by table."""
    problems: list[PosedProblem] = []
    for posed in itertools.chain.from_iterable(map(_swept_family, tables)):
        if FAMILIES[posed.family].is_numbered:
            number = 1 + sum(each.family == posed.family for each in problems)
            problem = posed.problem.renamed(f"{posed.family}({number})")
            posed = PosedProblem(problem, posed.family, {posed.family: number})
        problems.append(posed)
    return problems


def _swept_family(table: Table) -> list[PosedProblem]:
    family = FAMILIES[table.choice("family", FAMILIES)]
    needed = [name for name, each in family.parameters.items() if each.is_required]
    table.check_keys(("family", *family.parameters), ("family", *needed))
    given = [key for key in table.values if key != "family"]
    swept = (_swept(table, key, family.parameters[key].kind) for key in given)
    posed = []
    for values in itertools.product(*swept):
        # Defaults too, so that omitted parameters still appear in the results.
        known = family.defaults | dict(zip(given, values, strict=True))
        parameters = {key: known[key] for key in family.parameters if key in known}
        try:
            problem = Problem.from_family(family.name, **parameters)
        except ValueError as error:  # a ProblemError, or NumPy's error about a size
            table.fail("", str(error))
        posed.append(PosedProblem(problem, family.name, parameters))
    return posed


def _swept(table: Table, key: str, kind: Kind) -> list[Any]:
    """Return the values of a parameter: one, or those of the list to sweep."""
    value = table.values[key]
    # One value of some kinds is a list itself, so that a sweep is a list of lists.
    values = value if _depth(value) > kind.depth else [value]
    if not values:
        table.fail(key, "must have at least one value, got []")
    checked: list[Any] = []
    for each in values:
        if not kind.is_valid(each):
            table.fail(key, f"must be {kind.rule}, or a list of such, got {each!r}")
        checked.append(kind.plain(each))
        if checked[-1] in checked[:-1]:
            table.fail(key, f"has {each!r} twice")
    return checked


def _depth(value: object) -> int:
    """Return how deeply lists are nested in a value."""
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
