"""The commands that list what there is: policies, problems, shipped experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairup.cli.app import AsJson, app
from pairup.cli.output import print_rows, show

experiments_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    experiments_app, name="experiments", help="List and copy the experiments that come with pairup."
)


@app.command()
def policies(as_json: AsJson = False) -> None:
    """List the policies and their options.

    Example: pairup policies --json
    """
    from pairup.policies import describe_policies

    print_rows(describe_policies(), ("name", "options", "about"), as_json)


@app.command()
def problems(as_json: AsJson = False) -> None:
    """List the families of problems and their parameters.

    Example: pairup problems
    """
    from pairup.problem.declaration import describe_families

    print_rows(describe_families(), ("family", "parameters", "about"), as_json)


@experiments_app.command("list")
def list_experiments(as_json: AsJson = False) -> None:
    """List the shipped experiments.

    Example: pairup experiments list
    """
    from pairup.experiments.experiment_file import load_experiment, shipped_experiments

    rows = [
        {
            "name": each.name,
            "title": each.title,
            "problems": len(each.problems),
            "policies": len(each.entries),
            "rounds": each.rounds,
            "replications": each.replications,
        }
        for each in map(load_experiment, shipped_experiments())
    ]
    print_rows(rows, ("name", "title", "rounds", "replications"), as_json)


@experiments_app.command("copy")
def copy(
    name: Annotated[str, typer.Argument(help="Name of a shipped experiment.")],
    file: Annotated[
        Path | None, typer.Argument(help="Path of the copy.", show_default="NAME.toml")
    ] = None,
) -> None:
    """Copy the file of a shipped experiment, to start one of your own from.

    Example: pairup experiments copy random-problems mine.toml
    """
    from pairup.experiments.experiment_file import copy_experiment

    show(copy_experiment(name, file), soft_wrap=True)
