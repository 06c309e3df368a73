"""Tail plot: the share of replications that lost at least x against x, in log-log scale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from pairup.analysis.means import final, policies_of
from pairup.analysis.tails import tail_probabilities, tail_quantiles
from pairup.errors import ResultsError
from pairup.reporting.style import (
    GREY,
    Style,
    assign_styles,
    format_short,
    set_scales,
)


def plot_tail(frame: pl.DataFrame, ax: Axes, styles: Mapping[str, Style] | None = None) -> Axes:
    """Draw the share of replications whose final regret is at least x, against x, on one problem.

    Both scales are log, so that a tail of c / x is a straight line that falls by a decade per
    decade: the dashed line has this slope, and begins at the median of the longest tail. Bands are
    Wilson's intervals of 95% at each point. Regret of 0 cannot be drawn and is left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> plot_tail(load_results("results"), ax)  # doctest: +SKIP
    """
    problems = frame.select("experiment", "problem").n_unique()
    if problems != 1:
        raise ResultsError(
            f"a tail is drawn for one problem, got {problems}: "
            'keep one, frame.filter(problem="...")'
        )
    tails = tail_probabilities(frame).filter(pl.col("regret") > 0)
    looks = styles or assign_styles(policies_of(frame))
    drawn = set(policies_of(tails))
    for policy, style in ((policy, style) for policy, style in looks.items() if policy in drawn):
        _tail(ax, tails.filter(policy=policy), policy, style)
    ax.margins(x=0.03)
    ax.set_xscale("log")
    span = ax.get_xlim()
    _guide(ax, frame)
    ax.set_xlim(span)
    set_scales(ax, "log", "log", start=0)
    ax.set_ylim(min(tails["probability"], default=1.0) / 1.6, 1.25)
    rounds = format_short(int(max(final(frame)["round"])))
    ax.set_xlabel(f"regret after {rounds} rounds, x")
    ax.set_ylabel("share of replications with at least x")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    return ax


def _tail(ax: Axes, rows: pl.DataFrame, policy: str, style: Style) -> None:
    """Draw the steps of one policy: to the left of each value its own share."""
    names = ("regret", "probability", "low", "high")
    regret, share, low, high = (rows[name].to_numpy() for name in names)
    ax.step(
        regret,
        share,
        where="pre",
        color=style.colour,
        linestyle=style.dashes,
        marker=style.marker,
        markevery=[len(regret) - 1],
        markeredgecolor="white",
        markeredgewidth=0.6,
        label=policy,
        zorder=3,
    )
    ax.fill_between(regret, low, high, step="pre", color=style.colour, alpha=0.15, linewidth=0)


def _guide(ax: Axes, frame: pl.DataFrame) -> None:
    """Draw a line of slope -1 through the median of the policy whose tail is longest."""
    spread = tail_quantiles(frame).filter(pl.col("q50") > 0)
    if spread.is_empty():
        return
    median = spread.sort(pl.col("max") / pl.col("q50"))["q50"].item(-1)
    share = np.array([0.5, 1e-12])  # as long as the axes are
    regret = 0.5 * median / share
    ax.plot(regret, share, color=GREY, linestyle=(0, (4, 3)), linewidth=1.1, label="c / x")
