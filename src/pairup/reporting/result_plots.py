"""Plots of results: the figure that fits them, chosen by a word."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl
from matplotlib.axes import Axes

from pairup.analysis.standings import limits_of
from pairup.checks import check_choice, is_number
from pairup.errors import ResultsError, did_you_mean
from pairup.experiments.results import Results
from pairup.figure_axes import new_axes
from pairup.reporting.figures import put_on_axis
from pairup.reporting.limit_bars import plot_limit_bars
from pairup.reporting.line_plots import plot_final_regret, plot_regret_curves
from pairup.reporting.style import assign_styles
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
    experiment, styles = (
        results.experiment,
        assign_styles(e.label for e in results.experiment.entries),
    )
    rows = _of(results.rows, problem)
    several = rows["problem"].n_unique() > 1
    axis = x or (_differing(results, rows) if several and kind == "regret" else None)
    ax = new_axes() if ax is None else ax
    if kind == "tail":
        return plot_tail(rows, ax, styles)
    if kind == "ratio":
        limits = results.limits or limits_of(each.problem for each in experiment.problems)
        frame = _of(results.frame, problem) if experiment.over is None else results.frame
        return plot_limit_bars(frame, ax, limits, styles=styles, over=experiment.over)
    if axis is not None:
        rows, looks = put_on_axis(rows, styles, axis, experiment)
        return plot_final_regret(rows, ax, axis, y_scale="log", styles=looks)
    limit = results.mean_limits.get(rows["problem"][0])
    plot_regret_curves(rows, ax, "log", "log", styles, limit=limit)
    ax.set_title(rows["problem"][0])
    return ax


def _of(rows: pl.DataFrame, problem: str | None) -> pl.DataFrame:
    """Keep the rows of a problem; all of them for None."""
    known = rows["problem"].unique(maintain_order=True).to_list()
    if problem is None:
        return rows
    if problem not in known:
        raise ResultsError(f"no results on the problem {problem!r}{did_you_mean(problem, known)}")
    return rows.filter(problem=problem)


def _differing(results: Results, rows: pl.DataFrame) -> str:
    """Return the parameter in which problems differ; refused if it is not one number."""
    shown = set(rows["problem"])
    posed = [each for each in results.experiment.problems if each.problem.name in shown]
    keys = dict.fromkeys(key for each in posed for key in each.parameters)
    found = [key for key in keys if len({str(each.parameters.get(key)) for each in posed}) > 1]
    if len(found) == 1 and all(is_number(each.parameters.get(found[0])) for each in posed):
        return found[0]
    raise ResultsError(
        f"the problems do not differ in one number, but in {', '.join(found) or 'their families'}: "
        f'draw one of them, problem="{posed[0].problem.name}", or along an axis, x="players"'
    )
