"""The command that races policies: race."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pairup.cli.app import AsJson, Cuda, Seed, app
from pairup.cli.output import show, show_race
from pairup.errors import ExperimentError

if TYPE_CHECKING:
    from pairup.experiments.experiment import Experiment
    from pairup.experiments.results import Bottoms, Results

_POLICIES = ("sam", "unimodal:compare=matchings", "unimodal")
_PROBLEM = "around:mean=0.5,pairs=4,gap=0.1"
_ROUNDS = 100_000


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
    from pairup.experiments.timings import measure_timings

    posed = _problem_text(problem, rates, rows, columns)
    settings: dict[str, Any] = {"replications": replications, "seed": seed, "out": out}
    settings |= {"progress": True, "engine": "cuda" if cuda else "cpu"}
    left_out: dict[str, str] = {}
    if everyone:
        results, left_out = _race_everyone(policies or (), posed, rounds, settings)
    else:
        results = _race_named(policies or _POLICIES, posed or _PROBLEM, rounds, settings)
    with Console(stderr=True).status("timing a round of each policy"):
        timings = measure_timings(results.experiment)
    with Console(stderr=True).status("looking at the players with the lowest rates"):
        bottoms = _measure_bottoms(results.experiment)
    results = dataclasses.replace(results, timings=timings, bottoms=bottoms)
    kept = [] if out is None else _keep(out, results)
    show_race(results, as_json)
    if as_json:
        return
    for label, why in left_out.items():
        show(f"{label} left out: {why}", markup=False, soft_wrap=True)
    for line in kept:
        show(line, markup=False, soft_wrap=True)


def _problem_text(problem: str, rates: str, rows: str, columns: str) -> str:
    """Return the problem that the options describe, in one text."""
    from pairup.cli.specs import rates_spec, sides_spec

    posed = rates_spec(rates) if rates else problem
    if not (rows or columns):
        return posed
    if posed:
        given = "--rates" if rates else "--problem"
        raise ExperimentError(f"--rows and --columns are a problem: leave out {given}")
    return sides_spec(rows, columns)


def _race_named(
    policies: Sequence[str], problem: str, rounds: int | None, settings: dict[str, Any]
) -> Results:
    from pairup.cli.specs import read_policies, read_problem
    from pairup.experiments.compare import compare

    entrants, posed = read_policies(policies), read_problem(problem)
    return compare(posed, entrants, _ROUNDS if rounds is None else rounds, **settings)


def _race_everyone(
    policies: Sequence[str], problem: str, rounds: int | None, settings: dict[str, Any]
) -> tuple[Results, dict[str, str]]:
    """Race every policy of the field; returns also why some of them cannot play the problem."""
    from pairup.cli.specs import read_problem
    from pairup.experiments.compare import compare
    from pairup.experiments.experiment_file import load_experiment
    from pairup.experiments.runner import run_experiment
    from pairup.policies.contract import split_by_fit

    if policies:
        raise ExperimentError(f"--all races every policy: leave it out, or {policies[0]!r}")
    posed = read_problem(problem) if problem else None
    two_sided = posed is not None and posed.sides is not None
    field = load_experiment("field-two-sided" if two_sided else "field")
    if posed is None:
        size, where = ("replications", "seed"), ("out", "progress", "engine")
        field = dataclasses.replace(field.scaled(rounds), **{key: settings[key] for key in size})
        return run_experiment(field, **{key: settings[key] for key in where}), {}
    entrants = {entry.label: entry.policy for entry in field.entries}
    able, left_out = split_by_fit(entrants, posed)
    return compare(posed, able, field.rounds if rounds is None else rounds, **settings), left_out


def _measure_bottoms(experiment: Experiment) -> Bottoms:
    """Measure what is left to the bottom tenth of the players, in the first replication of each."""
    from pairup.simulation.bottom_tenth import measure_bottom_tenth

    rounds, seed = experiment.rounds, experiment.seed
    return {
        (posed.problem.name, entry.label): measure_bottom_tenth(
            posed.problem, entry.policy, rounds, seed
        ).share
        for entry in experiment.entries
        for posed in experiment.problems
    }


def _keep(out: Path, results: Results) -> list[str]:
    """Write the timings, pictures and page of a race; returns where they are."""
    from pairup.cli.reports import write_page
    from pairup.experiments.timings import write_timings

    experiment = results.experiment
    write_timings(out, experiment, results.timings)
    page = write_page(out, [results], [out])
    pictures = (f"{experiment.name}-{figure.name}.png" for figure in experiment.figures)
    return [f"report: {page}", *(f"picture: {out / 'figures' / name}" for name in pictures)]
