"""The command line: thin, each command a few calls of the library."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pairup.errors import ExperimentError, PairupError

if TYPE_CHECKING:
    import polars as pl

    from pairup.costs import Costs
    from pairup.experiment import Experiment
    from pairup.standings import Standing

app = typer.Typer(
    name="pairup",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
_settings = {"debug": False}
_WIDE = 100  # letters of a terminal in which curves have room

_PAPER = ("experiment-1", "experiment-2")
_PROBLEM = "around:mean=0.5,pairs=4,gap=0.1"  # of a race where none is given
_RACE_ROUNDS = 100_000
_QUICK = {"rounds": 100_000, "replications": 8}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Dask = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
]
Replications = Annotated[int, typer.Option(help="Replications of each policy.")]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.")]


def main() -> None:
    """Run the command line; errors of the user's making are one line and exit code 1."""
    try:
        app()
    except PairupError as error:
        if _settings["debug"]:
            raise
        typer.echo(f"pairup: {error}", err=True)
        sys.exit(1)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pairup {version('pairup')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Learn who to pair with whom.

    Exit codes: 0 done, 1 an error that one line explains, 2 wrong usage, 130 interrupted.
    """
    _settings["debug"] = debug


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    quick: Annotated[bool, typer.Option("--quick", help="Small, in under two minutes.")] = False,
    dask: Dask = "",
) -> None:
    """Run the paper's two experiments, draw its figures, check its claims, write one page.

    Stop it as you like: the same command goes on where it was.

    Example: pairup reproduce --quick --out results
    """
    from pairup.experiment import load_experiment

    experiments = [load_experiment(name) for name in _PAPER]
    if quick:
        experiments = [each.scaled(**_QUICK) for each in experiments]
    folders = [out / each.name for each in experiments]
    with _engine(dask) as executor:
        for experiment, folder in zip(experiments, folders, strict=True):
            _run(experiment, folder, executor)
    _report(folders, out)


@app.command()
def run(
    file: Annotated[str, typer.Argument(help="A TOML file, or a shipped experiment's name.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")],
    dask: Dask = "",
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or what is left of it, into a folder.

    Example: pairup run my-experiment.toml --out results/mine
    """
    from pairup.experiment import load_experiment
    from pairup.results import load_results

    experiment = load_experiment(file)
    with _engine(dask) as executor:
        summary = _run(experiment, out, executor)
    _show_finals(load_results(out), as_json)
    if not as_json:
        _show(
            f"{summary.computed} blocks computed, {summary.reused} reused, "
            f"{summary.seconds:.1f} s; results in {out}"
        )


@app.command()
def race(  # noqa: PLR0913 - a parameter is an option
    policies: Annotated[
        list[str] | None, typer.Argument(help="Policies as name or name:option=value,...")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Every policy, on the problems of experiment field.")
    ] = False,
    problem: Annotated[
        str,
        typer.Option(
            help="A problem as family:parameter=value,...",
            show_default=f"{_PROBLEM}; with --all those of field",
        ),
    ] = "",
    rates: Annotated[str, typer.Option(help="Acceptance rates in place of --problem.")] = "",
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Rounds of each replication.", show_default="100,000; with --all 1,000,000"
        ),
    ] = None,
    replications: Replications = 20,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option(help="Keep results, pictures and a page here.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let policies play on common random numbers: a table, curves, what a round costs.

    With --out an interrupted race goes on where it was.

    Example: pairup race sam unimodal unimodal:compare=matchings,index=ucb --rates 0.9,0.8,0.3,0.1

    Example: pairup race --all --rounds 20000 --out results/field
    """
    from pairup.costs import measure_costs, write_costs
    from pairup.race import field_race, race_of
    from pairup.results import load_results

    posed = f"rates:rates=[{rates}]" if rates else problem
    left_out: dict[str, str] = {}
    if everyone and policies:
        raise ExperimentError(f"--all races every policy: leave it out, or {policies[0]!r}")
    if everyone:
        experiment, left_out = field_race(posed, rounds, replications, seed)
    else:
        named = policies or ["sam", "unimodal:compare=matchings", "unimodal"]
        length = _RACE_ROUNDS if rounds is None else rounds
        experiment = race_of(named, posed or _PROBLEM, length, replications, seed)
    with _kept(out) as folder:
        _run(experiment, folder, None)
        with Console(stderr=True).status("timing a round of each policy"):
            costs = measure_costs(experiment)
        write_costs(folder, experiment, costs)
        frame = load_results(folder)
        page = _write_report([folder], folder) if out else None
    _show_race(experiment, frame, costs, as_json)
    if as_json:
        return
    for label, why in left_out.items():
        _show(f"{label} left out: {why}", markup=False, soft_wrap=True)
    for path in _pages(experiment, page):
        _show(path, markup=False, soft_wrap=True)


@app.command()
def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment's results.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the pictures.")] = None,
) -> None:
    """Draw the figures of an experiment as PNG, SVG and PDF.

    Example: pairup plot results/experiment-1
    """
    from pairup.figures import draw
    from pairup.results import load_results, read_experiment

    target = out or folder / "figures"
    for picture in draw(read_experiment(folder), load_results(folder), target):
        _show(f"{picture.stem}.png", soft_wrap=True)


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders of experiments' results.")],
    out: Annotated[Path, typer.Option(help="Folder of report.html.")] = Path("results"),
) -> None:
    """Write one self-contained page about finished experiments.

    Example: pairup report results/experiment-1 results/experiment-2
    """
    _report(folders, out)


@app.command()
def policies(as_json: AsJson = False) -> None:
    """List the policies and their options.

    Example: pairup policies --json
    """
    from pairup.policies import describe_policies

    rows = describe_policies()
    _print_rows(rows, ("name", "options", "about"), as_json)


@app.command()
def problems(as_json: AsJson = False) -> None:
    """List the families of problems and their parameters.

    Example: pairup problems
    """
    from pairup.families import describe_families

    _print_rows(describe_families(), ("family", "parameters", "about"), as_json)


def _show(what: Any, **options: Any) -> None:
    Console().print(what, **options)  # made anew, for the terminal as wide as it is now


def _run(experiment: Experiment, folder: Path, executor: Executor | None) -> Any:
    from pairup.sweep import run_experiment

    return run_experiment(experiment, folder, executor, progress=True)


def _report(folders: Sequence[Path], out: Path) -> None:
    started = time.perf_counter()
    path = _write_report(folders, out)
    _show(f"report: {path} (drawn in {time.perf_counter() - started:.1f} s)", soft_wrap=True)


def _write_report(folders: Sequence[Path], out: Path) -> Path:
    from pairup.costs import read_costs
    from pairup.report import Making, write_report
    from pairup.results import load_results, read_experiment

    results = [(read_experiment(folder), load_results(folder)) for folder in folders]
    costs = {
        experiment.name: read_costs(folder, experiment)
        for folder, (experiment, _) in zip(folders, results, strict=True)
    }
    return write_report(out, results, Making(_command(), _seconds(folders)), costs=costs)


def _pages(experiment: Experiment, page: Path | None) -> list[str]:
    """Say where the page of a race and its pictures are."""
    if page is None:
        return []
    pictures = [
        page.parent / "figures" / f"{experiment.name}-{figure.name}.png"
        for figure in experiment.figures
    ]
    return [f"report: {page}", *(f"picture: {picture}" for picture in pictures)]


def _command() -> str:
    return shlex.join(["pairup", *sys.argv[1:]])


def _seconds(folders: Sequence[Path]) -> float | None:
    """Add up the time that all runs into the folders took, if none was killed."""
    from pairup.results import read_runs

    times = [run["seconds"] for folder in folders for run in read_runs(folder)]
    return sum(times) if times and None not in times else None


@contextmanager
def _engine(address: str) -> Iterator[Executor | None]:
    if not address:
        yield None
        return
    from pairup.sweep import dask_executor

    with dask_executor(address) as executor:
        yield executor


@contextmanager
def _kept(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="pairup-") as folder:
        yield Path(folder)


def _show_finals(frame: pl.DataFrame, as_json: bool) -> None:
    """Print mean final regret of each policy on each problem."""
    from pairup.statistics import final, mean_intervals

    means = mean_intervals(final(frame)).select("problem", "policy", "estimate", "low", "high")
    if as_json:
        typer.echo(json.dumps(means.to_dicts(), indent=1))
        return
    table = Table(title="Final regret")
    for name in ("problem", "policy", "regret", "95% interval"):
        table.add_column(name, justify="right" if name == "regret" else "left")
    for row in means.to_dicts():
        table.add_row(
            escape(row["problem"]),
            escape(row["policy"]),
            f"{row['estimate']:,.1f}",
            _interval(row["low"], row["high"]),
        )
    _show(table)


def _show_race(experiment: Experiment, frame: pl.DataFrame, costs: Costs, as_json: bool) -> None:
    from pairup.race import sparklines
    from pairup.standings import COSTS_MEASURED, standings

    tables, curves = standings(experiment, frame, costs), sparklines(frame)
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
    _show(COSTS_MEASURED, markup=False)


def _show_standings(
    title: str, rows: Sequence[Standing], curves: Mapping[tuple[str, str], str]
) -> None:
    from pairup.standings import ties

    wide = Console().width >= _WIDE
    table = Table(title=title)
    for name in ("rank", "policy", "regret", "95% interval", "× limit", "ns a round"):
        right = name not in ("policy", "95% interval")
        table.add_column(
            name, justify="right" if right else "left", no_wrap=name != "policy", overflow="fold"
        )
    if wide:
        table.add_column("over time", no_wrap=True)
    for row in rows:
        table.add_row(
            str(row.rank),
            escape(row.policy),
            f"{row.estimate:,.1f}",
            _interval(row.low, row.high),
            "–" if row.times_limit is None else f"{row.times_limit:,.1f}",
            "–" if row.nanoseconds is None else f"{row.nanoseconds:,.0f}",
            *([curves[row.problem, row.policy]] if wide else []),
        )
    _show(table)
    for policy, others in ties(rows).items():
        _show(f"{policy}: no difference shown from {others}", markup=False, soft_wrap=True)


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None else f"{low:,.1f} to {high:,.1f}"


def _print_rows(rows: Sequence[dict[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    table = Table()
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(escape(str(row[column])) for column in columns))
    _show(table)


if __name__ == "__main__":
    main()
