"""Bars: the final regret of each policy, itself or in multiples of the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from pairup.analysis.instances import average_instances, group_names
from pairup.analysis.means import final, mean_intervals, policies_of
from pairup.analysis.standings import divide_by_limits
from pairup.reporting.style import (
    GREY,
    HATCHES,
    LIMIT_DASHES,
    Scale,
    Style,
    assign_styles,
    format_short,
    set_scales,
)

_LETTER_WIDTH = 6.0  # points, of the names below the bars


def plot_limit_bars(
    frame: pl.DataFrame,
    ax: Axes,
    limits: Mapping[str, float],
    names: Mapping[str, str] | None = None,
    y_scale: Scale = "linear",
    styles: Mapping[str, Style] | None = None,
    over: str | None = None,
) -> Axes:
    """Draw the final regret of each policy in multiples of the limit c ln T, as bars.

    Each problem has a group of bars, labelled with its name or its entry in `names`. Limits are as
    in `divide_by_limits`. With `over`, a group of bars shows the mean over instances that differ in
    this parameter, each in multiples of its own limit; its label is the first of theirs in `names`.
    The scale is also "log" if the highest bar is more than 10 times the lowest; bars then begin at
    1, the limit.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import bounds, load_results
    >>> limits = {"mine": bounds.lower(Problem([0.9, 0.8, 0.3])).constant}  # doctest: +SKIP
    >>> plot_limit_bars(load_results("results"), Figure().subplots(), limits)  # doctest: +SKIP
    """
    relative = divide_by_limits(final(frame), limits)
    called = {group: name for name, group in reversed(group_names(relative, over).items())}
    means = mean_intervals(average_instances(relative, over))
    if means.is_empty():
        ax.set_axis_off()
        ax.text(0.5, 0.5, "No problem here has a limit.", ha="center", transform=ax.transAxes)
        return ax
    named = {group: (names or {}).get(name, group) for group, name in called.items()}
    ax.axhline(1, color="black", linestyle=LIMIT_DASHES, linewidth=1.2, label="limit")
    _groups(means, ax, named, styles or assign_styles(policies_of(frame)), y_scale, start=1.0)
    ax.set_ylabel(f"{ax.get_ylabel()} / limit")
    return ax


def plot_regret_bars(frame: pl.DataFrame, ax: Axes, styles: Mapping[str, Style]) -> Axes:
    """Draw the final regret of each policy as bars, a group for each problem.

    The scale is "log" if the highest bar is more than 10 times the lowest.
    """
    means = mean_intervals(final(frame))
    start = min(means.filter(pl.col("estimate") > 0)["estimate"], default=1.0) / 2
    _groups(means, ax, {name: name for name in means["problem"]}, styles, "linear", start)
    if ax.get_yscale() == "log":
        ax.set_ylim(bottom=start)
    return ax


def _groups(
    means: pl.DataFrame,
    ax: Axes,
    names: Mapping[str, str],
    styles: Mapping[str, Style],
    scale: Scale,
    start: float,
) -> None:
    """Draw a named group of bars for each problem; in log scale they begin at `start`."""
    groups = means["problem"].unique(maintain_order=True).to_list()
    log = scale == "log" or max(means["estimate"]) > 10 * min(means["estimate"])
    _bars(means, ax, groups, start if log else 0.0, styles)
    set_scales(ax, "linear", "log" if log else "linear", start=-1)
    if log:
        ax.set_ylim(bottom=min([start, *means.filter(pl.col("estimate") > 0)["estimate"]]) / 1.5)
    _name_groups(ax, [names[group] for group in groups])
    ax.grid(visible=False, axis="x")
    ax.set_ylabel(f"regret after {format_short(int(means['round'].item(-1)))} rounds")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)


def _name_groups(ax: Axes, names: Sequence[str]) -> None:
    """Write the name of each group below it, at an angle where the longest has no room."""
    ax.set_xticks(range(len(names)), names)
    # Axes that were removed have no figure; these are drawn on.
    points = ax.bbox.width * 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    if max(map(len, names)) * _LETTER_WIDTH > points / len(names):
        ax.tick_params("x", labelrotation=30)
        for label in ax.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")


def _bars(
    means: pl.DataFrame, ax: Axes, groups: list[str], bottom: float, styles: Mapping[str, Style]
) -> None:
    drawn = [policy for policy in styles if policy in set(policies_of(means))]
    width = 0.84 / len(drawn)
    for place, policy in enumerate(drawn):
        rows = means.filter(policy=policy)
        heights = rows["estimate"].to_numpy()
        ends = rows.select(pl.col("low", "high").fill_null(pl.col("estimate"))).to_numpy()
        where = [groups.index(group) for group in rows["problem"]]
        ax.bar(
            np.array(where) + (place - (len(drawn) - 1) / 2) * width,
            heights - bottom,
            width * 0.9,
            bottom,
            color=styles[policy].colour,
            hatch=HATCHES[styles[policy].dashes],
            edgecolor="white",
            linewidth=0,
            yerr=np.maximum([heights - ends[:, 0], ends[:, 1] - heights], 0),
            error_kw={"elinewidth": 0.7, "ecolor": GREY},
            label=policy,
        )
