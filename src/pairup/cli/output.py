"""What commands print: tables, or JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    import polars as pl

    from pairup.analysis.standings import Standing
    from pairup.experiments.results import Results

_QUANTILE_HEADS = {"median": "q50", "95%": "q95", "largest": "max"}
_WORDS = {"problem", "policy", "95% interval", "over time"}  # columns that begin at the left
_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 16  # of a curve in a terminal
_MIN_WIDTH = 100  # letters of a terminal in which quantiles and curves have room


def show(what: Any, **options: Any) -> None:
    """Print something."""
    Console().print(what, **options)  # a new one, as wide as the terminal is now


def print_rows(rows: Sequence[dict[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    """Print some columns of rows as a table, or all of them as JSON."""
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = Table()
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(row[column])) for column in columns))
    show(table)


def show_finals(results: Results, as_json: bool) -> None:
    """Print the final regret of each policy on each problem: its mean, and quantiles."""
    from pairup.analysis.means import final, mean_intervals
    from pairup.analysis.standings import interval_text, number_text
    from pairup.analysis.tails import QUANTILES, tail_quantiles

    over = results.experiment.over
    frame = results.rows
    key, quantiles = ["experiment", "problem", "policy"], [*QUANTILES, "max"]
    means = mean_intervals(final(frame)).select(*key, "estimate", "low", "high")
    tails = tail_quantiles(frame).select(*key, *quantiles)
    rows = means.join(tails, on=key, maintain_order="left").drop("experiment").to_dicts()
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    spread = _QUANTILE_HEADS if Console().width >= _MIN_WIDTH else {}
    title = "Final regret" if over is None else f"Final regret, means over {over}"
    table = _table(title, ("problem", "policy", "mean", "95% interval", *spread), "problem")
    for row in sorted(rows, key=lambda row: problems.index(row["problem"])):
        table.add_row(
            escape(row["problem"]),
            escape(row["policy"]),
            f"{row['estimate']:,.1f}",
            interval_text(row["low"], row["high"]),
            *(number_text(row[name]) for name in spread.values()),
        )
    show(table)
    if spread:
        _show_missing_quantiles(frame)


def show_race(results: Results, as_json: bool) -> None:
    """Print a table for each problem, the best policy first."""
    from pairup.analysis.standings import BOTTOM_NOTE, TIMING_NOTE

    experiment, tables = results.experiment, results.standings
    curves = draw_sparklines(results.rows)
    if as_json:
        rows = [
            dataclasses.asdict(row) | {"curve": curves[row.problem, row.policy]}
            for table in tables.values()
            for row in table
        ]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    for problem, table in tables.items():
        size = f"{experiment.rounds:,} rounds, {experiment.replications} times"
        _show_standings(f"{problem}: {size}", table, curves)
    show(BOTTOM_NOTE, markup=False)
    show(TIMING_NOTE, markup=False)
    if Console().width >= _MIN_WIDTH:
        _show_missing_quantiles(results.rows)


def _show_standings(
    title: str, rows: Sequence[Standing], curves: Mapping[tuple[str, str], str]
) -> None:
    from pairup.analysis.standings import interval_text, number_text, ties

    wide = Console().width >= _MIN_WIDTH
    heads = ("rank", "policy", "regret", "95% interval", "bottom", "× limit", "ns")
    table = _table(title, (*heads, "95%", "99.9%", "over time") if wide else heads, "policy")
    for row in rows:
        table.add_row(
            str(row.rank),
            escape(row.policy),
            f"{row.estimate:,.1f}",
            interval_text(row.low, row.high),
            "–" if row.bottom_tenth is None else f"{row.bottom_tenth:.0%}",
            number_text(row.times_limit),
            number_text(row.nanoseconds, 0),
            *(
                [number_text(row.q95), number_text(row.q999), curves[row.problem, row.policy]]
                if wide
                else []
            ),
        )
    show(table)
    for policy, others in ties(rows).items():
        show(f"{policy}: no difference shown from {others}", markup=False, soft_wrap=True)


def _show_missing_quantiles(frame: pl.DataFrame) -> None:
    from pairup.analysis.tails import missing_quantiles

    said = missing_quantiles(frame["replication"].n_unique())
    if said:
        show(said, markup=False, soft_wrap=True)


def _table(title: str, heads: Iterable[str], wrapped: str) -> Table:
    """Make a table without rows: words to the left, numbers to the right, one column wrapped."""
    table = Table(title=title)
    for name in heads:
        side: Literal["left", "right"] = "left" if name in _WORDS else "right"
        table.add_column(name, justify=side, no_wrap=name != wrapped, overflow="fold")
    return table


def draw_sparklines(frame: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Draw regret over time as a line of text, by problem and policy.

    Both in log scale, on the same scale for all policies on a problem.
    """
    from pairup.analysis.means import mean_intervals

    drawn = {}
    for (problem,), curves in mean_intervals(frame).group_by("problem", maintain_order=True):
        highest = curves["estimate"].max()
        for (policy,), curve in curves.group_by("policy", maintain_order=True):
            drawn[str(problem), str(policy)] = _sparkline(
                curve["round"].to_numpy(), curve["estimate"].to_numpy(), highest
            )
    return drawn


def _sparkline(rounds: np.ndarray, regret: np.ndarray, highest: Any) -> str:
    times = np.geomspace(1, rounds[-1], _POINTS)
    heights = np.log1p(np.interp(times, rounds, regret)) / np.log1p(max(float(highest), 1e-9))
    steps = np.clip((heights * len(_BARS)).astype(int), 0, len(_BARS) - 1)
    return "".join(_BARS[step] for step in steps)
