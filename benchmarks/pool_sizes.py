"""The service against the number of players that a pool knows, from 100 to 1,000,000.

python -m benchmarks pool_sizes
"""

from __future__ import annotations

import random
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

_SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
_WAITING = 2_000  # players who wait, of all who are known
_BATCH = 10_000
_UNLIMITED = {"max_players": 10**8, "max_events_per_s": 1e9, "max_requests_per_s": 1e9}


def measure(quick: bool) -> list[dict[str, object]]:
    """Measure joins in bulk, and proposals and outcomes of 2,000 players or of two."""
    rows = []
    for players in _SIZES[: 3 if quick else len(_SIZES)]:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder, served(Path(folder)) as process:
            rows.append(_measure(process, players, rounds=8 if quick else 24))
    return rows


@contextmanager
def served(folder: Path) -> Any:
    from tests.support.service.processes import Process

    settings = {"log_level": "error", "graceful_s": 60, "wait_s": 600, **_UNLIMITED}
    process = Process(str(folder / "pools.db"), folder / "log", **settings)
    process.start()
    assert process.wait(), process.said()
    try:
        yield process
    finally:
        process.stop()


class _Timed:
    """A client that keeps the seconds of each request."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=600)
        self.seconds: list[float] = []

    def post(self, path: str, body: object = None) -> tuple[float, Any]:
        began = time.perf_counter()
        answer = self._client.post(path, json=body)
        taken = time.perf_counter() - began
        assert answer.is_success, answer.text
        self.seconds.append(taken)
        return taken, answer.json()

    def put(self, status: str, players: range) -> float:
        total = 0.0
        for start in range(players.start, players.stop, _BATCH):
            some = range(start, min(start + _BATCH, players.stop))
            body = {"players": [{"player": f"p{n}", "status": status} for n in some]}
            total += self.post("/v1/pools/chess/players", body)[0]
        return total


def _measure(process: Any, players: int, rounds: int) -> dict[str, object]:
    client, draw = _Timed(process.url), random.Random(1)
    client.post("/v1/pools", {"name": "chess", "lifetime_s": 3600})
    joining = client.put("away", range(players))
    client.put("waiting", range(min(players, _WAITING)))
    client.seconds.clear()
    proposing, two, reporting, games = [], [], 0.0, 0
    for _ in range(rounds):
        taken, matching = client.post("/v1/pools/chess/matchings")
        proposing.append(taken)
        reporting += _report(client, matching, draw)
        games += len(matching["games"])
        taken, matching = client.post("/v1/pools/chess/matchings", {"available": ["p0", "p1"]})
        two.append(taken)
        _report(client, matching, draw)
    memory = psutil.Process(process.pid).memory_info().rss / 2**20
    return {
        "players known": players,
        "waiting": min(players, _WAITING),
        "join, us each": round(1e6 * joining / players, 1),
        "proposal, ms": _median(proposing),
        "proposal for two, ms": _median(two),
        "outcome, us each": round(1e6 * reporting / games, 1),
        "slowest request, ms": round(1e3 * max(client.seconds)),
        "memory, MB": round(memory),
        "restart after a kill, s": round(restart(process), 2),
    }


def _median(seconds: list[float]) -> float:
    return round(1e3 * sorted(seconds)[len(seconds) // 2], 1)


def _report(client: _Timed, matching: Any, draw: random.Random) -> float:
    outcomes = [
        {"game": game["id"], "outcome": "played" if draw.random() < 0.4 else "cancelled"}
        for game in matching["games"]
    ]
    return client.post("/v1/pools/chess/outcomes", {"outcomes": outcomes})[0]


def restart(process: Any) -> float:
    """Kill the process and start it; returns the seconds until it is ready."""
    process.kill()
    began = time.perf_counter()
    process.start()
    assert process.wait(), process.said()
    with httpx.Client(base_url=process.url, timeout=60) as client:
        while not client.get("/readyz").is_success:
            time.sleep(0.02)
    return time.perf_counter() - began
