"""The commands that draw figures and write reports: plot, report."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairup.cli.app import app
from pairup.cli.output import show

if TYPE_CHECKING:
    from pairup.experiments.results import Results


@app.command()
def plot(
    folder: Annotated[Path, typer.Argument(help="Folder of an experiment's results.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the pictures.", show_default="FOLDER/figures")
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(help="Name of a figure to draw; may be repeated.", show_default="all"),
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(help="Format, png, svg or pdf; may be repeated.", show_default="png"),
    ] = None,
) -> None:
    """Draw the figures of an experiment.

    Example: pairup plot results/experiment-1 --figure final --format pdf --format svg
    """
    from pairup.experiments.storage import load_results
    from pairup.reporting.figures import draw_figures, write_pictures

    pictures = draw_figures(load_results(folder), figure or (), format or ("png",))
    for path in write_pictures(pictures, out or _beside(folder)):
        show(path, soft_wrap=True)


def _beside(results: Path) -> Path:
    """Return the folder for the pictures of results, which may be a file."""
    return (results if results.is_dir() else results.parent) / "figures"


@app.command()
def report(
    folders: Annotated[list[Path], typer.Argument(help="Folders of experiments' results.")],
    out: Annotated[Path, typer.Option(help="Folder of report.html.")] = Path("results"),
) -> None:
    """Write one self-contained page about finished experiments.

    Example: pairup report results/experiment-1 results/experiment-2
    """
    from pairup.experiments.storage import load_results

    show_report(out, [load_results(folder) for folder in folders], folders)


def show_report(out: Path, results: Sequence[Results], folders: Sequence[Path]) -> None:
    """Write the page of some experiments and print its path."""
    started = time.perf_counter()
    path = write_page(out, results, folders)
    show(f"report: {path} (drawn in {time.perf_counter() - started:.1f} s)", soft_wrap=True)


def write_page(out: Path, results: Sequence[Results], folders: Sequence[Path]) -> Path:
    """Write the page of the experiments whose results are in these folders."""
    from pairup.reporting.page import Provenance, write_report

    command = shlex.join(["pairup", *sys.argv[1:]])
    provenance = Provenance(command, _seconds(folders))
    return write_report(out, results, provenance)


def _seconds(folders: Sequence[Path]) -> float | None:
    """Add up the time that all runs into the folders took, if none was killed."""
    from pairup.experiments.storage import read_runs

    times = [run["seconds"] for folder in folders for run in read_runs(folder)]
    return sum(times) if times and None not in times else None
