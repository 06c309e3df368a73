"""The picture of an assessment: rates, gain by size, who gains and who pays, and the checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairup.assessment.assessment import Assessment

_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
_MAX_CHECKS = 2  # that have bins, and are drawn


def draw_assessment(found: Assessment) -> Figure:
    """Draw an assessment as one figure."""
    from matplotlib.figure import Figure  # slow to import, and only for a picture

    binned = [each for each in found.checks if each.bins][:_MAX_CHECKS]
    figure = Figure(figsize=(9.0, 3.2 * (2 + (len(binned) > 0))), layout="constrained")
    axes = figure.subplots(2 + (len(binned) > 0), 2, squeeze=False)
    _draw_rates(axes[0, 0], found)
    _draw_pools(axes[0, 1], found)
    _draw_tenths(axes[1, 0], found)
    _draw_floors(axes[1, 1], found)
    for axis, check in zip(axes[2] if binned else (), binned, strict=False):
        middle, away, error = np.array(check.bins).T
        axis.errorbar(middle, 100 * away, 196 * error, fmt="o", color=_BLUE, capsize=3)
        axis.axhline(0.0, color=_GREY, linewidth=0.8)
        axis.set(title=check.question, xlabel=check.name, ylabel="points beyond products")
    if len(binned) == 1:
        axes[2, 1].set_axis_off()
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.title.set_fontsize(10)
    return figure


def _draw_rates(axis: Any, found: Assessment) -> None:
    tenths = [each for name, each in found.population.items() if name.startswith("tenth")]
    places = np.arange(1, len(tenths) + 1)
    values = np.array([[each.estimate, each.low, each.high] for each in tenths]).T
    axis.bar(places, values[0], color=_BLUE, yerr=np.abs(values[1:] - values[0]), capsize=2)
    axis.set(title="How often players accept", xlabel="tenth of the players", ylabel="rate")
    axis.set_ylim(0, 1)


def _draw_pools(axis: Any, found: Assessment) -> None:
    pools = sorted((*found.pools, found.pool), key=lambda each: each.players)
    places, width = np.arange(len(pools)), 0.38
    for shift, name, colour in ((-0.5, "random", _GREY), (0.5, "best", _GREEN)):
        values = np.array(
            [[each.estimate, each.low, each.high] for each in (getattr(p, name) for p in pools)]
        ).T
        error = np.abs(values[1:] - values[0]) * 100
        axis.bar(
            places + shift * width,
            values[0] * 100,
            width,
            color=colour,
            yerr=error,
            label=name,
            capsize=2,
        )
    axis.set_xticks(places, [f"{each.players:,}" for each in pools])
    axis.set(title="Games that are played", xlabel="players of a pool", ylabel="percent")
    axis.margins(y=0.25)
    axis.legend(frameon=False, ncols=2, loc="upper left")


def _draw_tenths(axis: Any, found: Assessment) -> None:
    tenths = found.learning.tenths
    places = np.arange(1, len(tenths) + 1)
    axis.plot(places, [each.random for each in tenths], "o-", color=_GREY, label="random pairing")
    for floor, colour in zip(found.learning.shares, (_GREEN, _BLUE, _ORANGE), strict=False):
        label = f"matched, floor {floor:g}" if floor else "matched"
        axis.plot(places, [each.matched[floor] for each in tenths], "s-", color=colour, label=label)
    axis.set(
        title="Who gains, and who pays", xlabel="tenth of the players", ylabel="games per round"
    )
    axis.legend(frameon=False, fontsize=8)


def _draw_floors(axis: Any, found: Assessment) -> None:
    shares = found.learning.shares
    axis.bar(
        [f"{floor:g}" for floor in shares], [100 * each for each in shares.values()], color=_GREEN
    )
    axis.axhline(100 * found.played.estimate, color=_ORANGE, label="the history's own")
    axis.set(title="Games that are played, by floor", xlabel="floor", ylabel="percent")
    axis.margins(y=0.25)
    axis.legend(frameon=False, loc="upper left")
