import subprocess
import sys

import pytest

from pairup.cli import main


@pytest.fixture
def call(monkeypatch, capsys):
    """Run a command in this process, which spares the start of another."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pairup", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return run
