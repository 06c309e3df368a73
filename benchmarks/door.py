"""How soon /healthz answers while strangers and key holders send bodies of 4 MB.

python -m benchmarks door
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import psutil

_SENDERS, _BYTES = 20, 3_900_000
_PROBE_S = 0.02  # between two looks at /healthz


def measure(quick: bool) -> list[dict[str, object]]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        process, key = _started(Path(folder))
        try:
            rows = [_row(process, "nothing is sent", [], 1 if quick else 3)]
            for name, (path, body) in _bodies().items():
                senders = [_sender(process.url, path, body, each) for each in (None, key)]
                _send_once(*senders[1][:2])  # what is only done the first time is not counted
                rows.append(_row(process, name, senders, 2 if quick else 10))
        finally:
            process.stop()
    return rows


def _bodies() -> dict[str, tuple[str, bytes]]:
    """Return the bodies that are sent: those that take longest to parse, and a valid one."""
    players, rows = "/v1/pools/chess/players", "/v1/pools/chess/imports/past/rows/0"
    return {
        "empty objects": (players, _listed(b"{}")),
        "lists in lists": (players, _listed(b"[[[[[[[[[[]]]]]]]]]]")),
        "numbers": (players, _listed(b"1")),
        "unknown fields": (players, b"{%b}" % b",".join(b'"%x":1' % n for n in range(350_000))),
        "names with wrong fields": (players, _listed(b'{"player":"ann","x":1}')),
        "100,000 games of the past": (rows, _past_games(100_000)),
        "10,000 players with attributes": (players, _attributes(10_000)),
    }


def _listed(item: bytes) -> bytes:
    return b'{"players":[%b]}' % b",".join([item] * (_BYTES // (len(item) + 1)))


def _past_games(count: int) -> bytes:
    names = [f"player-{number}" for number in range(2_000)]
    a, b = [n % 2_000 for n in range(count)], [(n + 1 + n // 2_000) % 2_000 for n in range(count)]
    said = {each: [True] * count for each in ("played", "accepted_a", "accepted_b")}
    columns = {"rows": count, "players": names, "player_a": a, "player_b": b, **said}
    return json.dumps(columns).encode()


def _attributes(count: int) -> bytes:
    """Return as many players as are taken at once, with as many items of lists."""
    known = {"languages": [str(item) for item in range(8)], "region": "eu", "rating": 1500}
    players = [{"player": f"player-{number}", "attributes": known} for number in range(count)]
    return json.dumps({"players": players}, separators=(",", ":")).encode()


def _started(folder: Path) -> tuple[Any, str]:
    from pairup.service import api_keys
    from pairup.service.store import Store
    from tests.support.service.processes import Process

    database = str(folder / "pools.db")
    with closing(Store(database)) as store:
        _, key = api_keys.create(store, "benchmark", {"*": "admin"}, 0)
    process = Process(database, folder / "log", log_level="error", keys="required")
    process.start()
    assert process.wait(), process.said()
    headers = {"Authorization": f"Bearer {key}"}
    made = httpx.post(
        f"{process.url}/v1/pools", json={"name": "chess"}, headers=headers, timeout=60
    )
    assert made.status_code == 201, made.text
    return process, key


def _sender(url: str, path: str, body: bytes, key: str | None) -> tuple[Any, ...]:
    """Describe what is sent: where to, how, and whether with a key."""
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    method = "PUT" if "imports" in path else "POST"
    return url.removeprefix("http://"), (method, path, body, headers), key is not None


def _row(process: Any, what: str, senders: list[Any], seconds: float) -> dict[str, object]:
    answers, ending = multiprocessing.Queue(), multiprocessing.Event()
    loads = [
        multiprocessing.Process(target=_load, args=(*each, answers, ending)) for each in senders
    ]
    for each in loads:
        each.start()
    time.sleep(0.5 if loads else 0)
    latencies, peak = _probe(process, time.monotonic() + seconds)
    ending.set()
    told = dict(answers.get() for _ in loads)
    for each in loads:
        each.join()
    return {
        "what": what,
        "probes": len(latencies),
        "p50, ms": round(1e3 * latencies[len(latencies) // 2], 1),
        "p99, ms": round(1e3 * latencies[int(0.99 * len(latencies))], 1),
        "worst, ms": round(1e3 * latencies[-1], 1),
        "below 100 ms": latencies[-1] < 0.1,
        "memory, MB": round(peak / 2**20),
        "strangers": told.get(False, ""),
        "key holders": told.get(True, ""),
    }


def _probe(process: Any, until: float) -> tuple[list[float], int]:
    """Ask for /healthz again and again; returns the sorted latencies and the most memory."""
    latencies, peak, watched = [], 0, psutil.Process(process.pid)
    gc.disable()  # otherwise the longest wait is for our own garbage
    with httpx.Client(base_url=process.url, timeout=60, trust_env=False) as client:
        while time.monotonic() < until:
            began = time.perf_counter()
            assert client.get("/healthz").status_code == 200
            latencies.append(time.perf_counter() - began)
            peak = max(peak, watched.memory_info().rss)
            time.sleep(_PROBE_S)
    gc.enable()
    return sorted(latencies), peak


def _load(host: str, request: tuple[Any, ...], keyed: bool, answers: Any, ending: Any) -> None:
    os.nice(10)  # as if it came from other machines
    counts = Counter[int]()
    arguments = (host, request, counts, ending)
    threads = [threading.Thread(target=_send_all, args=arguments) for _ in range(_SENDERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    told = ", ".join(f"{count} x {status}" for status, count in sorted(counts.items()))
    answers.put((keyed, told))


def _send_once(host: str, request: tuple[Any, ...]) -> None:
    with closing(HTTPConnection(host, timeout=60)) as connection:
        connection.request(*request)
        connection.getresponse().read()


def _send_all(host: str, request: tuple[Any, ...], counts: Counter[int], ending: Any) -> None:
    while not ending.is_set():
        with closing(HTTPConnection(host, timeout=60)) as connection:
            while not ending.is_set():
                try:
                    connection.request(*request)
                    answer = connection.getresponse()
                    answer.read()
                    counts[answer.status] += 1
                except OSError:
                    counts[0] += 1  # broken off
                    break
