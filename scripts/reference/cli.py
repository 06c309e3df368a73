"""The page of the command line, from the help of every command."""

import typer
from typer.testing import CliRunner

from pairup.cli import app
from scripts.reference.markdown import NOTICE

_HEAD = f"""# Command line

{NOTICE}

Every command and its options, as `pairup COMMAND --help` prints them.
"""


def page() -> str:
    """Return the text of the page."""
    sections = [_section([])]
    for name, command in typer.main.get_command(app).commands.items():
        children = getattr(command, "commands", ())
        sections += [_section([name]), *(_section([name, child]) for child in children)]
    return "\n".join([_HEAD, *sections])


def _section(command: list[str]) -> str:
    environment = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    shown = CliRunner(env=environment).invoke(app, [*command, "--help"], prog_name="pairup")
    text = "\n".join(line.rstrip() for line in shown.output.strip().splitlines())
    return f"## `{' '.join(['pairup', *command])}`\n\n```text\n{text}\n```\n"
