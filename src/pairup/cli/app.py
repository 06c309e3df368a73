"""The application that commands are added to, and its exit codes."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from pairup.errors import PairupError

app = typer.Typer(
    name="pairup",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
settings = {"debug": False}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Cuda = Annotated[bool, typer.Option("--cuda", help="Play on an NVIDIA GPU; results are identical.")]
Seed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
Url = Annotated[str, typer.Option(help="Address of the service.")]
Key = Annotated[
    str | None, typer.Option(envvar="PAIRUP_KEY", help="API key, where the service needs one.")
]
LOCAL_URL = "http://localhost:8000"


def main() -> None:
    """Run the command line; a user error is one line and exit code 1."""
    try:
        app()
    except PairupError as error:
        if settings["debug"]:
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
    settings["debug"] = debug
