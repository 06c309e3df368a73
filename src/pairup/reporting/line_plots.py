"""Line plots: regret against the round or against a parameter, with bounds and the limit.

Each function takes results, draws on the Axes that it is given, and returns it; every number comes
from `pairup.analysis`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from pairup.analysis.instances import average_instances
from pairup.analysis.means import final, mean_intervals, policies_of
from pairup.errors import ResultsError, did_you_mean
from pairup.experiments.results import (
    option_column,
    options_of,
    parameter_column,
    parameters_of,
)
from pairup.problem.declaration import parameter_label
from pairup.reporting.style import (
    GREY,
    LIMIT_DASHES,
    Scale,
    Style,
    assign_styles,
    format_short,
    line_points,
    set_scales,
)

_FAR = {"linear": 2.5, "log": 30.0}  # times the highest curve: a bound beyond is off the chart
_LABEL_HEIGHT = 12.0  # points from one label to the next
_MAX_LETTERS = 16  # of a name beside the axes; longer ones go into a legend


def plot_regret_curves(
    frame: pl.DataFrame,
    ax: Axes,
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    styles: Mapping[str, Style] | None = None,
    bounds: Mapping[str, float] | None = None,
    limit: float | None = None,
    over: str | None = None,
) -> Axes:
    """Draw the mean regret of each policy on one problem against the round, with bands of 95%.

    With `over` the problems are instances that differ in this parameter, and the mean is that of
    `pairup.analysis.instances.average_instances`. Regret of 0 cannot be drawn in log scale and is
    left out. By default styles follow the order of the policies in the frame. `bounds` are factors
    of ln(t) by name, drawn as dashed lines; one that would lie far above the curves is left out,
    and a note says so. `limit` is the constant of `plot_limit_line`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> plot_regret_curves(load_results("results"), ax)  # doctest: +SKIP
    """
    frame = average_instances(frame, over)
    problems = frame.select("experiment", "problem").n_unique()
    if problems != 1:
        raise ResultsError(
            f"regret curves are drawn for one problem, got {problems}: keep one, "
            f'frame.filter(problem="..."){_advise_over(frame)}'
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
    _label_line_ends(ax)
    return ax


def plot_final_regret(
    frame: pl.DataFrame,
    ax: Axes,
    x: str = "pairs",
    normalise: Literal["none", "gap2"] = "none",
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    styles: Mapping[str, Style] | None = None,
    over: str | None = None,
) -> Axes:
    """Draw the mean regret of each policy after the last round against a parameter.

    `x` is a parameter of the problems, such as "mean", or "players" or "pairs"; there must be one
    problem for each of its values, or one group of instances that differ in the parameter `over`.
    It may also be an option that is swept, in the frame of `along_option`.
    "gap2" draws the regret times the square of the gap, as SAM's authors do. For the other
    parameters see `plot_regret_curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> plot_final_regret(load_results("results"), ax, x="mean")  # doctest: +SKIP
    """
    factor = pl.col(parameter_column("gap")) ** 2 if normalise == "gap2" else pl.lit(1.0)
    frame = average_instances(final(frame), over)
    means = mean_intervals(frame).with_columns(pl.col("estimate", "low", "high") * factor)
    means = _with_axis(means, x).sort(x, maintain_order=True)
    _series(means, ax, x, y_scale, styles or assign_styles(policies_of(frame)), markers=True)
    values = means[x].unique().sort().to_list()
    ax.set_xmargin(0.02)
    set_scales(ax, x_scale, y_scale, start=values[0])
    if len(values) <= 12:
        ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.set_xlabel(parameter_label(x))
    regret = "regret × gap²" if normalise == "gap2" else "regret"
    ax.set_ylabel(f"{regret} after {format_short(int(means['round'].item(-1)))} rounds")
    _label_line_ends(ax)
    return ax


def _with_axis(means: pl.DataFrame, x: str) -> pl.DataFrame:
    """Add a column with the values of a parameter; refuse two problems with the same value."""
    places = (parameter_column(x), x, option_column(x))
    known = [name for name in places if name in means.columns]
    column = min(known, key=lambda name: means[name].null_count(), default="")
    if not known:
        axes = dict.fromkeys([*parameters_of(means), *options_of(means), "players", "pairs"])
        near = did_you_mean(x, axes)
        swept = ", and no such option is swept" if options_of(means) else ""
        raise ResultsError(f"the problems have no parameter {x!r}{swept}{near}")
    if not means[column].dtype.is_numeric():
        raise ResultsError(f"{x} is not a number, which has no place on an axis: choose another")
    means = means.with_columns(pl.col(column).alias(x))
    if means[x].null_count():
        raise ResultsError(f"the figure needs {x} of every problem, got problems without one")
    for (value,), rows in means.group_by(x, maintain_order=True):
        problems = rows.select("experiment", "problem").unique(maintain_order=True)["problem"]
        if len(problems) > 1:
            raise ResultsError(
                f"{len(problems)} problems have {x} = {value}, {problems[0]} and {problems[1]} "
                f'among them: keep one, frame.filter(problem="..."){_advise_over(rows)}'
            )
    return means


def _advise_over(rows: pl.DataFrame) -> str:
    """Suggest the parameter in which problems differ, if there is only one."""
    parameters = parameters_of(rows)
    varied = [name for name in parameters if rows[parameter_column(name)].n_unique() > 1]
    return f', or average over them, over="{varied[0]}"' if len(varied) == 1 else ""


def plot_limit_line(ax: Axes, constant: float, rounds: int) -> Axes:
    """Add the least regret of any policy that is good on every problem, as a dashed line.

    The axes show regret against the round; the constant is that of `pairup.bounds.lower`.

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
    means: pl.DataFrame, ax: Axes, x: str, scale: Scale, styles: Mapping[str, Style], markers: bool
) -> None:
    """Draw a line and a band for each policy, in the order of the styles."""
    present = set(policies_of(means))
    for place, (policy, style) in enumerate((p, s) for p, s in styles.items() if p in present):
        rows = means.filter(policy=policy)
        if scale == "log":
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
        rows = rows.drop_nulls(["low", "high"])
        if scale == "log":  # an end below 0 would be cut out of the band: end at half the mean
            rows = rows.with_columns(low=pl.max_horizontal("low", pl.col("estimate") / 2))
        places, low, high = (rows[name].to_numpy() for name in (x, "low", "high"))
        ax.fill_between(places, low, high, color=style.colour, alpha=0.18, linewidth=0)


def _bounds(ax: Axes, bounds: Mapping[str, float], last: int, y_scale: Scale) -> None:
    """Draw the bounds that fit as dashed lines, and list the others in a note."""
    heights = [line_points(line)[1] for line in ax.lines]
    top = max((float(points[-1]) for points in heights if points.size), default=0.0)
    rounds = np.geomspace(2, max(last, 3), 200)
    far = []
    for name, factor in bounds.items():
        end = factor * math.log(last)
        if end > _FAR[y_scale] * top:
            far.append(f"{name}, {format_short(float(f'{end:.2g}'))}")
            continue
        ax.plot(
            rounds,
            factor * np.log(rounds),
            color=GREY,
            linestyle=(0, (4, 3)),
            linewidth=1.1,
            label=name,
        )
    if far:
        note = f"Bound off the chart at the last round: {'; '.join(far)}."
        below = (0, -42)  # points: under the name of the axis
        ax.annotate(note, (0, 0), below, "axes fraction", "offset points", fontsize=7.5, color=GREY)


def _label_line_ends(ax: Axes) -> None:
    """Write each line's name at its right end, spread out; or a legend if they do not fit.

    Call it last: names are placed by the limits of the axes.
    """
    lines = [line for line in ax.lines if line_points(line)[0].size]
    names = [str(line.get_label()) for line in lines]
    # Axes that were removed have no figure; these are drawn on.
    height = ax.bbox.height * 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    if len(names) * _LABEL_HEIGHT > height or max(map(len, names), default=0) > _MAX_LETTERS:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        return
    ends = [(float(x[-1]), float(y[-1])) for x, y in map(line_points, lines)]
    to_axes = ax.transData + ax.transAxes.inverted()
    starts = [to_axes.transform(end) for end in ends]
    places = spread_out([float(y) for _, y in starts], _LABEL_HEIGHT / height)
    for line, name, (x, y), place in zip(lines, names, starts, places, strict=True):
        colour = _darker(str(line.get_color()))
        ax.text(1.045, place, name, va="center", color=colour, transform=ax.transAxes)
        # A plain line: an arrow of matplotlib's costs fifty times as much to draw.
        lead = Line2D([x + 0.012, 1.035], [y, place], color=colour, linewidth=0.7, clip_on=False)
        lead.set_transform(ax.transAxes)
        ax.add_artist(lead)


def spread_out(wanted: Sequence[float], distance: float) -> list[float]:
    """Move places in [0, 1] apart, as little as needed, keeping their order.

    Examples
    --------
    >>> [round(place, 2) for place in spread_out([0.5, 0.5, 0.1, 0.98], 0.1)]
    [0.45, 0.55, 0.1, 0.98]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    groups: list[list[float]] = []  # mean place of the group, its size
    for index in order:
        groups.append([min(max(wanted[index], 0.0), 1.0), 1.0])
        while len(groups) > 1:
            (low, few), (high, many) = groups[-2:]
            if high - low >= distance * (few + many) / 2:
                break
            groups[-2:] = [[(low * few + high * many) / (few + many), few + many]]
            half = distance * (groups[-1][1] - 1) / 2
            groups[-1][0] = min(max(groups[-1][0], half), 1 - half)
    places = [0.0] * len(wanted)
    cursor = iter(order)
    for middle, size in groups:
        for place in range(int(size)):
            places[next(cursor)] = middle + distance * (place - (size - 1) / 2)
    return places


def _darker(colour: str) -> tuple[float, float, float]:
    """Darken a colour until small text in it is readable on white."""
    red, green, blue = to_rgb(colour)
    return red * 0.72, green * 0.72, blue * 0.72
