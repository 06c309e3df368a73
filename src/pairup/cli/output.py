"""What commands print: tables, or JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from pairup.analysis.analysis import Analysis
    from pairup.analysis.standings import Standing
    from pairup.experiments.results import Results

_QUANTILE_HEADS = {"median": "q50", "95%": "q95", "largest": "max"}
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
    from pairup.analysis.instances import average_instances
    from pairup.analysis.means import final, mean_intervals
    from pairup.analysis.tails import QUANTILES, tail_quantiles

    over = results.experiment.over
    frame = average_instances(results.frame, over)
    key, quantiles = ["experiment", "problem", "policy"], [*QUANTILES, "max"]
    means = mean_intervals(final(frame)).select(*key, "estimate", "low", "high")
    tails = tail_quantiles(frame).select(*key, *quantiles)
    rows = means.join(tails, on=key, maintain_order="left").drop("experiment").to_dicts()
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    table = Table(title="Final regret" if over is None else f"Final regret, means over {over}")
    spread = _QUANTILE_HEADS if Console().width >= _MIN_WIDTH else {}
    for name in ("problem", "policy", "mean", "95% interval", *spread):
        left = name in ("problem", "policy", "95% interval")
        table.add_column(
            name, justify="left" if left else "right", no_wrap=name != "problem", overflow="fold"
        )
    for row in sorted(rows, key=lambda row: problems.index(row["problem"])):
        table.add_row(
            escape(row["problem"]),
            escape(row["policy"]),
            f"{row['estimate']:,.1f}",
            _interval(row["low"], row["high"]),
            *(f"{row[name]:,.1f}" for name in spread.values()),
        )
    show(table)


def show_race(analysis: Analysis, as_json: bool) -> None:
    """Print a table for each problem, the best policy first."""
    from pairup.analysis.standings import TIMING_NOTE
    from pairup.cli.sparklines import draw_sparklines

    experiment, tables = analysis.results.experiment, analysis.standings
    curves = draw_sparklines(analysis.sample)
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
    show(TIMING_NOTE, markup=False)


def _show_standings(
    title: str, rows: Sequence[Standing], curves: Mapping[tuple[str, str], str]
) -> None:
    from pairup.analysis.standings import ties

    wide = Console().width >= _MIN_WIDTH
    table = Table(title=title)
    heads = ("rank", "policy", "regret", "95% interval", "× limit", "ns per round")
    for name in (*heads, "95%", "99.9%", "over time") if wide else heads:
        left = name in ("policy", "95% interval", "over time")
        table.add_column(
            name, justify="left" if left else "right", no_wrap=name != "policy", overflow="fold"
        )
    for row in rows:
        table.add_row(
            str(row.rank),
            escape(row.policy),
            f"{row.estimate:,.1f}",
            _interval(row.low, row.high),
            "–" if row.times_limit is None else f"{row.times_limit:,.1f}",
            "–" if row.nanoseconds is None else f"{row.nanoseconds:,.0f}",
            *(
                [f"{row.q95:,.1f}", f"{row.q999:,.1f}", curves[row.problem, row.policy]]
                if wide
                else []
            ),
        )
    show(table)
    for policy, others in ties(rows).items():
        show(f"{policy}: no difference shown from {others}", markup=False, soft_wrap=True)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None else f"{low:,.1f} to {high:,.1f}"
