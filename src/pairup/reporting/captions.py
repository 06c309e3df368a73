"""Captions: what a figure shows, in words, below it and for readers who cannot see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from pairup.analysis.instances import average_instances
from pairup.analysis.means import final, mean_intervals, policies_of
from pairup.analysis.tails import tail_quantiles
from pairup.experiments.experiment import Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.problem.declaration import parameter_label

_SYMBOLS = {"pairs": "L"}
_NOTES = {
    "curves": " Dashed, where it fits: the bound of the theorem, asymptotic.",
    "final": "",
    "limit": " No policy that is good on every problem stays below 1 as T grows.",
    "tail": (
        " Dashed: c / x, the slope of the tails that optimal policies have (Fan and Glynn): few "
        "replications then make the mean."
    ),
}
_LIMIT_NOTE = (
    " Black: c ln t, which no policy that is good on every problem stays below as t grows."
)


def write_caption(spec: FigureSpec, experiment: Experiment) -> str:
    """Return what a figure shows, over how many replications, and what lines and bands mean."""
    where = ", ".join(f"{_SYMBOLS.get(key, key)} = {value}" for key, value in spec.where.items())
    log = ", log scale" if "log" in (spec.x_scale, spec.y_scale) or spec.kind == "tail" else ""
    bands = "intervals" if spec.kind == "limit" else "bands"
    sample = f"{experiment.replications} replications"
    if spec.over is not None:
        sample = f"mean over {spec.over}, {sample} of each instance"
        bands = f"{bands} over instances"
    notes = _NOTES[spec.kind] if not (spec.over and spec.kind == "curves") else ""
    return (
        f"{_subject(spec, experiment)}{f' ({where})' if where else ''}, {sample}, "
        f"{bands} of 95%{log}.{notes}{_LIMIT_NOTE if spec.limit else ''}"
    )


def _subject(spec: FigureSpec, experiment: Experiment) -> str:
    rounds = f"after {experiment.rounds:,} rounds"
    against = f" against {parameter_label(spec.x)}" if spec.x else ""
    times = ", times the square of the gap," if spec.normalise == "gap2" else ""
    return {
        "curves": "Mean regret against the round",
        "final": f"Mean regret {rounds}{times}{against}",
        "limit": f"Mean regret {rounds} in multiples of the limit c ln T{against}",
        "tail": f"Share of the replications whose regret {rounds} is at least x",
    }[spec.kind]


def describe_in_words(spec: FigureSpec, rows: pl.DataFrame) -> str:
    """Describe the ends of all lines in words, or the first and the last bar, or the quantiles.

    The rows are those that the figure shows; for bars, in multiples of the limit.
    """
    if spec.kind == "tail":
        said = "; ".join(
            f"{row['policy']} {_quantiles(row)}largest {row['max']:,.0f}"
            for row in tail_quantiles(rows).iter_rows(named=True)
        )
        return f"{spec.title}. Steps of the share of replications against the regret; {said}."
    means = mean_intervals(average_instances(final(rows), spec.over))
    digits = 1 if spec.kind == "limit" else 0
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


def _quantiles(row: Mapping[str, Any]) -> str:
    known = {"median": row["q50"], "99%": row["q99"]}
    shown = (f"{name} {value:,.0f}, " for name, value in known.items() if value is not None)
    return "".join(shown)
