"""CPU time of the service per round of a pool, from which machines are sized.

    python -m scripts.figures.sizing

A round is a proposal, reports of all its games, a player who leaves and one who joins. CPU seconds
are those of the service's process, so that others who use the machine matter less than for times.
"""

import tempfile
from pathlib import Path

import psutil

from pairup.client.load import Load, run_load
from tests.support.service.running import Running

_LOADS = ((1, 20), (1, 200), (4, 200), (1, 2_000), (50, 20))  # pools, and players of each
_SECONDS = 10.0


def main() -> None:
    """Print a row for each load."""
    with tempfile.TemporaryDirectory() as folder:
        service = Running(Path(folder), max_requests_per_s=1e6, max_events_per_s=1e9)
        try:
            process = psutil.Process(service.process.pid)
            print("| pools | players of each | rounds per s | CPU ms per round | MB |")
            for pools, players in _LOADS:
                before = sum(process.cpu_times()[:2])
                found = run_load(service.url, load=Load(pools, players, _SECONDS, 10**6))
                rounds = found["operations"][0]["requests"]
                used = 1_000 * (sum(process.cpu_times()[:2]) - before) / rounds
                memory, rate = process.memory_info().rss / 1e6, rounds / found["seconds"]
                print(
                    f"| {pools} | {players:,} | {rate:.0f} | {used:.1f} | {memory:.0f} |",
                    flush=True,
                )
        finally:
            service.kill()


if __name__ == "__main__":
    main()
