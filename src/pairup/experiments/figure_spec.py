"""FigureSpec: a figure that an experiment asks for, and the check that its problems fit it."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pairup.checks import is_number
from pairup.errors import did_you_mean
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.toml_table import Table

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": ("final", "curves", "limit", "tail"),
    "normalise": ("none", "gap2"),
    "x_scale": ("linear", "log"),
    "y_scale": ("linear", "log"),
}
_AXES = {
    "curves": "curves are drawn against the round",
    "tail": "a tail is drawn against the regret",
}


@dataclass(frozen=True)
class FigureSpec:
    """A figure of an experiment; the documentation of experiment files has every key.

    Its kind is "final" (regret after the last round against `x`, a parameter of the problems or an
    option that is swept), "curves" (regret against the round, on one problem; with `limit` also the
    least regret of any policy that is good on every problem), "limit" (regret after the last round
    in multiples of `pairup.bounds.lower`, a group of bars for each value of `x`, or for each
    problem) or "tail"
    (share of the replications that lost at least x against x, on one problem).

    `over` is a parameter of which the problems are instances: each point is then a mean over them.
    """

    kind: Literal["final", "curves", "limit", "tail"]
    name: str  # stem of the picture's file
    title: str = ""
    x: str | None = None
    over: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)  # traits of the problems to draw
    policies: tuple[str, ...] = ()  # labels; none means all
    normalise: Literal["none", "gap2"] = "none"  # gap2: regret times the square of the gap
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    limit: bool = False

    def shows(self, posed: PosedProblem) -> bool:
        """Whether the figure draws this problem."""
        return all(posed.traits.get(key) == value for key, value in self.where.items())

    def averaged_over(self, over: str | None, problems: Iterable[PosedProblem]) -> FigureSpec:
        """Return the figure that averages over instances, if it would show several at a point."""
        chosen = self.over is not None or self.kind == "tail" or over == self.x
        if chosen or over in self.where:
            return self
        shown = (posed.parameters for posed in problems if self.shows(posed))
        return dataclasses.replace(self, over=over) if any(over in each for each in shown) else self


def read_figure(table: Table) -> FigureSpec:
    """Read a figure of an experiment file."""
    known = [each.name for each in dataclasses.fields(FigureSpec)]
    table.check_keys(known, ("kind", "name"))
    given = dict(table.values)
    for key, choices in _CHOICES.items():
        if key in given:
            table.choice(key, choices)
    for key in ("name", "title", "x", "over"):
        if key in given:
            table.text(key)
    if not isinstance(given.get("where", {}), dict):
        table.fail("where", f"must be a table, got {given['where']!r}: try {{ pairs = 4 }}")
    if not isinstance(given.get("limit", False), bool):
        table.fail("limit", f"must be true or false, got {given['limit']!r}")
    return FigureSpec(**(given | {"policies": table.labels("policies")}))


def check_figure(
    figure: FigureSpec,
    labels: Sequence[str],
    problems: Sequence[PosedProblem],
    options: Mapping[str, Sequence[Any]],
) -> None:
    """Refuse a figure that does not fit the policies and problems of its experiment."""
    table = Table(f"figure {figure.name!r}", {})
    if not FILE_NAME.fullmatch(figure.name):
        table.fail("name", "names a file: use letters, digits, dashes and dots")
    for label in figure.policies:
        if label not in labels:
            table.fail("policies", f"no policy is labelled {label!r}{did_you_mean(label, labels)}")
    traits = _distinct(key for posed in problems for key in posed.traits)
    for key, value in figure.where.items():
        if key not in traits:
            table.fail("where", f"no parameter is called {key!r}{did_you_mean(key, traits)}")
        known = _distinct(posed.traits[key] for posed in problems if key in posed.traits)
        if value not in known:
            table.fail("where", f"{key} is never {value!r}{did_you_mean(value, known)}")
    shown = [posed for posed in problems if figure.shows(posed)]
    if not shown:
        table.fail("where", "no problem has all of these values: leave one out")
    if figure.normalise == "gap2" and not all("gap" in posed.parameters for posed in shown):
        table.fail("normalise", "gap2 needs a problem family with a gap")
    _check_axis(table, figure, shown, options)
    _check_points(table, figure, shown)


def _check_axis(
    table: Table,
    figure: FigureSpec,
    shown: Sequence[PosedProblem],
    options: Mapping[str, Sequence[Any]],
) -> None:
    """Refuse an axis, or a parameter to average over, that does not fit the kind of figure."""
    parameters = _distinct(key for posed in shown for key in posed.parameters)
    if figure.kind in _AXES and figure.x is not None:
        table.fail("x", f"{_AXES[figure.kind]}: leave it out")
    if figure.kind != "curves" and figure.limit:
        table.fail("limit", 'is a line among curves: leave it out, or take kind = "curves"')
    if figure.kind == "tail" and figure.over is not None:
        table.fail("over", "a tail is that of one problem: leave it out, and choose one by where")
    if figure.over is not None and figure.over not in parameters:
        near = did_you_mean(figure.over, parameters)
        table.fail("over", f"must be a parameter of the problems, got {figure.over!r}{near}")
    if figure.kind == "final" or (figure.kind == "limit" and figure.x is not None):
        axes = [*parameters, *(options if figure.kind == "final" else ())]
        if figure.x not in axes:
            near = did_you_mean(figure.x, axes)
            swept = ", or an option that is swept" if axes != parameters else ""
            table.fail("x", f"must be a parameter{swept}, got {figure.x!r}{near}")
        if figure.x == figure.over:
            table.fail("over", f"{figure.x} is along the axis: average over another parameter")
    values = [posed.parameters.get(figure.x or "", 0) for posed in shown]
    if figure.x not in parameters:
        values = list(options.get(figure.x or "", ()))
    if figure.kind == "final" and not all(map(is_number, values)):
        table.fail("x", f"{figure.x} is not a number, which has no place on an axis: leave it out")


def _check_points(table: Table, figure: FigureSpec, shown: Sequence[PosedProblem]) -> None:
    """Refuse a figure with several problems for one of its points, or for its curves."""
    if figure.kind == "limit" and figure.x is None:
        return  # a group of bars for each problem, whatever its parameters
    keys = _distinct(key for posed in shown for key in posed.traits if key != "problem")
    one_problem = figure.kind in _AXES and figure.over is None
    for key in [*keys, *(["problem"] if one_problem else [])]:
        values = _distinct(posed.traits.get(key) for posed in shown)
        if key not in (figure.x, figure.over) and len(values) > 1:
            one = json.dumps(next(value for value in values if value is not None))
            other = f', or average over them, over = "{key}"'
            swept = key not in ("family", "problem")
            may = swept and figure.over is None and figure.kind != "tail"
            table.fail(
                "where",
                f"{key} has several values: choose one, {{ {key} = {one} }}{other if may else ''}",
            )


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return each value once; a set could not hold lists."""
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen
