"""Figures: results in, matplotlib Axes out; every number comes from `pairup.analysis.statistics`.

A function draws one figure on an Axes that it is given, and returns it. `draw` makes all figures
that an experiment asks for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import matplotlib
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pairup.analysis.limits import in_limits, limits
from pairup.analysis.statistics import final, mean_intervals, policies_of
from pairup.bounds import theorem
from pairup.errors import PairupError, ResultsError
from pairup.experiments.families import PosedProblem
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.spec import Experiment
from pairup.policies import Policy
from pairup.problem import Problem
from pairup.reporting.limit_plots import limit_line, times_the_limit
from pairup.reporting.style import (
    GREY,
    LOOK,
    Scale,
    Style,
    label_ends,
    points,
    set_scales,
    short,
    styles,
)

_SIZE = (
    5.4,
    3.7,
)  # inches: text of 9 points stays readable on a phone, where it shrinks by a third
_FIT, _NAME = 12, 0.17  # names that find room beside the axes, and inches for each further one
_FAR = {"linear": 2.5, "log": 30.0}  # times the highest curve: a bound beyond is off the chart
_SYMBOLS = {"pairs": "L"}
_NAMES = {
    "pairs": "couples, L",
    "mean": "mean acceptance rate",
    "gap": "gap between successive couples",
    "players": "players",
}


@dataclass(frozen=True)
class Picture:
    """A figure on disk.

    Attributes
    ----------
    stem
        Path without its suffix; `.png`, `.svg` and `.pdf` lie beside each other.
    title, caption
        What it shows.
    alt
        The same in words, for who cannot see it.
    """

    stem: Path
    title: str
    caption: str
    alt: str


def regret_curves(
    frame: pl.DataFrame,
    ax: Axes,
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    looks: Mapping[str, Style] | None = None,
    bounds: Mapping[str, float] | None = None,
    limit: float | None = None,
) -> Axes:
    """Draw the mean regret of each policy against the round, with bands of 95%.

    Parameters
    ----------
    frame
        Results on one problem.
    ax
        Where to draw; modified.
    x_scale, y_scale
        "linear" or "log". Regret of 0 cannot be drawn in log scale and is left out.
    looks
        Style of each policy; by default by their order in the frame.
    bounds
        Factors of ln(t) by name, drawn as dashed lines. One that would lie far above the curves
        is left out, and a note says so.
    limit
        Draw the `limit_line` of this constant.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> regret_curves(load_results("results"), ax)  # doctest: +SKIP
    """
    problems = frame["problem"].unique(maintain_order=True).to_list()
    if len(problems) != 1:
        raise ResultsError(
            f"regret curves are drawn for one problem, got {len(problems)}: "
            'keep one, frame.filter(problem="...")'
        )
    means = mean_intervals(frame).sort("round")
    _series(means, ax, "round", y_scale, looks or styles(policies_of(frame)), markers=False)
    last = int(means["round"].item(-1))
    if limit is not None:
        limit_line(ax, limit, last)
    _bounds(ax, bounds or {}, last, y_scale)
    ax.set_xlim(min(10, last / 2) if x_scale == "log" else 0, last)
    set_scales(ax, x_scale, y_scale, start=10 if x_scale == "log" else last / 1000)
    ax.set_xlabel("round, t")
    ax.set_ylabel("regret")
    label_ends(ax)
    return ax


def final_regret(
    frame: pl.DataFrame,
    ax: Axes,
    x: str = "pairs",
    normalise: Literal["none", "gap2"] = "none",
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    looks: Mapping[str, Style] | None = None,
) -> Axes:
    """Draw the mean regret of each policy after the last round against a parameter.

    Parameters
    ----------
    frame
        Results on the problems of one family.
    ax
        Where to draw; modified.
    x
        A numeric column of the frame, such as "pairs" or "mean".
    normalise
        "gap2" draws the regret times the square of the gap, which is how SAM's authors show it.
    x_scale, y_scale, looks
        As in `regret_curves`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pairup import load_results
    >>> ax = Figure().subplots()
    >>> final_regret(load_results("results"), ax, x="mean")  # doctest: +SKIP
    """
    factor = pl.col("gap") ** 2 if normalise == "gap2" else pl.lit(1.0)
    last = final(frame)
    means = mean_intervals(last).with_columns(pl.col("estimate", "low", "high") * factor)
    if x not in means.columns:
        swept = last.group_by("experiment", "problem", maintain_order=True).agg(pl.col(x).first())
        means = means.join(swept, on=["experiment", "problem"], maintain_order="left")
    if means[x].null_count():
        raise ResultsError(f"the figure needs {x} of every problem, got problems without one")
    means = means.sort(x, maintain_order=True)
    _series(means, ax, x, y_scale, looks or styles(policies_of(frame)), markers=True)
    values = means[x].unique().sort().to_list()
    ax.set_xmargin(0.02)
    set_scales(ax, x_scale, y_scale, start=values[0])
    if len(values) <= 12:
        ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.set_xlabel(_NAMES.get(x, x))
    regret = "regret × gap²" if normalise == "gap2" else "regret"
    ax.set_ylabel(f"{regret} after {short(int(means['round'].item(-1)))} rounds")
    label_ends(ax)
    return ax


def _series(
    means: pl.DataFrame,
    ax: Axes,
    x: str,
    y_scale: Scale,
    looks: Mapping[str, Style],
    markers: bool,
) -> None:
    """Draw a line and a band for each policy, in the order of their looks."""
    present = set(policies_of(means))
    for place, (policy, look) in enumerate((p, s) for p, s in looks.items() if p in present):
        rows = means.filter(policy=policy)
        if y_scale == "log":
            rows = rows.filter(pl.col("estimate") > 0)
        ax.plot(
            rows[x].to_numpy(),
            rows["estimate"].to_numpy(),
            color=look.colour,
            linestyle=look.dashes,
            marker=look.marker,
            # Along a curve, a marker now and then, not in step with those of the others.
            markevery=None if markers else (0.04 + 0.03 * (place % 5), 0.17),
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=policy,
            zorder=3,
        )
        _band(ax, rows.drop_nulls(["low", "high"]), x, y_scale, look.colour)


def _band(ax: Axes, rows: pl.DataFrame, x: str, y_scale: Scale, colour: str) -> None:
    low, high = rows["low"].to_numpy(), rows["high"].to_numpy()
    if y_scale == "log":  # an end below 0 would be cut out of the band: end at half the mean
        low = rows.select(pl.max_horizontal("low", pl.col("estimate") / 2))["low"].to_numpy()
    ax.fill_between(rows[x].to_numpy(), low, high, color=colour, alpha=0.18, linewidth=0)


def _bounds(ax: Axes, bounds: Mapping[str, float], last: int, y_scale: Scale) -> None:
    """Draw the bounds that fit as dashed lines; say of the others that they do not."""
    top = max((float(points(line)[1][-1]) for line in ax.lines), default=0.0)
    rounds = np.geomspace(2, max(last, 3), 200)
    far = []
    for name, factor in bounds.items():
        end = factor * math.log(last)
        if end > _FAR[y_scale] * top:
            far.append(f"{name}, {short(float(f'{end:.2g}'))}")
            continue
        dashed = (0, (4, 3))
        heights = factor * np.log(rounds)
        ax.plot(rounds, heights, color=GREY, linestyle=dashed, linewidth=1.1, label=name)
    if far:
        note = f"Bound off the chart at the last round: {'; '.join(far)}."
        below = (0, -42)  # points: under the name of the axis
        ax.annotate(note, (0, 0), below, "axes fraction", "offset points", fontsize=7.5, color=GREY)


def save(figure: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG, SVG and PDF; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        What to write.
    stem
        Path without a suffix.
    """
    nothing = {
        "png": {"Software": None},
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    paths = []
    with matplotlib.rc_context(LOOK):
        for suffix, metadata in nothing.items():
            paths.append(stem.with_name(f"{stem.name}.{suffix}"))
            figure.savefig(paths[-1], dpi=200, metadata=metadata)
    return paths


def draw(experiment: Experiment, frame: pl.DataFrame, folder: Path) -> list[Picture]:
    """Draw all figures that an experiment asks for.

    Parameters
    ----------
    experiment
        What was run.
    frame
        Its results; results of other experiments are left aside.
    folder
        Where the files go; made where missing.

    Returns
    -------
    list of Picture
        In the order of the experiment.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = frame.filter(experiment=experiment.name)
    looks = styles(entry.label for entry in experiment.entries)
    return [_picture(spec, experiment, rows, looks, folder) for spec in experiment.figures]


def _picture(
    spec: FigureSpec,
    experiment: Experiment,
    frame: pl.DataFrame,
    looks: Mapping[str, Style],
    folder: Path,
) -> Picture:
    posed = [each for each in experiment.problems if spec.shows(each)]
    rows = frame.filter(pl.col("problem").is_in([each.problem.name for each in posed]))
    if spec.policies:
        rows = rows.filter(pl.col("policy").is_in(list(spec.policies)))
    if rows.is_empty():
        raise ResultsError(f"figure {spec.name} of {experiment.name} has no results to draw")
    with matplotlib.rc_context(LOOK):
        figure = Figure(figsize=_size(len(policies_of(rows))), layout="constrained")
        ax = figure.subplots()
        if spec.kind == "curves":
            drawn = [
                entry.policy for entry in experiment.entries if entry.label in policies_of(rows)
            ]
            bounds = _theorems(posed[0].problem, drawn)
            limit = limits(experiment).get(posed[0].problem.name) if spec.limit else None
            regret_curves(rows, ax, spec.x_scale, spec.y_scale, looks, bounds, limit)
        else:
            _against(spec, experiment, posed, rows, ax, looks)
        ax.set_title(spec.title)
        figure.draw_without_rendering()  # the layout once, not again for each kind of file
        figure.set_layout_engine("none")
        stem = folder / f"{experiment.name}-{spec.name}"
        save(figure, stem)
    alt = _alt(spec, rows, limits(experiment) if spec.kind == "limit" else None)
    return Picture(stem, spec.title or spec.name, _caption(spec, experiment), alt)


def _size(policies: int) -> tuple[float, float]:
    """Give the size of a figure in inches: taller where the names of many lines need room."""
    width, height = _SIZE
    return width, height + max(policies - _FIT, 0) * _NAME


def _against(
    spec: FigureSpec,
    experiment: Experiment,
    posed: Sequence[PosedProblem],
    rows: pl.DataFrame,
    ax: Axes,
    looks: Mapping[str, Style],
) -> None:
    """Draw what the last round shows against a parameter of the problems."""
    x = spec.x or ""
    values = {each.problem.name: each.parameters.get(x, each.problem.name) for each in posed}
    if spec.kind == "limit":
        names = {name: str(value) for name, value in values.items()}
        times_the_limit(rows, ax, limits(experiment), names, spec.y_scale, looks)
        ax.set_xlabel(_NAMES.get(x, x))
    else:
        rows = rows.with_columns(pl.col("problem").replace_strict(values).alias(x))
        final_regret(rows, ax, x, spec.normalise, spec.x_scale, spec.y_scale, looks)


def _theorems(problem: Problem, policies: Iterable[Policy]) -> dict[str, float]:
    """Give the constants of the theorems that apply, by their names."""
    known = {}
    for policy in policies:
        with suppress(PairupError):
            name, constant = theorem(problem, policy)
            known[name] = constant
    return {name: constant for name, constant in known.items() if constant > 0}


def _caption(spec: FigureSpec, experiment: Experiment) -> str:
    after = f"Mean regret after {experiment.rounds:,} rounds"
    against = f" against {_NAMES.get(spec.x, spec.x)}" if spec.x else ""
    times = ", times the square of the gap," if spec.normalise == "gap2" else ""
    what = {
        "curves": "Mean regret against the round",
        "final": f"{after}{times}{against}",
        "limit": f"{after} in multiples of the limit c ln T{against}",
    }[spec.kind]
    where = ", ".join(f"{_SYMBOLS.get(key, key)} = {value}" for key, value in spec.where.items())
    scales = "log" if "log" in (spec.x_scale, spec.y_scale) else ""
    notes = {
        "curves": " Dashed, where it fits: the bound of the theorem, asymptotic.",
        "final": "",
        "limit": " No policy that is good on every problem stays below 1 for ever.",
    }[spec.kind]
    if spec.limit:
        notes += " Black: c ln t, which no policy good on every problem stays below for ever."
    return (
        f"{what}{f' ({where})' if where else ''}, {experiment.replications} replications, "
        f"{'bands' if spec.kind != 'limit' else 'intervals'} of "
        f"95%{', log scale' if scales else ''}.{notes}"
    )


def _alt(spec: FigureSpec, rows: pl.DataFrame, units: Mapping[str, float] | None) -> str:
    """Say the ends of all lines in words, or the first and the last bar."""
    means = mean_intervals(final(rows))
    digits = 0
    if units is not None:
        means, digits = in_limits(means, units), 1
    parts = []
    for policy in policies_of(means):
        values = means.filter(policy=policy)["estimate"].to_list()
        span = f"{values[0]:,.{digits}f}"
        if len(values) > 1:
            span = f"from {values[0]:,.{digits}f} to {values[-1]:,.{digits}f}"
        parts.append(f"{policy} {span}")
    what = {
        "curves": "Lines of regret against the round",
        "final": "Lines of final regret",
        "limit": "Bars of final regret in multiples of the limit",
    }[spec.kind]
    return f"{spec.title}. {what}; at the last round {'; '.join(parts)}."
