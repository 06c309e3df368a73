"""The limit on axes: the line that no policy stays below, and regret in multiples of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from pairup.analysis.limits import in_limits
from pairup.analysis.statistics import final, mean_intervals, policies_of
from pairup.reporting.style import GREY, HATCHES, Scale, Style, set_scales, short, styles

_DASHES = (0, (2, 2))


def limit_line(ax: Axes, constant: float, rounds: int) -> Axes:
    """Add the least regret of any policy good on every problem, a dashed line.

    Parameters
    ----------
    ax
        With regret against the round; modified.
    constant
        Of the limit, as `pairup.bounds.lower` gives it.
    rounds
        Where the line ends.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import Problem, bounds
    >>> constant = bounds.lower(Problem.from_zero(2, 0.1)).constant
    >>> len(limit_line(Figure().subplots(), constant, 1_000).lines)
    1
    """
    times = np.geomspace(2, max(rounds, 3), 200)
    heights = constant * np.log(times)
    ax.plot(times, heights, color="black", linestyle=_DASHES, linewidth=1.2, label="limit")
    return ax


def times_the_limit(
    frame: pl.DataFrame,
    ax: Axes,
    limits: Mapping[str, float],
    names: Mapping[str, str] | None = None,
    y_scale: Scale = "linear",
    looks: Mapping[str, Style] | None = None,
) -> Axes:
    """Draw the final regret of each policy in multiples of the limit c ln T, a bar each.

    Parameters
    ----------
    frame
        Results on one or more problems, a group of bars each.
    ax
        Where to draw; modified.
    limits
        As in `in_limits`.
    names
        What to write under the group of each problem; by default its name.
    y_scale
        "log", which is also taken where the highest bar is more than 10 times the lowest. Bars
        begin at 1 then, the limit.
    looks
        As in `regret_curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import bounds, load_results
    >>> limits = {"mine": bounds.lower(Problem([0.9, 0.8, 0.3])).constant}  # doctest: +SKIP
    >>> times_the_limit(load_results("results"), Figure().subplots(), limits)  # doctest: +SKIP
    """
    means = in_limits(mean_intervals(final(frame)), limits)
    if means.is_empty():
        ax.set_axis_off()
        ax.text(0.5, 0.5, "No problem here has a limit.", ha="center", transform=ax.transAxes)
        return ax
    groups = means["problem"].unique(maintain_order=True).to_list()
    lowest, highest = min(means["estimate"]), max(means["estimate"])
    log = y_scale == "log" or highest > 10 * lowest
    _bars(means, ax, groups, 1.0 if log else 0.0, looks or styles(policies_of(frame)))
    ax.axhline(1, color="black", linestyle=_DASHES, linewidth=1.2, label="limit")
    set_scales(ax, "linear", "log" if log else "linear", start=-1)
    if log:
        ax.set_ylim(bottom=min([1.0, *means.filter(pl.col("estimate") > 0)["estimate"]]) / 1.5)
    ax.set_xticks(range(len(groups)), [(names or {}).get(group, group) for group in groups])
    ax.grid(visible=False, axis="x")
    ax.set_ylabel(f"regret after {short(int(means['round'].item(-1)))} rounds / limit")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    return ax


def _bars(
    means: pl.DataFrame, ax: Axes, groups: list[str], bottom: float, looks: Mapping[str, Style]
) -> None:
    drawn = [policy for policy in looks if policy in set(policies_of(means))]
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
            color=looks[policy].colour,
            hatch=HATCHES[looks[policy].dashes],
            edgecolor="white",
            linewidth=0,
            yerr=np.maximum([heights - ends[:, 0], ends[:, 1] - heights], 0),
            error_kw={"elinewidth": 0.7, "ecolor": GREY},
            label=policy,
        )
