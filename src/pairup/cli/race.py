"""The command that races policies: race."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from pairup.cli.app import AsJson, Cuda, Seed, app
from pairup.cli.output import show, show_race
from pairup.errors import ExperimentError

if TYPE_CHECKING:
    from pairup.analysis.analysis import Analysis
    from pairup.simulation.simulate import Engine


@app.command()
def race(  # noqa: PLR0913 - a parameter is an option
    policies: Annotated[
        list[str] | None,
        typer.Argument(help="Policies as name or name:option=value,...; your own as module:Class."),
    ] = None,
    everyone: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Race every policy, on the two problems of the shipped experiment `field`; on a "
            "problem of two sides those of `field-two-sided`.",
        ),
    ] = False,
    problem: Annotated[
        str,
        typer.Option(
            help="Problem as family:parameter=value,...",
            show_default="around:mean=0.5,pairs=4,gap=0.1; with --all those of field",
        ),
    ] = "",
    rates: Annotated[
        str,
        typer.Option(
            help="Acceptance rates in place of --problem; a matrix of the rates of couples has a "
            "semicolon between its rows."
        ),
    ] = "",
    rows: Annotated[
        str,
        typer.Option(help="Acceptance rates of one of two sides; the other side is --columns."),
    ] = "",
    columns: Annotated[
        str, typer.Option(help="Acceptance rates of the other side, for example of positions.")
    ] = "",
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Rounds of each replication.",
            show_default="100,000; with --all the field's",
        ),
    ] = None,
    replications: Annotated[int, typer.Option(help="Replications of each policy.")] = 20,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder to keep results, pictures and a page in.")
    ] = None,
    cuda: Cuda = False,
    as_json: AsJson = False,
) -> None:
    """Race policies on common random numbers: a table, curves, and the time per round.

    With --out you can stop it at any time; the same command resumes where it left off.

    Example: pairup race sam unimodal unimodal:compare=matchings,index=ucb --rates 0.9,0.8,0.3,0.1

    Example: pairup race comb_ucb rank_one_thompson --rows .3,.2,.15,.1,.1 --columns 1,.6,.3

    Example: pairup race --all --rounds 20000 --out results/field
    """
    from pairup.analysis.analysis import Analysis
    from pairup.experiments.race import build_race, rates_spec, sides_spec
    from pairup.experiments.runner import run_experiment
    from pairup.experiments.timings import measure_timings

    posed = rates_spec(rates) if rates else problem
    if rows or columns:
        if posed:
            given = "--rates" if rates else "--problem"
            raise ExperimentError(f"--rows and --columns are a problem: leave out {given}")
        posed = sides_spec(rows, columns)
    race = build_race(policies or (), posed, rounds, replications, seed, everyone)
    engine: Engine = "cuda" if cuda else "cpu"
    results = run_experiment(race.experiment, out, progress=True, engine=engine).results
    with Console(stderr=True).status("timing a round of each policy"):
        timings = measure_timings(race.experiment)
    analysis = Analysis(results, timings)
    kept = [] if out is None else _keep(out, analysis)
    show_race(analysis, as_json)
    if as_json:
        return
    for label, why in race.left_out.items():
        show(f"{label} left out: {why}", markup=False, soft_wrap=True)
    for line in kept:
        show(line, markup=False, soft_wrap=True)


def _keep(out: Path, analysis: Analysis) -> list[str]:
    """Write the timings, pictures and page of a race; returns where they are."""
    from pairup.cli.reports import write_page
    from pairup.experiments.timings import write_timings

    experiment = analysis.results.experiment
    write_timings(out, experiment, analysis.timings)
    page = write_page(out, [analysis], [out])
    pictures = (f"{experiment.name}-{figure.name}.png" for figure in experiment.figures)
    return [f"report: {page}", *(f"picture: {out / 'figures' / name}" for name in pictures)]
