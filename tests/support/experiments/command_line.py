"""The command line in a process of its own."""

import os
import subprocess
import sys


def pairup(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "pairup", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "120"},
        **options,
    )
