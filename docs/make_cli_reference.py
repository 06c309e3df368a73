"""Write docs/cli.md from the help of every command: `make docs`."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from pairup.cli import app

_HEAD = "# Command line\n\nMade by `make docs` from the help of each command.\n"


def reference() -> str:
    """Return the text of the reference."""
    pages = [_page([])]
    for name, command in typer.main.get_command(app).commands.items():
        pages += [
            _page([name]),
            *(_page([name, each]) for each in getattr(command, "commands", ())),
        ]
    return "\n".join([_HEAD, *pages])


def _page(command: list[str]) -> str:
    environment = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    shown = CliRunner(env=environment).invoke(app, [*command, "--help"], prog_name="pairup")
    text = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
    return f"## `{' '.join(['pairup', *command])}`\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    Path(__file__).with_name("cli.md").write_text(reference())
