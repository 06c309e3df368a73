"""Figures: the pictures that an experiment asks for, drawn from its results, and their captions."""

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
from pairup.analysis.limits import divide_by_limits
from pairup.analysis.means import final, mean_intervals, policies_of
from pairup.bounds import theorem
from pairup.errors import PairupError, ResultsError
from pairup.experiments.experiment import Experiment
from pairup.experiments.families import PosedProblem
from pairup.experiments.figure_spec import FigureSpec
from pairup.policies import Policy
from pairup.problem import Problem
from pairup.reporting.limit_bars import plot_limit_bars
from pairup.reporting.line_plots import plot_final_regret, plot_regret_curves
from pairup.reporting.style import PARAMETER_NAMES, RC_PARAMS, Style, assign_styles

# Inches: text of 9 points stays readable on a phone, where it shrinks by a third.
_SIZE = (5.4, 3.7)
_NAMES_BESIDE_AXES = 12  # that find room in a figure of that size
_INCHES_PER_NAME = 0.17  # for each further one
_SYMBOLS = {"pairs": "L"}
# By the endings of the files: metadata to leave out, so that the same figure gives the same bytes.
_NO_METADATA = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@dataclass(frozen=True)
class Picture:
    """A figure as it is seen; `alt` says the same in words, for readers who cannot see it.

    Its files have its name and are "png", "svg" and "pdf"; the same figure gives the same bytes.
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


def draw_figures(analysis: Analysis) -> list[Picture]:
    """Draw all figures that an experiment asks for, in its order."""
    styles = assign_styles(entry.label for entry in analysis.results.experiment.entries)
    return [_picture(spec, analysis, styles) for spec in analysis.results.experiment.figures]


def write_pictures(pictures: Iterable[Picture], folder: Path) -> list[Path]:
    """Write pictures into a folder, which is made where it is missing; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for picture in pictures:
        for ending, data in picture.files.items():
            paths.append(folder / f"{picture.name}.{ending}")
            paths[-1].write_bytes(data)
    return paths


def render(figure: Figure) -> dict[str, bytes]:
    """Render a figure as PNG, SVG and PDF; the same figure gives the same bytes."""
    files = {}
    with matplotlib.rc_context(RC_PARAMS):
        for ending, metadata in _NO_METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=ending, dpi=200, metadata=metadata)
            files[ending] = buffer.getvalue()
    return files


def _picture(spec: FigureSpec, analysis: Analysis, styles: Mapping[str, Style]) -> Picture:
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
    return Picture(
        name=f"{experiment.name}-{spec.name}",
        title=spec.title or spec.name,
        caption=_caption(spec, experiment),
        alt=_describe_in_words(spec, rows, analysis.limits if spec.kind == "limit" else None),
        files=render(_figure(spec, analysis, posed, rows, styles)),
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
            entries = analysis.results.experiment.entries
            drawn = [entry.policy for entry in entries if entry.label in present]
            bounds = _theorems(posed[0].problem, drawn)
            limit = analysis.limits.get(posed[0].problem.name) if spec.limit else None
            plot_regret_curves(rows, ax, spec.x_scale, spec.y_scale, styles, bounds, limit)
        else:
            _plot_last_round(spec, analysis, posed, rows, ax, styles)
        ax.set_title(spec.title)
        figure.draw_without_rendering()  # the layout once, not again for each kind of file
        figure.set_layout_engine("none")
    return figure


def _plot_last_round(
    spec: FigureSpec,
    analysis: Analysis,
    posed: Sequence[PosedProblem],
    rows: pl.DataFrame,
    ax: Axes,
    styles: Mapping[str, Style],
) -> None:
    """Draw what the last round shows against a parameter of the problems."""
    x = spec.x or ""
    values = {each.problem.name: each.parameters.get(x, each.problem.name) for each in posed}
    if spec.kind == "limit":
        names = {name: str(value) for name, value in values.items()}
        plot_limit_bars(rows, ax, analysis.limits, names, spec.y_scale, styles)
        ax.set_xlabel(PARAMETER_NAMES.get(x, x))
    else:
        rows = rows.with_columns(pl.col("problem").replace_strict(values).alias(x))
        plot_final_regret(rows, ax, x, spec.normalise, spec.x_scale, spec.y_scale, styles)


def _size(policies: int) -> tuple[float, float]:
    """Give the size of a figure in inches: taller where the names of many lines need room."""
    return _SIZE[0], _SIZE[1] + max(policies - _NAMES_BESIDE_AXES, 0) * _INCHES_PER_NAME


def _theorems(problem: Problem, policies: Iterable[Policy]) -> dict[str, float]:
    """Give the constants of the theorems that apply, by their names."""
    known = {}
    for policy in policies:
        with suppress(PairupError):
            name, constant = theorem(problem, policy)
            known[name] = constant
    return {name: constant for name, constant in known.items() if constant > 0}


def _caption(spec: FigureSpec, experiment: Experiment) -> str:
    """Say what a figure shows, of how many replications, and what its lines and bands are."""
    after = f"Mean regret after {experiment.rounds:,} rounds"
    against = f" against {PARAMETER_NAMES.get(spec.x, spec.x)}" if spec.x else ""
    times = ", times the square of the gap," if spec.normalise == "gap2" else ""
    what = {
        "curves": "Mean regret against the round",
        "final": f"{after}{times}{against}",
        "limit": f"{after} in multiples of the limit c ln T{against}",
    }[spec.kind]
    where = ", ".join(f"{_SYMBOLS.get(key, key)} = {value}" for key, value in spec.where.items())
    log = ", log scale" if "log" in (spec.x_scale, spec.y_scale) else ""
    notes = {
        "curves": " Dashed, where it fits: the bound of the theorem, asymptotic.",
        "final": "",
        "limit": " No policy that is good on every problem stays below 1 as T grows.",
    }[spec.kind]
    if spec.limit:
        notes += (
            " Black: c ln t, which no policy that is good on every problem stays below as t grows."
        )
    return (
        f"{what}{f' ({where})' if where else ''}, {experiment.replications} replications, "
        f"{'bands' if spec.kind != 'limit' else 'intervals'} of 95%{log}.{notes}"
    )


def _describe_in_words(
    spec: FigureSpec, rows: pl.DataFrame, units: Mapping[str, float] | None
) -> str:
    """Say the ends of all lines in words, or the first and the last bar."""
    means, digits = mean_intervals(final(rows)), 0
    if units is not None:
        means, digits = divide_by_limits(means, units), 1
    parts = []
    for policy in policies_of(means):
        values = [f"{value:,.{digits}f}" for value in means.filter(policy=policy)["estimate"]]
        span = f"from {values[0]} to {values[-1]}" if len(values) > 1 else values[0]
        parts.append(f"{policy} {span}")
    what = {
        "curves": "Lines of regret against the round",
        "final": "Lines of final regret",
        "limit": "Bars of final regret in multiples of the limit",
    }[spec.kind]
    return f"{spec.title}. {what}; at the last round {'; '.join(parts)}."
