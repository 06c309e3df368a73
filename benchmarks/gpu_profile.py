"""What limits each policy on a GPU, by the figures of NVIDIA's profiler.

    python -m benchmarks.gpu_profile

Needs Nsight Compute (`ncu`) and the right to read the counters of the card. Each row is one launch
of some rounds, after a few hundred others, of as many replications as fit at once. `bytes` go to
and from the card's memory per round; `instructions` are those of a warp per round; `issued` is the
share of the slots for instructions that were used; `threads` is how many of a warp's 32 execute an
instruction, on average. The rest says what a warp waits for, as shares of its time.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys

from benchmarks.gpu import BUDGET, POLICIES, problem
from pairup.simulation.batches.batch import Batch
from pairup.simulation.batches.memory import DeviceMemory

WARM_UP, ROUNDS, HORIZON = 400, 20, 10_000
REPLICATIONS = 33_792  # 256 on each of the 132 multiprocessors of an H200
_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = {
    "bytes": "dram__bytes.sum",
    "bandwidth": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "second cache": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "instructions": "smsp__inst_executed.sum",
    "issued": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "threads": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "memory": _STALL.format("long_scoreboard"),
    "code": _STALL.format("no_instruction"),
    "arithmetic": _STALL.format("wait"),
    "all": "smsp__average_warp_latency_per_inst_issued.ratio",
}
NUMBERS = ("bytes", "of bandwidth", "of 2nd cache", "instructions", "issued", "threads")
WAITS = ("memory", "code", "arithmetic")


def play(name: str, pairs: int) -> None:
    """Play one row: three launches, of which the last is profiled."""
    numbers = range(REPLICATIONS)
    batch = Batch(problem(pairs), POLICIES[name], HORIZON, 0, numbers, DeviceMemory())
    batch.play_to(WARM_UP)
    batch.play_to(WARM_UP + ROUNDS)


def profile(name: str, pairs: int) -> dict[str, float]:
    """Return the metrics of the third launch of a row, by their names in `METRICS`."""
    profiler = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--print-units", "base"]
    which = ["--launch-skip", "2", "--launch-count", "1", "--metrics", ",".join(METRICS.values())]
    program = [sys.executable, "-m", "benchmarks.gpu_profile", "--play", name, str(pairs)]
    done = subprocess.run([*profiler, *which, *program], capture_output=True, text=True, check=True)
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    heads, _, values = csv.reader(table)
    found = dict(zip(heads, values, strict=True))
    return {name: float(found[metric].replace(",", "")) for name, metric in METRICS.items()}


def row(name: str, pairs: int) -> list[str]:
    """Write a row of the table."""
    found, played = profile(name, pairs), REPLICATIONS * ROUNDS
    return [
        name,
        str(pairs),
        f"{found['bytes'] / played:,.0f}",
        f"{found['bandwidth']:.0f}%",
        f"{found['second cache']:.0f}%",
        f"{32 * found['instructions'] / played:,.0f}",
        f"{found['issued']:.0f}%",
        f"{found['threads']:.0f}",
        *(f"{found[wait] / found['all']:.0%}" for wait in WAITS),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--play", nargs=2, metavar=("POLICY", "L"), help="only play one row")
    given = parser.parse_args()
    if given.play:
        play(given.play[0], int(given.play[1]))
        return
    if shutil.which("ncu") is None:
        parser.error("ncu, of NVIDIA's Nsight Compute, is not on the path: install it")
    heads = ["policy", "L", *NUMBERS, *(f"waits for {wait}" for wait in WAITS)]
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    for name, pairs in BUDGET:
        print("| " + " | ".join(row(name, pairs)) + " |", flush=True)


if __name__ == "__main__":
    main()
