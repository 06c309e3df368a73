"""Line plots: regret against the round or against a parameter, with bounds and the limit.

Each function takes results, draws on the Axes that it is given, and returns it; every number comes
from `pairup.analysis`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from pairup.analysis.means import final, mean_intervals, policies_of
from pairup.errors import ResultsError
from pairup.reporting.line_labels import label_line_ends
from pairup.reporting.style import (
    GREY,
    LIMIT_DASHES,
    PARAMETER_NAMES,
    Scale,
    Style,
    assign_styles,
    format_short,
    line_points,
    set_scales,
)

_FAR = {"linear": 2.5, "log": 30.0}  # times the highest curve: a bound beyond is off the chart


def plot_regret_curves(
    frame: pl.DataFrame,
    ax: Axes,
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    styles: Mapping[str, Style] | None = None,
    bounds: Mapping[str, float] | None = None,
    limit: float | None = None,
) -> Axes:
    """Draw the mean regret of each policy against the round, with bands of 95%.

    Parameters
    ----------
    frame
        Results on one problem.
    ax
        Axes to draw on; modified.
    x_scale, y_scale
        "linear" or "log". Regret of 0 cannot be drawn in log scale and is left out.
    styles
        Style of each policy; by default by their order in the frame.
    bounds
        Factors of ln(t) by name, drawn as dashed lines. One that would lie far above the curves
        is left out, and a note says so.
    limit
        Draw the `plot_limit_line` of this constant.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> plot_regret_curves(load_results("results"), ax)  # doctest: +SKIP
    """
    problems = frame["problem"].unique(maintain_order=True).to_list()
    if len(problems) != 1:
        raise ResultsError(
            f"regret curves are drawn for one problem, got {len(problems)}: "
            'keep one, frame.filter(problem="...")'
        )
    means = mean_intervals(frame).sort("round")
    _series(means, ax, "round", y_scale, styles or assign_styles(policies_of(frame)), markers=False)
    last = int(means["round"].item(-1))
    if limit is not None:
        plot_limit_line(ax, limit, last)
    _bounds(ax, bounds or {}, last, y_scale)
    ax.set_xlim(min(10, last / 2) if x_scale == "log" else 0, last)
    set_scales(ax, x_scale, y_scale, start=10 if x_scale == "log" else last / 1000)
    ax.set_xlabel("round, t")
    ax.set_ylabel("regret")
    label_line_ends(ax)
    return ax


def plot_final_regret(
    frame: pl.DataFrame,
    ax: Axes,
    x: str = "pairs",
    normalise: Literal["none", "gap2"] = "none",
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    styles: Mapping[str, Style] | None = None,
) -> Axes:
    """Draw the mean regret of each policy after the last round against a parameter.

    Parameters
    ----------
    frame
        Results on the problems of one family.
    ax
        Axes to draw on; modified.
    x
        A numeric column of the frame, such as "pairs" or "mean".
    normalise
        "gap2" draws the regret times the square of the gap, which is how SAM's authors show it.
    x_scale, y_scale, styles
        As in `plot_regret_curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> plot_final_regret(load_results("results"), ax, x="mean")  # doctest: +SKIP
    """
    factor = pl.col("gap") ** 2 if normalise == "gap2" else pl.lit(1.0)
    last = final(frame)
    means = mean_intervals(last).with_columns(pl.col("estimate", "low", "high") * factor)
    if x not in means.columns:
        swept = last.group_by("experiment", "problem", maintain_order=True).agg(pl.col(x).first())
        means = means.join(swept, on=["experiment", "problem"], maintain_order="left")
    if means[x].null_count():
        raise ResultsError(f"the figure needs {x} of every problem, got problems without one")
    means = means.sort(x, maintain_order=True)
    _series(means, ax, x, y_scale, styles or assign_styles(policies_of(frame)), markers=True)
    values = means[x].unique().sort().to_list()
    ax.set_xmargin(0.02)
    set_scales(ax, x_scale, y_scale, start=values[0])
    if len(values) <= 12:
        ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.set_xlabel(PARAMETER_NAMES.get(x, x))
    regret = "regret × gap²" if normalise == "gap2" else "regret"
    ax.set_ylabel(f"{regret} after {format_short(int(means['round'].item(-1)))} rounds")
    label_line_ends(ax)
    return ax


def plot_limit_line(ax: Axes, constant: float, rounds: int) -> Axes:
    """Add the least regret of any policy that is good on every problem, as a dashed line.

    Parameters
    ----------
    ax
        Axes of regret against the round; modified.
    constant
        Constant of the limit, as `pairup.bounds.lower` gives it.
    rounds
        Round at which the line ends.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import Problem, bounds
    >>> constant = bounds.lower(Problem.from_zero(2, 0.1)).constant
    >>> len(plot_limit_line(Figure().subplots(), constant, 1_000).lines)
    1
    """
    times = np.geomspace(2, max(rounds, 3), 200)
    heights = constant * np.log(times)
    ax.plot(times, heights, color="black", linestyle=LIMIT_DASHES, linewidth=1.2, label="limit")
    return ax


def _series(
    means: pl.DataFrame,
    ax: Axes,
    x: str,
    y_scale: Scale,
    styles: Mapping[str, Style],
    markers: bool,
) -> None:
    """Draw a line and a band for each policy, in the order of the styles."""
    present = set(policies_of(means))
    for place, (policy, style) in enumerate((p, s) for p, s in styles.items() if p in present):
        rows = means.filter(policy=policy)
        if y_scale == "log":
            rows = rows.filter(pl.col("estimate") > 0)
        ax.plot(
            rows[x].to_numpy(),
            rows["estimate"].to_numpy(),
            color=style.colour,
            linestyle=style.dashes,
            marker=style.marker,
            # Along a curve, a marker now and then, not in step with those of the others.
            markevery=None if markers else (0.04 + 0.03 * (place % 5), 0.17),
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=policy,
            zorder=3,
        )
        _band(ax, rows.drop_nulls(["low", "high"]), x, y_scale, style.colour)


def _band(ax: Axes, rows: pl.DataFrame, x: str, y_scale: Scale, colour: str) -> None:
    low, high = rows["low"].to_numpy(), rows["high"].to_numpy()
    if y_scale == "log":  # an end below 0 would be cut out of the band: end at half the mean
        low = rows.select(pl.max_horizontal("low", pl.col("estimate") / 2))["low"].to_numpy()
    ax.fill_between(rows[x].to_numpy(), low, high, color=colour, alpha=0.18, linewidth=0)


def _bounds(ax: Axes, bounds: Mapping[str, float], last: int, y_scale: Scale) -> None:
    """Draw the bounds that fit as dashed lines; say of the others that they do not."""
    top = max((float(line_points(line)[1][-1]) for line in ax.lines), default=0.0)
    rounds = np.geomspace(2, max(last, 3), 200)
    far = []
    for name, factor in bounds.items():
        end = factor * math.log(last)
        if end > _FAR[y_scale] * top:
            far.append(f"{name}, {format_short(float(f'{end:.2g}'))}")
            continue
        dashed = (0, (4, 3))
        heights = factor * np.log(rounds)
        ax.plot(rounds, heights, color=GREY, linestyle=dashed, linewidth=1.1, label=name)
    if far:
        note = f"Bound off the chart at the last round: {'; '.join(far)}."
        below = (0, -42)  # points: under the name of the axis
        ax.annotate(note, (0, 0), below, "axes fraction", "offset points", fontsize=7.5, color=GREY)
