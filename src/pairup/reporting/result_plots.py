"""Plots of results: the figure that fits them, chosen by a word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import polars as pl
from matplotlib.axes import Axes

from pairup.analysis.instances import group_names
from pairup.analysis.standings import limits_of
from pairup.checks import check_choice, is_number
from pairup.errors import ResultsError, did_you_mean
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.results import Results, options_of, parameters_of
from pairup.figure_axes import new_axes
from pairup.problem.declaration import FAMILIES, parameter_label
from pairup.reporting.figures import put_on_axis
from pairup.reporting.limit_bars import plot_limit_bars, plot_regret_bars
from pairup.reporting.line_plots import plot_final_regret, plot_regret_curves
from pairup.reporting.style import Style, assign_styles
from pairup.reporting.tail_plot import plot_tail

PlotKind = Literal["regret", "tail", "ratio"]


def plot_results(
    results: Results,
    kind: PlotKind = "regret",
    problem: str | None = None,
    x: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw results; the parameters are those of `pairup.Results.plot`."""
    check_choice("kind", kind, get_args(PlotKind), ResultsError)
    experiment = results.experiment
    styles = assign_styles(entry.label for entry in experiment.entries)
    rows = _of(results.rows, problem)
    several = kind == "regret" and x is None and rows["problem"].n_unique() > 1
    x = _number_that_differs(results, rows) if several else x
    if kind == "tail" or (x in options_of(rows) and x not in parameters_of(rows)):
        _check_one(rows, "a tail" if kind == "tail" else f"regret along {x}")
    ax = new_axes() if ax is None else ax
    if kind == "tail":
        return plot_tail(rows, ax, styles)
    if kind == "ratio":
        return _plot_ratio(results, problem, ax, styles)
    if several and x is None:
        return plot_regret_bars(rows, ax, styles)
    if x is not None:
        rows, looks = put_on_axis(rows, styles, x, experiment)
        return plot_final_regret(rows, ax, x, y_scale="log", styles=looks)
    limit = results.mean_limits.get(rows["problem"][0])
    plot_regret_curves(rows, ax, "log", "log", styles, limit=limit)
    ax.set_title(rows["problem"][0])
    return ax


def _plot_ratio(
    results: Results, problem: str | None, ax: Axes, styles: Mapping[str, Style]
) -> Axes:
    """Draw bars in multiples of the limit; if problems differ in one parameter, above its value."""
    over = results.experiment.over
    groups = group_names(results.frame, over)
    shown = [name for name, group in groups.items() if problem in (None, group)]
    rows = results.frame.filter(pl.col("problem").is_in(shown))
    posed, differing = _shown_problems(results, rows)
    limits = results.limits or limits_of(each.problem for each in posed)
    names = {}
    if len(differing) == 1 and not _are_numbered(posed):
        names = {each.problem.name: str(each.parameters.get(differing[0])) for each in posed}
        ax.set_xlabel(parameter_label(differing[0]))
    return plot_limit_bars(rows, ax, limits, names, styles=styles, over=over)


def _of(rows: pl.DataFrame, problem: str | None) -> pl.DataFrame:
    """Keep the rows of a problem; all of them for None."""
    known = rows["problem"].unique(maintain_order=True).to_list()
    if problem is None:
        return rows
    if problem not in known:
        raise ResultsError(f"no results on the problem {problem!r}{did_you_mean(problem, known)}")
    return rows.filter(problem=problem)


def _check_one(rows: pl.DataFrame, what: str) -> None:
    """Refuse several problems for what is drawn for one."""
    names = rows["problem"].unique(maintain_order=True)
    if len(names) > 1:
        raise ResultsError(
            f'{what} is drawn for one problem, got {len(names)}: choose one, problem="{names[0]}"'
        )


def _shown_problems(results: Results, rows: pl.DataFrame) -> tuple[list[PosedProblem], list[str]]:
    """Return the problems in rows, or the instances of those, and in which parameters they differ.

    The parameter in which instances differ is left out.
    """
    over, shown = results.experiment.over, set(rows["problem"])
    groups = group_names(results.frame, over)
    posed = [
        each
        for each in results.experiment.problems
        if not shown.isdisjoint({each.problem.name, groups.get(each.problem.name)})
    ]
    keys = dict.fromkeys(key for each in posed for key in each.parameters if key != over)
    differing = [k for k in keys if len({str(each.parameters.get(k)) for each in posed}) > 1]
    return posed, differing


def _number_that_differs(results: Results, rows: pl.DataFrame) -> str | None:
    """Return the parameter in which problems differ, if it is one number."""
    posed, found = _shown_problems(results, rows)
    if len(found) != 1 or _are_numbered(posed):
        return None
    values = (each.parameters.get(found[0]) for each in posed)
    return found[0] if all(map(is_number, values)) else None


def _are_numbered(posed: Iterable[PosedProblem]) -> bool:
    """Whether some problems are given by lists of rates: their parameter is only a number."""
    return any(FAMILIES[each.family].is_numbered for each in posed)
