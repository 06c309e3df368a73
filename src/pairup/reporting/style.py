"""Style: how every figure of pairup looks: colours, markers, scales and ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

Scale = Literal["linear", "log"]
Dashes = str | tuple[int, tuple[int, ...]]

# Okabe and Ito's colours, told apart by colour-blind readers; their yellow is too pale for a line,
# and their black is the limit's. Then three dark ones for more than six policies.
_OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_COLOURS = (*_OKABE_ITO, "#882255", "#777733", "#332288")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "p")
_DASHES: tuple[Dashes, ...] = ("-", (0, (6, 2)), (0, (3, 1, 1, 1)))
HATCHES = dict(zip(_DASHES, ("", "////", "...."), strict=True))  # of bars, which have no dashes
GREY = "#666666"
LIMIT_DASHES = (0, (2, 2))
# Keys of matplotlib's settings; Any, because their type lists every key there is.
RC_PARAMS: dict[Any, Any] = {
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


def assign_styles(labels: Iterable[str]) -> dict[str, Style]:
    """Assign a style to each label by its place, so that the same labels always look the same.

    Examples
    --------
    >>> assign_styles(["SAM", "V1"])["V1"]
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


def line_points(line: Line2D) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the x and y values of a line."""
    return np.asarray(line.get_xdata(), np.float64), np.asarray(line.get_ydata(), np.float64)


def set_scales(ax: Axes, x_scale: Scale, y_scale: Scale, start: float) -> None:
    """Scale both axes and shorten their tick labels; call it once all lines are drawn.

    A linear y axis begins at 0. A log y axis begins below the lowest line from x = `start` on, so
    that the first rounds, when almost nothing is lost, do not take half of the picture.
    """
    ax.set_xscale(x_scale)
    ax.set_yscale(y_scale)
    if y_scale == "linear":
        ax.set_ylim(bottom=0)
    else:
        lows = [y[(x >= start) & (y > 0)] for x, y in map(line_points, ax.lines)]
        ax.set_ylim(bottom=min((low.min() for low in lows if low.size), default=0.1) / 1.5)
    for axis, scale, (low, high) in (
        (ax.xaxis, x_scale, ax.get_xlim()),
        (ax.yaxis, y_scale, ax.get_ylim()),
    ):
        if scale == "log":
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: format_short(value)))


def format_short(value: float | None) -> str:
    """Format the label of a tick in few characters.

    Examples
    --------
    >>> [format_short(value) for value in (0, 0.5, 200, 2_500, 1_000_000)]
    ['0', '0.5', '200', '2.5k', '1M']
    """
    number = float(value or 0)
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= unit:
            return f"{number / unit:g}{letter}"
    return f"{number:g}"
