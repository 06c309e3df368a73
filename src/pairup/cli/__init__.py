"""The command line: thin, each command a few calls of the library."""

# In the order in which the help lists their commands.
from pairup.cli import experiments, players, serving  # noqa: F401  # they enter their commands
from pairup.cli.app import app, main

__all__ = ["app", "main"]
