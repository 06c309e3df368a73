"""The commands that draw figures and write reports: plot, report."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pairup.cli.app import app
from pairup.cli.output import show

if TYPE_CHECKING:
    from pairup.analysis.analysis import Analysis
    from pairup.reporting.figures import Picture

    Draw = Callable[[Analysis], Sequence[Picture]]


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
    from pairup.analysis.analysis import Analysis
    from pairup.experiments.storage import read_results
    from pairup.reporting.figures import draw_figures, write_pictures

    analysis = Analysis(read_results(folder))
    pictures = draw_figures(analysis, figure or (), format or ("png",))
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
    from pairup.analysis.analysis import Analysis
    from pairup.experiments.storage import read_results
    from pairup.experiments.timings import read_timings

    analyses = []
    for folder in folders:
        results = read_results(folder)
        analyses.append(Analysis(results, read_timings(folder, results.experiment)))
    show_report(out, analyses, folders)


def show_report(
    out: Path, analyses: Sequence[Analysis], folders: Sequence[Path], draw: Draw | None = None
) -> None:
    """Write the page of some experiments and print its path."""
    started = time.perf_counter()
    path = write_page(out, analyses, folders, draw)
    show(f"report: {path} (drawn in {time.perf_counter() - started:.1f} s)", soft_wrap=True)


def write_page(
    out: Path, analyses: Sequence[Analysis], folders: Sequence[Path], draw: Draw | None = None
) -> Path:
    """Write the page of the experiments whose results are in these folders."""
    from pairup.reporting.figures import draw_figures
    from pairup.reporting.page import Provenance, write_report

    command = shlex.join(["pairup", *sys.argv[1:]])
    provenance = Provenance(command, _seconds(folders))
    return write_report(out, analyses, provenance, draw=draw or draw_figures)


def _seconds(folders: Sequence[Path]) -> float | None:
    """Add up the time that all runs into the folders took, if none was killed."""
    from pairup.experiments.storage import read_runs

    times = [run["seconds"] for folder in folders for run in read_runs(folder)]
    return sum(times) if times and None not in times else None
