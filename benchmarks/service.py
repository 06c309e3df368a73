"""The service on the loopback interface, against a bare route with one commit.

python -m benchmarks service
"""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
import threading
import time
from pathlib import Path
from typing import Annotated, Any

import httpx
import psutil
import uvicorn
from fastapi import Depends, FastAPI, Request, Response

_PLAYERS, _BATCH, _MANY, _LARGE = 200, 100, 5_000, 4_000


def measure(quick: bool) -> list[dict[str, object]]:
    times = 30 if quick else 200
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        rows = _rates(Path(folder), times)
        rows.append(_memory(Path(folder), 100 if quick else 3_000))
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        rows += _many(Path(folder), 2 if quick else 6)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        rows += _beside(Path(folder), 3 if quick else 10)
    return rows


def _row(what: str, seconds: list[float], bare: list[float] | None = None) -> dict[str, object]:
    ratio = round(sum(seconds) / sum(bare), 2) if bare else ""
    return {
        "what": what,
        "requests": len(seconds),
        "per second": round(len(seconds) / sum(seconds), 1),
        "p50, ms": _quantile(seconds, 0.5),
        "p99, ms": _quantile(seconds, 0.99),
        "multiple of a bare route": ratio,
        "note": "",
    }


def _quantile(seconds: list[float], share: float) -> float:
    """Return milliseconds."""
    place = min(int(share * len(seconds)), len(seconds) - 1)
    return round(1e3 * sorted(seconds)[place], 1)


def _timed(ask: Any, *arguments: Any, **options: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = ask(*arguments, **options)
    taken = time.perf_counter() - began
    assert answer.is_success, answer.text
    return taken, answer


def _started(folder: Path, **settings: Any) -> Any:
    from tests.support.service.processes import Process

    process = Process(str(folder / "pools.db"), folder / "log", log_level="error", **settings)
    process.start()
    assert process.wait(), process.said()
    return process


def _join(client: Any, count: int) -> list[float]:
    client.post("/v1/pools", json={"name": "chess", "lifetime_s": 3600}).raise_for_status()
    return [_timed(client.put, f"/v1/pools/chess/players/p{n}")[0] for n in range(count)]


def _round(client: Any, rng: random.Random) -> tuple[float, float, str, str]:
    """Propose to everyone and report every game; returns the seconds and what was sent."""
    proposing, answer = _timed(client.post, "/v1/pools/chess/matchings")
    outcomes = [
        {"game": game["id"], "outcome": "played" if rng.random() < 0.4 else "cancelled"}
        for game in answer.json()["games"]
    ]
    body = json.dumps({"outcomes": outcomes})
    headers = {"Content-Type": "application/json"}
    reporting, told = _timed(client.post, "/v1/pools/chess/outcomes", content=body, headers=headers)
    assert all(each["result"] == "learnt" for each in told.json()["results"])
    return proposing, reporting, answer.text, body


def _rates(folder: Path, times: int) -> list[dict[str, object]]:
    process, bare = _started(folder), _Bare(folder / "bare.db")
    rng, seconds = random.Random(1), [[], [], [], []]
    with (
        httpx.Client(base_url=process.url, timeout=60) as client,
        httpx.Client(base_url=bare.url, timeout=60) as other,
    ):
        _join(client, _PLAYERS)
        _round(client, rng)
        for _ in range(times):  # in turns, so that both run on the same machine in the same state
            proposing, reporting, matching, body = _round(client, rng)
            # The bare route answers with as many bytes as a proposal, and takes a whole batch.
            asking, _ = _timed(other.post, "/echo", content=matching)
            taking, _ = _timed(other.post, "/take", content=body)
            for each, one in zip(seconds, (proposing, reporting, asking, taking), strict=True):
                each.append(one)
    process.stop()
    bare.stop()
    proposing, reporting, asking, taking = seconds
    return [
        _row(f"proposals, {_PLAYERS} players", proposing, asking),
        _row("bare route, the same answer", asking),
        _row(f"batches of {_BATCH} outcomes", reporting, taking),
        _row("bare route, the same batch", taking),
    ]


async def _read(request: Request) -> bytes:
    return await request.body()


_Body = Annotated[bytes, Depends(_read)]


class _Bare:
    """A route that commits what it gets, in a thread of this process."""

    def __init__(self, file: Path) -> None:
        app, lock = FastAPI(), threading.Lock()
        connection = sqlite3.connect(file, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE bodies (body BLOB)")

        def commit(body: bytes) -> None:
            with lock, connection:
                connection.execute("INSERT INTO bodies VALUES (?)", (body,))

        @app.post("/echo")
        def echo(body: _Body) -> Response:
            commit(body)
            return Response(json.dumps(json.loads(body)), media_type="application/json")

        @app.post("/take")
        def take(body: _Body) -> Response:
            commit(body)
            found = json.loads(body)["outcomes"]
            return Response(json.dumps({"results": found}), media_type="application/json")

        config = uvicorn.Config(app, port=0, log_config=None, access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()


def _memory(folder: Path, rounds: int) -> dict[str, object]:
    """Continue with the same pool, which has reached its size, and watch the resident set."""
    process, rng, sizes = _started(folder), random.Random(2), []
    with httpx.Client(base_url=process.url, timeout=60) as client:
        for done in range(rounds):
            _round(client, rng)
            if done + 1 in (rounds // 5, rounds):
                sizes.append(_resident(process))
    process.stop()
    return {
        **_row("memory", [1.0]),
        "requests": 2 * rounds,
        "per second": "",
        "p50, ms": "",
        "p99, ms": "",
        "note": f"{sizes[0]} MB after {rounds // 5} rounds, {sizes[1]} MB after {rounds}",
    }


def _resident(process: Any) -> int:
    return round(psutil.Process(process._process.pid).memory_info().rss / 2**20)


def _many(folder: Path, rounds: int) -> list[dict[str, object]]:
    process, rng = _started(folder), random.Random(3)
    with httpx.Client(base_url=process.url, timeout=600) as client:
        joining = _join(client, _MANY)
        proposing, reporting, working = [], [], []
        for _ in range(rounds):
            before = psutil.Process(process._process.pid).cpu_times()
            one, other, *_ = _round(client, rng)
            after = psutil.Process(process._process.pid).cpu_times()
            proposing.append(one)
            reporting.append(other)
            working.append(after.user - before.user + after.system - before.system)
        size = _resident(process)
        leaving, _ = _timed(client.delete, "/v1/pools/chess/players/p7")
        showing, _ = _timed(client.get, "/v1/pools/chess/stats")
        looking, _ = _timed(client.get, "/v1/pools/chess/estimates")
    process.stop()
    rows = [
        _row(f"joins, up to {_MANY} players", joining),
        _row(f"proposals, {_MANY} players", proposing),
        _row(f"batches of {_MANY // 2} outcomes", reporting),
        _row(f"leave, {_MANY} players", [leaving]),
        _row(f"stats, {_MANY} players", [showing]),
        _row(f"estimates, {_MANY} players", [looking]),
    ]
    spent = ", ".join(f"{each:.2f}" for each in working)
    first = ", ".join(f"{each:.2f}" for each in proposing)
    rows[1]["note"] = f"s: {first}; {size} MB"
    rows[2]["note"] = f"CPU s of a proposal and its batch: {spent}"
    return rows


def _beside(folder: Path, rounds: int) -> list[dict[str, object]]:
    """Change the players of a small pool while a large pool proposes and learns."""
    process, rng, working = _started(folder), random.Random(4), threading.Event()
    with (
        httpx.Client(base_url=process.url, timeout=600) as client,
        httpx.Client(base_url=process.url, timeout=600) as other,
    ):
        _join(client, _LARGE)
        _round(client, rng)
        other.post("/v1/pools", json={"name": "small"}).raise_for_status()
        idle = [_put(other, number) for number in range(200)]

        def work() -> None:
            for _ in range(rounds):
                _round(client, rng)
            working.set()

        thread, busy = threading.Thread(target=work), []
        thread.start()
        while not working.is_set():
            busy.append(_put(other, len(busy)))
        thread.join()
    process.stop()
    return [
        _row("PUT of a player, the other pool idle", idle),
        _row(f"PUT of a player, the other pool of {_LARGE} at work", busy),
    ]


def _put(client: Any, number: int) -> float:
    body = {"status": ("waiting", "away")[number % 2]}
    return _timed(client.put, "/v1/pools/small/players/ann", json=body)[0]
