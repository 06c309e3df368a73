"""Rounds per second on a GPU, against one core in the same run, and whether the bits are the same.

    python -m benchmarks.gpu

From a cold start of the data: the time to start all replications and to copy them is counted,
compilation is not. `start` is its share. The bits are compared on 1,000 replications.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from pairup import SAM, Policy, Problem, RankOneThompson, Unimodal, UnimodalThompson, simulate
from pairup.experiments.timings import time_rounds
from pairup.simulation.batches.batch import Batch
from pairup.simulation.batches.memory import DeviceMemory
from pairup.simulation.compilation import compile_loops
from pairup.simulation.playthrough import play_replications

POLICIES: dict[str, Policy] = {
    "V2 UCB": Unimodal(index="ucb", clock="round"),
    "SAM": SAM(),
    "Rank one": RankOneThompson(),
    "V2 KL": Unimodal(),
    "UTS": UnimodalThompson(),
}
PAIRS = (4, 10)
ROUNDS, REPLICATIONS, COMPARED = 10_000, 65_536, 1_000
BUDGET = {
    ("V2 UCB", 4): 8e8,
    ("V2 UCB", 10): 2e8,
    ("SAM", 4): 3e9,
    ("SAM", 10): 1e9,
    ("Rank one", 4): 2.5e8,
    ("Rank one", 10): 4e7,
}


def measure(rounds: int, replications: int) -> Iterator[dict[str, str]]:
    """Measure each policy for each number of couples."""
    chosen = [(name, pairs) for name in POLICIES for pairs in PAIRS]
    compile_loops((problem(PAIRS[0]), policy) for policy in POLICIES.values())
    with ThreadPoolExecutor(32) as pool:  # compiled for the GPU, side by side
        list(pool.map(lambda each: _play(*each, 1, 1), chosen))
    for name, pairs in chosen:
        yield _row(name, pairs, rounds, replications)


def _play(name: str, pairs: int, rounds: int, replications: int) -> tuple[Batch, float]:
    """Play; returns the batch, and when all replications had been started."""
    batch = Batch(problem(pairs), POLICIES[name], rounds, 0, range(replications), DeviceMemory())
    started = time.perf_counter()
    batch.play_to(rounds)
    return batch, started


def problem(pairs: int) -> Problem:
    """Return the problem with this number of couples."""
    return Problem.from_zero(pairs, 0.1)


def _row(name: str, pairs: int, rounds: int, replications: int) -> dict[str, str]:
    played, policy = problem(pairs), POLICIES[name]
    began = time.perf_counter()
    batch, started = _play(name, pairs, rounds, replications)
    seconds = time.perf_counter() - began
    rate = rounds * replications / seconds
    play_replications(played, policy, 1, range(1), 0, [1])  # compiled
    nanoseconds, _ = time_rounds(played, policy, rounds, seconds=1.0)
    expected = simulate(played, policy, rounds, COMPARED, checkpoints=[rounds])
    same = np.array_equal(batch.regret[:COMPARED], expected.regret[:, -1])
    budget = BUDGET.get((name, pairs))
    return {
        "policy": name,
        "L": str(pairs),
        "rounds per second": f"{rate:.2e}",
        "start": f"{(started - began) / seconds:.0%}",
        "ns per round of a core": f"{nanoseconds:.0f}",
        "times a core": f"{rate * nanoseconds / 1e9:.0f}",
        "same bits": "yes" if same else "NO",
        "budget": f"{budget:.1e}" if budget else "",
        "bytes of a replication": f"{batch.nbytes / replications:.0f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    given = parser.parse_args()
    device = DeviceMemory().device
    print(f"{device.name}, {given.replications:,} replications of {given.rounds:,} rounds")
    for place, row in enumerate(measure(given.rounds, given.replications)):
        if place == 0:
            print("| " + " | ".join(row) + " |")
            print("| " + " | ".join("---" for _ in row) + " |")
        print("| " + " | ".join(row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
