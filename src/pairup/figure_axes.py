"""Axes of a new figure, which can be saved as the figure can."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes


class FigureAxes(Axes):
    """The only axes of a figure: what saves the figure saves them."""

    def savefig(self, *args: Any, **options: Any) -> None:
        """Save the figure; the parameters are those of `matplotlib.figure.Figure.savefig`."""
        figure = self.get_figure(root=True)
        assert figure is not None  # unless the axes were removed
        figure.savefig(*args, **options)


def new_axes() -> Axes:
    """Return the axes of a new figure of pyplot, which notebooks and `pyplot.show` show."""
    import matplotlib.pyplot as plt  # slow to import, and only for a figure that is shown

    return plt.figure(layout="constrained").add_subplot(axes_class=FigureAxes)
