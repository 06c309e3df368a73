"""The log of runs: when, where and for how long an experiment ran, in ``run.json``.

It is apart from the data, which must not change with the time that they took.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pairup.experiments.atomic_files import write_atomically

_FILE = "run.json"
_PACKAGES = ("pairup", "numpy", "numba", "polars", "scipy", "matplotlib")


class RunLog:
    """The log of the runs into a folder, to which this one is added."""

    def __init__(self, folder: Path, engine: str) -> None:
        self._path = folder / _FILE
        self._runs = read_runs(folder)
        self._runs.append(
            {
                "started": datetime.now(UTC).isoformat(timespec="seconds"),
                "seconds": None,  # stays so when the run is killed
                "command": sys.argv,
                "engine": engine,
                "cores": os.cpu_count(),
                "machine": platform.platform(),
                "versions": installed_versions(),
            }
        )
        self._write()

    def end(self, **facts: Any) -> None:
        """Add what is known only at the end of the run."""
        self._runs[-1] |= facts
        self._write()

    def _write(self) -> None:
        write_atomically(self._path, json.dumps({"runs": self._runs}, indent=1).encode())


def read_runs(folder: str | Path) -> list[dict[str, Any]]:
    """Read what is known of each run into the folder, the oldest first."""
    with suppress(OSError, KeyError, TypeError, json.JSONDecodeError):
        return list(json.loads((Path(folder) / _FILE).read_bytes())["runs"])
    return []


def installed_versions() -> dict[str, str]:
    """Return the versions of what computes: Python and the packages that matter."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
