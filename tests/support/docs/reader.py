"""A reader who does what a page says: saves its files, runs its code and its commands."""

import contextlib
import io
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from tests.support.docs.pages import Block, blocks
from tests.support.paths import SOURCES

_COMMANDS = {
    "curl": f'"{Path(__file__).with_name("curl.py")}"',
    "pairup": "-m pairup",
    "python3": "",
}


class Reader:
    """A person in a folder, with one shell and one Python session.

    Parameters
    ----------
    folder
        Where commands run and files are saved.
    replace
        Texts of the pages and what stands in their place, for example the service's address.
    """

    def __init__(self, folder, replace=None):
        self.folder, self.replace, self.names = folder, replace or {}, {}
        commands = folder / "bin"
        commands.mkdir()
        for name, run in _COMMANDS.items():
            (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {run} "$@"\n')
            (commands / name).chmod(0o755)
        path = f"{commands}:{os.environ['PATH']}"
        self.environment = os.environ | {"PATH": path, "PYTHONPATH": str(SOURCES)}
        self.printed = ""  # by commands of the shell

    def follow(self, page, instead=None):
        """Do all that the page says, and compare what Python prints with what the page shows.

        Parameters
        ----------
        page
            Its path in docs.
        instead
            By the first words of a block of commands, what is called in place of running it.
        """
        for block, after in pairwise([*blocks(page), Block("", "", "")]):
            text = block.text
            for old, new in self.replace.items():
                text = text.replace(old, new)
            if block.title:
                (self.folder / block.title).write_text(text)
            elif block.language == "python":
                printed = self._run_python(text)
                assert after.language != "text" or printed == after.text, printed
            elif block.language == "sh":
                calls = [call for words, call in (instead or {}).items() if text.startswith(words)]
                calls[0]() if calls else self._run_shell(text)

    def _run_python(self, text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):
            exec(compile(text, "page", "exec"), self.names)
        return printed.getvalue()

    def _run_shell(self, text):
        """Run a block; its variables are exported, so that the next block finds them."""
        variables = self.folder / "variables"
        done = subprocess.run(
            ["bash", "-c", f'set -eua\n{text}\nenv -0 >"{variables}"'],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        self.printed += done.stdout
        pairs = variables.read_text().rstrip("\0").split("\0")
        self.environment = dict(pair.split("=", 1) for pair in pairs)
