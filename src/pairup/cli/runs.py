"""The commands that run experiments: reproduce, run."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairup.cli.app import AsJson, Cuda, app
from pairup.cli.output import show, show_finals

if TYPE_CHECKING:
    from pairup.simulation.simulate import Engine

_PAPER = ("experiment-1", "experiment-2")
_QUICK = {"rounds": 100_000, "replications": 8}

Dask = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Address of the Dask scheduler to run on.")
]


@app.command()
def reproduce(
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small size, in under two minutes.")
    ] = False,
    dask: Dask = "",
    cuda: Cuda = False,
) -> None:
    """Run the paper's two experiments, draw its figures, check its claims, write one page.

    You can stop it at any time; the same command resumes where it left off.

    Example: pairup reproduce --quick --out results
    """
    from pairup.cli.reports import show_report
    from pairup.experiments.experiment_file import load_experiment
    from pairup.experiments.runner import run_experiment

    experiments = [load_experiment(name) for name in _PAPER]
    if quick:
        experiments = [each.scaled(**_QUICK) for each in experiments]
    folders, results = [out / each.name for each in experiments], []
    with _executor(dask) as executor:
        for experiment, folder in zip(experiments, folders, strict=True):
            engine: Engine = "cuda" if cuda else "cpu"
            results.append(run_experiment(experiment, folder, executor, True, engine))
    show_report(out, results, folders)


@app.command()
def run(
    file: Annotated[str, typer.Argument(help="TOML file, or name of a shipped experiment.")],
    out: Annotated[Path, typer.Option(help="Folder of the results.")],
    rounds: Annotated[
        int | None, typer.Option(help="Rounds of each replication.", show_default="the file's")
    ] = None,
    replications: Annotated[
        int | None, typer.Option(help="Replications of each policy.", show_default="the file's")
    ] = None,
    dask: Dask = "",
    cuda: Cuda = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment, or what is left of it, into a folder.

    More --replications keep those that the folder has.

    Example: pairup run my-experiment.toml --out results/mine --rounds 10000
    """
    from pairup.experiments.experiment_file import load_experiment
    from pairup.experiments.runner import run_experiment

    experiment = load_experiment(file).scaled(rounds, replications)
    with _executor(dask) as executor:
        results = run_experiment(
            experiment, out, executor, progress=True, engine="cuda" if cuda else "cpu"
        )
    show_finals(results, as_json)
    summary = results.run
    if summary is not None and not as_json:
        show(
            f"{summary.computed} work units computed, {summary.reused} reused, "
            f"{summary.seconds:.1f} s; results in {out}"
        )


def _executor(address: str) -> AbstractContextManager[Executor | None]:
    from pairup.experiments.scheduler import dask_executor

    return dask_executor(address) if address else nullcontext()
