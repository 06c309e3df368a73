"""Axes: how every figure of pairup looks; colours, scales, ticks and names at the ends of lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

Scale = Literal["linear", "log"]
Dashes = str | tuple[int, tuple[int, ...]]

# Okabe and Ito's colours, told apart by colour-blind readers; their yellow is too pale for a line,
# and their black is the limit's. Then three dark ones for whoever has more than six policies.
_COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#882255", "#777733", "#332288"),
)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")
_DASHES: tuple[Dashes, ...] = ("-", (0, (6, 2)), (0, (3, 1, 1, 1)))
HATCHES = dict(zip(_DASHES, ("", "////", "...."), strict=True))  # of bars, which have no dashes
_LABEL_HEIGHT = 12.0  # points from one direct label to the next
_MOST_LABEL = 16  # letters beside the axes; longer names go into a legend
GREY = "#666666"
# Keys of matplotlib's settings; Any, because their type lists every key there is.
LOOK: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the same on every machine
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "pairup",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Style:
    """How a policy is drawn: colour, marker and dashes, distinct even in grey."""

    colour: str
    marker: str
    dashes: Dashes


def styles(labels: Iterable[str]) -> dict[str, Style]:
    """Give each label its style, by its place: the same labels always look the same.

    Examples
    --------
    >>> styles(["SAM", "V1"])["V1"]
    Style(colour='#D55E00', marker='s', dashes='-')
    """
    return {
        label: Style(
            _COLOURS[place % len(_COLOURS)],
            _MARKERS[place % len(_MARKERS)],
            _DASHES[place // len(_COLOURS) % len(_DASHES)],
        )
        for place, label in enumerate(labels)
    }


def points(line: Line2D) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the abscissas and ordinates of a line."""
    return np.asarray(line.get_xdata(), np.float64), np.asarray(line.get_ydata(), np.float64)


def set_scales(ax: Axes, x_scale: Scale, y_scale: Scale, start: float) -> None:
    """Scale both axes, once all lines are drawn, and write their ticks in few letters.

    Parameters
    ----------
    ax
        Modified.
    x_scale, y_scale
        A linear ordinate begins at 0.
    start
        A log ordinate begins below the lowest line from this abscissa on, so that the first
        rounds, when almost nothing is lost, do not take half of the picture.
    """
    ax.set_xscale(x_scale)
    ax.set_yscale(y_scale)
    if y_scale == "linear":
        ax.set_ylim(bottom=0)
    else:
        lows = [y[(x >= start) & (y > 0)] for x, y in map(points, ax.lines)]
        ax.set_ylim(bottom=min((low.min() for low in lows if low.size), default=0.1) / 1.5)
    for axis, scale, (low, high) in (
        (ax.xaxis, x_scale, ax.get_xlim()),
        (ax.yaxis, y_scale, ax.get_ylim()),
    ):
        if scale == "log":
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def short(value: float | None) -> str:
    """Write a tick in few letters.

    Examples
    --------
    >>> [short(value) for value in (0, 0.5, 200, 2_500, 1_000_000)]
    ['0', '0.5', '200', '2.5k', '1M']
    """
    number = float(value or 0)
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:g}{letter}"
    return f"{number:g}"


def label_ends(ax: Axes) -> None:
    """Write each line's name at its right end, moved apart; or a legend where they do not fit.

    Call it last: names are placed by the limits of the axes.
    """
    lines = [line for line in ax.lines if points(line)[0].size]
    names = [str(line.get_label()) for line in lines]
    # Axes that were removed have no figure; these are drawn on.
    height = ax.bbox.height * 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    if len(names) * _LABEL_HEIGHT > height or max(map(len, names), default=0) > _MOST_LABEL:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        return
    ends = [(float(x[-1]), float(y[-1])) for x, y in map(points, lines)]
    to_axes = ax.transData + ax.transAxes.inverted()
    starts = [to_axes.transform(end) for end in ends]
    places = spread([float(y) for _, y in starts], _LABEL_HEIGHT / height)
    for line, name, (x, y), place in zip(lines, names, starts, places, strict=True):
        colour = _darker(str(line.get_color()))
        ax.text(1.045, place, name, va="center", color=colour, transform=ax.transAxes)
        # A plain line: an arrow of matplotlib's costs fifty times as much to draw.
        lead = Line2D([x + 0.012, 1.035], [y, place], color=colour, linewidth=0.7, clip_on=False)
        lead.set_transform(ax.transAxes)
        ax.add_artist(lead)


def spread(wanted: Sequence[float], distance: float) -> list[float]:
    """Move places in [0, 1] apart, as little as needed, keeping their order.

    Examples
    --------
    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.1, 0.98], 0.1)]
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
