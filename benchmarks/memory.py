"""Memory of one replication, and how much more it needs for a hundred times the rounds.

python -m benchmarks memory
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.workloads import POLICIES

_SCRIPT = """
import resource
from benchmarks.workloads import POLICIES, play
play(POLICIES["{name}"], 10, 1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
play(POLICIES["{name}"], 10, {rounds})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def measure(quick: bool) -> list[dict[str, object]]:
    long = 100_000 if quick else 1_000_000
    rows = []
    for name in POLICIES:
        short_kib, long_kib = (_grown(name, rounds) for rounds in (10_000, long))
        rows.append(
            {
                "policy": name,
                "KiB more after 10,000 rounds": short_kib,
                f"after {long:,} rounds": long_kib,
            }
        )
    return rows


def _grown(name: str, rounds: int) -> int:
    command = [sys.executable, "-c", _SCRIPT.format(name=name, rounds=rounds)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
