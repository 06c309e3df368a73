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
from matplotlib.figure import Figure

from pairup.analysis.instances import average_values, group_names
from pairup.analysis.means import along_option, policies_of
from pairup.analysis.standings import divide_by_limits
from pairup.bounds import theorem
from pairup.checks import check_choice
from pairup.errors import PairupError, ResultsError, did_you_mean
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.results import Results, options_of, parameters_of
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
    results: Results, names: Sequence[str] = (), formats: Sequence[str] = FORMATS
) -> list[Picture]:
    """Draw the figures that an experiment asks for, in its order.

    Parameters
    ----------
    results
        Results of the experiment.
    names
        Names of the figures to draw; by default all.
    formats
        Kinds of files to make: "png", "svg" and "pdf".
    """
    experiment = results.experiment
    known = [spec.name for spec in experiment.figures]
    for name in names:
        if name not in known:
            near = did_you_mean(name, known)
            raise ResultsError(f"{experiment.name} has no figure called {name!r}{near}")
    for ending in formats:
        check_choice("format", ending, FORMATS, ResultsError)
    styles = assign_styles(entry.label for entry in experiment.entries)
    return [
        _picture(spec, results, styles, formats)
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
    spec: FigureSpec, results: Results, styles: Mapping[str, Style], formats: Sequence[str]
) -> Picture:
    experiment = results.experiment
    posed = [each for each in experiment.problems if spec.shows(each)]
    rows = results.frame.filter(
        pl.col("experiment") == experiment.name,
        pl.col("problem").is_in([each.problem.name for each in posed]),
    )
    if spec.policies:
        rows = rows.filter(pl.col("policy").is_in(list(spec.policies)))
    if rows.is_empty():
        raise ResultsError(f"figure {spec.name} of {experiment.name} has no results to draw")
    shown = divide_by_limits(rows, results.limits) if spec.kind == "limit" else rows
    return Picture(
        name=f"{experiment.name}-{spec.name}",
        title=spec.title or spec.name,
        caption=write_caption(spec, experiment),
        alt=describe_in_words(spec, shown),
        files=render(_figure(spec, results, posed, rows, styles), formats),
    )


def _figure(
    spec: FigureSpec,
    results: Results,
    posed: Sequence[PosedProblem],
    rows: pl.DataFrame,
    styles: Mapping[str, Style],
) -> Figure:
    present, entries = policies_of(rows), results.experiment.entries
    x, scales = spec.x or "", (spec.x_scale, spec.y_scale)
    with matplotlib.rc_context(RC_PARAMS):
        figure = Figure(figsize=_size(len(present)), layout="constrained")
        ax = figure.subplots()
        if spec.kind == "curves":
            bounds, limit = _theorems(posed, entries, present), _limit(spec, results, rows)
            plot_regret_curves(rows, ax, *scales, styles, bounds, limit, spec.over)
        elif spec.kind == "tail":
            plot_tail(rows, ax, styles)
        elif spec.kind == "final":
            rows, styles = put_on_axis(rows, styles, x, results.experiment)
            plot_final_regret(rows, ax, x, spec.normalise, *scales, styles, spec.over)
        else:
            names = {each.problem.name: str(each.parameters[x]) for each in posed if x}
            plot_limit_bars(rows, ax, results.limits, names, spec.y_scale, styles, spec.over)
            ax.set_xlabel(parameter_label(x))
        ax.set_title(spec.title)
        figure.draw_without_rendering()  # the layout once, not again for each kind of file
        figure.set_layout_engine("none")
    return figure


def put_on_axis(
    rows: pl.DataFrame, styles: Mapping[str, Style], x: str, experiment: Experiment
) -> tuple[pl.DataFrame, Mapping[str, Style]]:
    """Return rows and styles for an axis: of the lines of sweeps, if it is a swept option."""
    if x not in options_of(rows) or x in parameters_of(rows):
        return rows, styles
    lines = {each.label: each.line_along(x) for each in experiment.entries}
    return along_option(rows, x, lines), assign_styles(dict.fromkeys(lines.values()))


def _limit(spec: FigureSpec, results: Results, rows: pl.DataFrame) -> float | None:
    """Return the limit of the problem that curves are drawn for, or the mean over instances."""
    limits = average_values(results.limits, group_names(rows, spec.over))
    return next(iter(limits.values()), None) if spec.limit else None


def _size(policies: int) -> tuple[float, float]:
    """Return the size of a figure in inches: taller where the names of many lines need room."""
    return _SIZE[0], _SIZE[1] + max(policies - _NAMES_BESIDE_AXES, 0) * _INCHES_PER_NAME


def _theorems(
    posed: Sequence[PosedProblem], entries: Iterable[Entry], drawn: Sequence[str]
) -> dict[str, float]:
    """Return the constants of the theorems that apply to one problem, by their names."""
    known = {}
    for entry in entries if len(posed) == 1 else ():
        with suppress(PairupError):
            name, constant, _ = theorem(posed[0].problem, entry.policy)
            if entry.label in drawn and constant > 0:
                known[name] = constant
    return known
