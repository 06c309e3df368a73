"""Captions: what a figure shows, in words below it and in words instead of it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pairup.analysis.limits import divide_by_limits
from pairup.analysis.means import final, mean_intervals, policies_of
from pairup.experiments.experiment import Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.reporting.style import PARAMETER_NAMES

_SYMBOLS = {"pairs": "L"}


def write_caption(spec: FigureSpec, experiment: Experiment) -> str:
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
    scales = "log" if "log" in (spec.x_scale, spec.y_scale) else ""
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
        f"{'bands' if spec.kind != 'limit' else 'intervals'} of "
        f"95%{', log scale' if scales else ''}.{notes}"
    )


def describe_in_words(
    spec: FigureSpec, rows: pl.DataFrame, units: Mapping[str, float] | None
) -> str:
    """Say the ends of all lines in words, or the first and the last bar."""
    means = mean_intervals(final(rows))
    digits = 0
    if units is not None:
        means, digits = divide_by_limits(means, units), 1
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
