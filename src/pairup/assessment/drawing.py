"""The picture of an assessment: rates, gain by size and floor, who pays, and the checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from pairup.assessment.fit_checks import FitCheck
from pairup.assessment.outlook import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairup.assessment.assessment import Assessment

_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
_FLOORS = (_GREEN, _BLUE, _ORANGE)  # colours


def draw_assessment(found: Assessment) -> Figure:
    """Draw an assessment as one figure."""
    from matplotlib.figure import Figure  # slow to import, and only for a picture

    binned = [each for each in found.checks if each.bins]
    rows = (6 + len(binned)) // 2
    figure = Figure(figsize=(9.0, 3.2 * rows), layout="constrained")
    axes = figure.subplots(rows, 2)
    parts = (_draw_rates, _draw_pools, _draw_tenths, _draw_floors, _draw_checks)
    for draw, axis in zip(parts, axes.flat, strict=False):
        draw(axis, found)
    for check, axis in zip(binned, axes.flat[len(parts) :], strict=False):
        _draw_bins(axis, check)
    for axis in axes.flat[len(parts) + len(binned) :]:
        axis.set_axis_off()
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.title.set_fontsize(10)
    return figure


def _values(intervals: Iterable[Interval]) -> tuple[Any, Any]:
    """Return the estimates, and how far the ends of the intervals are from them."""
    values = np.array([[each.estimate, each.low, each.high] for each in intervals]).T
    return values[0], np.abs(values[1:] - values[0])


def _draw_rates(axis: Any, found: Assessment) -> None:
    rates, error = _values(
        each for name, each in found.population.items() if name.startswith("tenth")
    )
    axis.bar(np.arange(1, len(rates) + 1), rates, color=_BLUE, yerr=error, capsize=2)
    axis.set(title="How often players accept", xlabel="tenth of the players", ylabel="rate")
    axis.set_ylim(0, 1)


def _draw_pools(axis: Any, found: Assessment) -> None:
    pools = sorted((*found.pools, found.pool), key=lambda each: each.players)
    places, width = np.arange(len(pools)), 0.38
    for shift, name, colour in ((-0.5, "random", _GREY), (0.5, "best", _GREEN)):
        shares, error = _values(getattr(each, name) for each in pools)
        axis.bar(
            places + shift * width,
            shares * 100,
            width,
            color=colour,
            yerr=error * 100,
            label=name,
            capsize=2,
        )
    axis.axhline(100 * found.played.estimate, color=_ORANGE, label="the history's own")
    axis.set_xticks(places, [f"{each.players:,}" for each in pools])
    axis.set(title="Games that are played", xlabel="players of a pool", ylabel="percent")
    axis.margins(y=0.25)
    axis.legend(frameon=False, ncols=3, loc="upper left", fontsize=8)


def _draw_tenths(axis: Any, found: Assessment) -> None:
    axis.axhline(0.0, color=_GREY, linewidth=0.8)
    for x, (each, colour) in enumerate(zip(found.floors, _FLOORS, strict=True)):
        gains, error = _values(each.tenths)
        places = np.arange(1, len(gains) + 1) + 0.2 * (x - 1)
        label = f"floor {each.floor:g}"
        axis.errorbar(places, 100 * gains, 100 * error, fmt="o", color=colour, label=label)
    axis.set(
        title="Who gains, and who pays",
        xlabel="tenth of the players",
        ylabel="games in 100 rounds beyond random",
    )
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _draw_floors(axis: Any, found: Assessment) -> None:
    gains, error = _values(each.gain for each in found.floors)
    names = [f"{each.floor:g}" for each in found.floors]
    axis.bar(names, 100 * gains, color=_FLOORS, yerr=100 * error, capsize=2)
    axis.set(title="Gain over random pairing", xlabel="floor", ylabel="points")


def _draw_checks(axis: Any, found: Assessment) -> None:
    places = np.arange(len(found.checks))[::-1]
    low, high = np.array([[each.model.low, each.model.high] for each in found.checks]).T
    axis.barh(places, high - low, left=low, color="#cccccc", label="if products hold")
    middle, error = _values(each.history for each in found.checks)
    axis.errorbar(middle, places, xerr=error, fmt="o", color=_BLUE, label="the history", capsize=3)
    axis.set_yticks(places, [each.name for each in found.checks])
    axis.set(title="How far games are from products of rates", xlabel="deviation, 1 is usual")
    axis.margins(y=0.3)
    axis.set_xlim(left=0.0)
    axis.legend(frameon=False, fontsize=8, ncols=2, loc="upper right")


def _draw_bins(axis: Any, check: FitCheck) -> None:
    middle, away, error = np.array(check.bins).T
    axis.errorbar(middle, 100 * away, 196 * error, fmt="o", color=_BLUE, capsize=3)
    axis.axhline(0.0, color=_GREY, linewidth=0.8)
    axis.set(title=check.question, xlabel=check.name, ylabel="points beyond products")
