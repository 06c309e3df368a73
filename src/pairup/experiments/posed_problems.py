"""Problems of an experiment: as they are given, or a family whose listed parameters are swept."""

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
        """The name, the family and the parameters, by which a figure chooses problems."""
        named = {"problem": self.problem.name, "family": self.family}
        return named | dict(self.parameters)


def pose_problems(problems: Iterable[Problem]) -> list[PosedProblem]:
    """Pose problems as they are, in an experiment.

    Those whose parameters are lists of rates are numbered: the number is their parameter, and their
    name if they have none.
    """
    posed: list[PosedProblem] = []
    for problem in problems:
        family, parameters = problem.family, problem.parameters
        if FAMILIES[family].is_numbered:
            number = 1 + sum(each.family == family for each in posed)
            problem = problem.renamed(problem.name or f"{family}({number})")
            parameters = {family: number}
        posed.append(PosedProblem(problem, family, parameters))
    return posed


def sweep_problems(tables: Iterable[Table]) -> list[PosedProblem]:
    """Make the problems of all combinations of the listed parameters, table by table."""
    return pose_problems(itertools.chain.from_iterable(map(_swept_family, tables)))


def _swept_family(table: Table) -> list[Problem]:
    family = FAMILIES[table.choice("family", FAMILIES)]
    needed = [name for name, each in family.parameters.items() if each.is_required]
    table.check_keys(("family", *family.parameters), ("family", *needed))
    given = [key for key in table.values if key != "family"]
    swept = (_swept(table, key, family.parameters[key].kind) for key in given)
    problems = []
    for values in itertools.product(*swept):
        try:
            parameters = dict(zip(given, values, strict=True))
            problems.append(Problem.from_family(family.name, **parameters))
        except ValueError as error:  # a ProblemError, or NumPy's error about a size
            table.fail("", str(error))
    return problems


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
