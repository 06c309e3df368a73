"""The command line: each command is a few calls of the library."""

# In the order in which the help lists their commands, not in that of the alphabet (I001);
# importing a module adds its commands (F401).
from pairup.cli import runs, race, reports, listings, assessing  # noqa: F401, I001
from pairup.cli import players, imports, serving, evaluating  # noqa: F401
from pairup.cli.app import app, main

__all__ = ["app", "main"]
