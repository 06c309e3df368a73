"""The commands of experiments: run, raced, drawn, reported."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from pairup.cli.app import AsJson, Seed, app
from pairup.cli.output import print_rows, show, show_finals, show_race
from pairup.errors import ExperimentError

if TYPE_CHECKING:
    from pairup.experiments.spec import Experiment

_PAPER = ("experiment-1", "experiment-2")
_PROBLEM = "around:mean=0.5,pairs=4,gap=0.1"  # of a race where none is given
_RACE_ROUNDS = 100_000
_QUICK = {"rounds": 100_000, "replications": 8}

Dask = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
]
Replications = Annotated[int, typer.Option(help="Replications of each policy.")]


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
    from pairup.experiments.spec import load_experiment

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
    from pairup.experiments.spec import load_experiment
    from pairup.experiments.storage import load_results

    experiment = load_experiment(file)
    with _engine(dask) as executor:
        summary = _run(experiment, out, executor)
    show_finals(load_results(out), as_json)
    if not as_json:
        show(
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
    from pairup.experiments.race import field_race, race_of
    from pairup.experiments.storage import load_results
    from pairup.experiments.timing import measure_timings, write_timings

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
            costs = measure_timings(experiment)
        write_timings(folder, experiment, costs)
        frame = load_results(folder)
        page = _write_report([folder], folder) if out else None
    show_race(experiment, frame, costs, as_json)
    if as_json:
        return
    for label, why in left_out.items():
        show(f"{label} left out: {why}", markup=False, soft_wrap=True)
    for path in _pages(experiment, page):
        show(path, markup=False, soft_wrap=True)


@app.command()
def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment's results.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the pictures.")] = None,
) -> None:
    """Draw the figures of an experiment as PNG, SVG and PDF.

    Example: pairup plot results/experiment-1
    """
    from pairup.experiments.storage import load_results, read_experiment
    from pairup.reporting.figures import draw

    target = out or folder / "figures"
    for picture in draw(read_experiment(folder), load_results(folder), target):
        show(f"{picture.stem}.png", soft_wrap=True)


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
    print_rows(rows, ("name", "options", "about"), as_json)


@app.command()
def problems(as_json: AsJson = False) -> None:
    """List the families of problems and their parameters.

    Example: pairup problems
    """
    from pairup.experiments.families import describe_families

    print_rows(describe_families(), ("family", "parameters", "about"), as_json)


def _run(experiment: Experiment, folder: Path, executor: Executor | None) -> Any:
    from pairup.experiments.runner import run_experiment

    return run_experiment(experiment, folder, executor, progress=True)


def _report(folders: Sequence[Path], out: Path) -> None:
    started = time.perf_counter()
    path = _write_report(folders, out)
    show(f"report: {path} (drawn in {time.perf_counter() - started:.1f} s)", soft_wrap=True)


def _write_report(folders: Sequence[Path], out: Path) -> Path:
    from pairup.experiments.storage import load_results, read_experiment
    from pairup.experiments.timing import read_timings
    from pairup.reporting.page import Making, write_report

    results = [(read_experiment(folder), load_results(folder)) for folder in folders]
    costs = {
        experiment.name: read_timings(folder, experiment)
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
    from pairup.experiments.storage import read_runs

    times = [run["seconds"] for folder in folders for run in read_runs(folder)]
    return sum(times) if times and None not in times else None


@contextmanager
def _engine(address: str) -> Iterator[Executor | None]:
    if not address:
        yield None
        return
    from pairup.experiments.runner import dask_executor

    with dask_executor(address) as executor:
        yield executor


@contextmanager
def _kept(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="pairup-") as folder:
        yield Path(folder)
