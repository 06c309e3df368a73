"""Cut the power of the service at thousands of moments: nothing acknowledged is lost.

    python -m benchmarks.power_cuts --cuts 5000

A served load is recorded once, beneath SQLite; each cut keeps what was synced and, of the rest,
nothing, everything, some writes or some sectors. Then the service starts on what is left.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.power_cuts", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--cuts", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=60, help="proposals in the load")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    from tests.support.service.power_cuts import choose_cuts, find_lost, serve_load

    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        served = Path(folder) / "served"
        served.mkdir()
        trace = serve_load(served, arguments.rounds)
        cuts = choose_cuts(trace, arguments.cuts, arguments.seed)
        lost = find_lost(trace, Path(folder) / "cut", cuts)
    counted = Counter(step[0] for step in trace.steps)
    print(dict(counted), f"{len(cuts)} cuts in {time.perf_counter() - began:.0f} s")
    print(f"lost: {lost or 'nothing'}")
    assert not lost


if __name__ == "__main__":
    main()
