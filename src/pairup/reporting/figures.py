"""Figures: the pictures that an experiment asks for, drawn from its results."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pairup.analysis.analysis import Analysis
from pairup.analysis.instances import average_values, group_names
from pairup.analysis.limits import divide_by_limits
from pairup.analysis.means import policies_of
from pairup.bounds import theorem
from pairup.checks import check_choice
from pairup.errors import PairupError, ResultsError, did_you_mean
from pairup.experiments.families import PosedProblem
from pairup.experiments.figure_spec import FigureSpec
from pairup.policies import Policy
from pairup.problem import Problem
from pairup.problem.declaration import parameter_label
from pairup.reporting.captions import describe_in_words, write_caption
from pairup.reporting.limit_bars import plot_limit_bars
from pairup.reporting.line_plots import plot_final_regret, plot_regret_curves
from pairup.reporting.style import RC_PARAMS, Style, assign_styles
from pairup.reporting.tail_plot import plot_tail

# Inches: text of 9 points stays readable on a phone, where it shrinks by a third.
_SIZE = (5.4, 3.7)
_NAMES_BESIDE_AXES = 12  # that find room in a figure of that size
_INCHES_PER_NAME = 0.17  # for each further one
# By the endings of the files: metadata to leave out, so that the same figure gives the same bytes.
_NO_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
FORMATS = tuple(_NO_METADATA)


@dataclass(frozen=True)
class Picture:
    """A rendered figure; `alt` describes it in words, for readers who cannot see it.

    Its files have its name, and suffixes from `FORMATS`; the same figure gives the same bytes.
    """

    name: str
    title: str
    caption: str
    alt: str
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def svg_base64(self) -> str:
        """The SVG file as a page can hold it."""
        return base64.b64encode(self.files["svg"]).decode()


def draw_figures(
    analysis: Analysis, names: Sequence[str] = (), formats: Sequence[str] = FORMATS
) -> list[Picture]:
    """Draw the figures that an experiment asks for, in its order.

    Parameters
    ----------
    analysis
        Results of the experiment.
    names
        Names of the figures to draw; by default all.
    formats
        Kinds of files to make: "png", "svg" and "pdf".
    """
    experiment = analysis.results.experiment
    known = [spec.name for spec in experiment.figures]
    for name in names:
        if name not in known:
            near = did_you_mean(name, known)
            raise ResultsError(f"{experiment.name} has no figure called {name!r}{near}")
    for ending in formats:
        check_choice("format", ending, FORMATS, ResultsError)
    styles = assign_styles(entry.label for entry in experiment.entries)
    return [
        _picture(spec, analysis, styles, formats)
        for spec in experiment.figures
        if not names or spec.name in names
    ]


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Write pictures into a folder, which is created if it is missing; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for picture in pictures:
        for ending, data in picture.files.items():
            paths.append(folder / f"{picture.name}.{ending}")
            paths[-1].write_bytes(data)
    return paths


def render(figure: Figure, formats: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """Render a figure as PNG, SVG or PDF; the same figure gives the same bytes."""
    files = {}
    with matplotlib.rc_context(RC_PARAMS):
        for ending in formats:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=ending, dpi=200, metadata=_NO_METADATA[ending])
            files[ending] = buffer.getvalue()
    return files


def _picture(
    spec: FigureSpec, analysis: Analysis, styles: Mapping[str, Style], formats: Sequence[str]
) -> Picture:
    experiment = analysis.results.experiment
    posed = [each for each in experiment.problems if spec.shows(each)]
    rows = analysis.results.frame.filter(
        pl.col("experiment") == experiment.name,
        pl.col("problem").is_in([each.problem.name for each in posed]),
    )
    if spec.policies:
        rows = rows.filter(pl.col("policy").is_in(list(spec.policies)))
    if rows.is_empty():
        raise ResultsError(f"figure {spec.name} of {experiment.name} has no results to draw")
    shown = divide_by_limits(rows, analysis.limits) if spec.kind == "limit" else rows
    return Picture(
        name=f"{experiment.name}-{spec.name}",
        title=spec.title or spec.name,
        caption=write_caption(spec, experiment),
        alt=describe_in_words(spec, shown),
        files=render(_figure(spec, analysis, posed, rows, styles), formats),
    )


def _figure(
    spec: FigureSpec,
    analysis: Analysis,
    posed: Sequence[PosedProblem],
    rows: pl.DataFrame,
    styles: Mapping[str, Style],
) -> Figure:
    present = policies_of(rows)
    with matplotlib.rc_context(RC_PARAMS):
        figure = Figure(figsize=_size(len(present)), layout="constrained")
        ax = figure.subplots()
        if spec.kind == "curves":
            _plot_curves(spec, analysis, posed, rows, ax, styles)
        elif spec.kind == "tail":
            plot_tail(rows, ax, styles)
        else:
            _plot_last_round(spec, analysis, posed, rows, ax, styles)
        ax.set_title(spec.title)
        figure.draw_without_rendering()  # the layout once, not again for each kind of file
        figure.set_layout_engine("none")
    return figure


def _plot_curves(
    spec: FigureSpec,
    analysis: Analysis,
    posed: Sequence[PosedProblem],
    rows: pl.DataFrame,
    ax: Axes,
    styles: Mapping[str, Style],
) -> None:
    """Draw regret against the round, with theorems for one problem and the mean of the limits."""
    entries, present = analysis.results.experiment.entries, policies_of(rows)
    drawn = [entry.policy for entry in entries if entry.label in present]
    bounds = _theorems(posed[0].problem, drawn) if len(posed) == 1 else {}
    limits = average_values(analysis.limits, group_names(rows, spec.over))
    limit = next(iter(limits.values()), None) if spec.limit else None
    plot_regret_curves(rows, ax, spec.x_scale, spec.y_scale, styles, bounds, limit, spec.over)


def _plot_last_round(
    spec: FigureSpec,
    analysis: Analysis,
    posed: Sequence[PosedProblem],
    rows: pl.DataFrame,
    ax: Axes,
    styles: Mapping[str, Style],
) -> None:
    """Draw the regret after the last round against a parameter of the problems."""
    x, scales = spec.x or "", (spec.x_scale, spec.y_scale)
    if spec.kind == "final":
        plot_final_regret(rows, ax, x, spec.normalise, *scales, styles, spec.over)
        return
    names = {each.problem.name: str(each.parameters[x]) for each in posed if x}
    plot_limit_bars(rows, ax, analysis.limits, names, spec.y_scale, styles, spec.over)
    ax.set_xlabel(parameter_label(x))


def _size(policies: int) -> tuple[float, float]:
    """Return the size of a figure in inches: taller where the names of many lines need room."""
    return _SIZE[0], _SIZE[1] + max(policies - _NAMES_BESIDE_AXES, 0) * _INCHES_PER_NAME


def _theorems(problem: Problem, policies: Iterable[Policy]) -> dict[str, float]:
    """Return the constants of the theorems that apply, by their names."""
    known = {}
    for policy in policies:
        with suppress(PairupError):
            name, constant = theorem(problem, policy)
            known[name] = constant
    return {name: constant for name, constant in known.items() if constant > 0}
