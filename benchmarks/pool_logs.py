"""Long logs: how long it takes to verify one, and to start with one.

python -m benchmarks pool_logs
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.pool_sizes import restart, served
from benchmarks.written_pool import WrittenPool
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store


def measure(quick: bool) -> list[dict[str, object]]:
    """Verify 32,000 games of 8,300 players, and start with 100,000 players and 10**6 events."""
    scale = 20 if quick else 1
    folders = tempfile.TemporaryDirectory(dir="/tmp")
    with folders as folder, closing(Store(f"{folder}/pools.db")) as store:
        _write_log(store, 8_300 // scale, 4_150 // scale, rounds=8)
        began = time.perf_counter()
        (found,) = verify(store)
        verifying = time.perf_counter() - began
        assert found.error == "", found.error
    rows = [{"what": "verify", "events": found.events, "games": found.games, "s": verifying}]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        with closing(Store(f"{folder}/pools.db")) as store:
            rounds = 500_000 // scale
            events = _write_log(store, 100_000 // scale, 1, rounds, snapshot=0.9)
        with served(Path(folder)) as process:
            taken = restart(process)
    rows.append({"what": "start", "events": events, "games": rounds, "s": taken})
    return [{**row, "s": round(float(str(row["s"])), 1)} for row in rows]


def _write_log(
    store: Any, players: int, games: int, rounds: int, snapshot: float | None = None
) -> int:
    """Write the log of a pool whose players play `games` at a time, with its records.

    With `snapshot` one is written after this share of the rounds. Returns the number of events.
    """
    pool = WrittenPool(store, players, games)
    for number in range(rounds):
        if snapshot is not None and number == int(snapshot * rounds):
            pool.save()
        pool.play()
    pool.flush()
    return pool.seq
