"""Two processes, two pools, one database: memory, log and snapshots agree after every step.

    python -m benchmarks.service_states --runs 200

The state machine of the tests, with longer runs, and drawn at random each time. A run that fails is
printed step by step.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service_states", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--runs", type=int, default=200, help="runs on each kind of database")
    parser.add_argument("--steps", type=int, default=60, help="maximum number of steps in a run")
    arguments = parser.parse_args()
    from tests.support.service.postgres import Server

    server = Server()
    try:
        found = {
            name: _run(each, arguments.runs, arguments.steps)
            for name, each in (("sqlite", None), ("postgresql", server))
        }
    finally:
        server.remove()
    path = Path("build/service_states.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
    print(f"all agreed; written to {path}")


def _run(server: Any, runs: int, steps: int) -> dict[str, float]:
    import structlog
    from hypothesis.stateful import run_state_machine_as_test

    from tests.support.service.two_processes import Machine, machine_settings

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    began, counted, numbers = time.perf_counter(), Counter[str](), itertools.count()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:

        def start() -> Machine:
            own = Path(folder) / str(next(numbers))
            own.mkdir()
            database = server.emptied_database() if server else str(own / "pools.db")
            return Machine(database, own / "archives", counted)

        drawn = machine_settings(runs, steps, derandomize=False)
        run_state_machine_as_test(start, settings=drawn)
    print("postgresql" if server else "sqlite", dict(counted), flush=True)
    return dict(counted) | {"seconds": round(time.perf_counter() - began)}


if __name__ == "__main__":
    main()
