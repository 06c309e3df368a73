"""Measure speed and memory: `python -m benchmarks [subject ...] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

SUBJECTS = (
    "rounds",
    "rivals",
    "rankings",
    "foreign",
    "sparse_matchings",
    "two_sides",
    "limit",
    "twins",
    "threads",
    "start",
    "memory",
    "learner",
    "fairness",
    "assessment",
    "storage",
    "service",
    "rules",
    "door",
    "pool_sizes",
    "pool_logs",
    "deployment",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "subjects",
        nargs="*",
        metavar="subject",
        help="one of " + ", ".join(SUBJECTS) + "; all by default",
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repetitions and coarser figures"
    )
    arguments = parser.parse_args()
    wrong = set(arguments.subjects) - set(SUBJECTS)
    if wrong:
        parser.error(
            f"unknown subject {', '.join(sorted(wrong))}: choose from {', '.join(SUBJECTS)}"
        )
    measured = {}
    for subject in arguments.subjects or SUBJECTS:
        module = importlib.import_module(f"benchmarks.{subject}")
        measured[subject] = module.measure(arguments.quick)
        _show(module.__doc__.splitlines()[0], measured[subject])
    path = Path("build/benchmarks.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": platform.processor()} | measured, indent=1))
    Console().print(f"written to {path}")


def _show(title: str, rows: list[dict[str, object]]) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if name in ("policy", "what") else "right")
    words = {True: "yes", False: "NO"}
    for row in rows:
        table.add_row(
            *(words.get(v, str(v)) if isinstance(v, bool) else str(v) for v in row.values())
        )
    Console().print(table)


main()
