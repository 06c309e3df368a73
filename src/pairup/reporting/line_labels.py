"""Line labels: each line's name at its right end, or a legend where the names do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from pairup.reporting.style import line_points

_LABEL_HEIGHT = 12.0  # points from one label to the next
_MAX_LETTERS = 16  # of a name beside the axes; longer ones go into a legend


def label_line_ends(ax: Axes) -> None:
    """Write each line's name at its right end, moved apart; or a legend where they do not fit.

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
