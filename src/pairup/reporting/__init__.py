"""Reporting: figures, tables and the page of a report."""

from pairup.reporting.figures import Picture, draw_figures, render, write_pictures
from pairup.reporting.limit_bars import plot_limit_bars
from pairup.reporting.line_plots import plot_final_regret, plot_limit_line, plot_regret_curves
from pairup.reporting.page import Provenance, write_report
from pairup.reporting.tail_plot import plot_tail

__all__ = [
    "Picture",
    "Provenance",
    "draw_figures",
    "plot_final_regret",
    "plot_limit_bars",
    "plot_limit_line",
    "plot_regret_curves",
    "plot_tail",
    "render",
    "write_pictures",
    "write_report",
]
