"""Several processes on one PostgreSQL: owners are killed and stopped, and what they cost.

    python -m benchmarks.owners

Four processes share 64 pools under load; owners are killed with -9, and one is stopped and resumed
when others have its pools. Every append is noted with the session that made it. Then one process
and four serve the same pools: memory, CPU while nothing is asked, and throughput; and one process
serves 1,000 idle streams.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx

_SETTLE_S = 4.0  # until pools have moved to the processes that they go to


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.owners", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of load")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--pools", type=int, default=64)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--only", choices=["kills", "costs", "streams"])
    arguments = parser.parse_args()
    from tests.support.service.postgres import Server

    server, found = Server(), dict[str, Any]()
    try:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            if arguments.only in (None, "kills"):
                found["kills"] = _kills(server, Path(folder), arguments)
            if arguments.only in (None, "costs"):
                for processes in (1, arguments.processes):
                    name = f"processes: {processes}"
                    found[name] = _costs(server, Path(folder), processes, arguments.pools)
            if arguments.only in (None, "streams"):
                found["streams"] = _streams(server, Path(folder), arguments.streams)
    finally:
        server.remove()
    path = Path("build/owners.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
    print(f"written to {path}")


def _kills(server: Any, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Kill two owners and stop a third under load; nothing is lost, or written by two."""
    from tests.support.service.owners import Owners

    slice_s, database = arguments.seconds / 4, server.new_database()
    with Owners(database, folder, arguments.processes, arguments.pools, 8) as campaign:
        time.sleep(_SETTLE_S)
        took = []
        for doomed in campaign.processes[:2]:
            campaign.work(slice_s)
            took.append(campaign.kill(doomed))
            campaign.restart(doomed)
        campaign.work(slice_s)
        took.append(campaign.stop_and_resume(campaign.processes[2], 3.0))
        campaign.work(slice_s)
        found = campaign.finish()
    assert max(seconds for _, seconds in took) <= 5.0, took
    found["taken over"] = [{"pools": n, "seconds": round(seconds, 2)} for n, seconds in took]
    print("kills", found, flush=True)
    return found


def _costs(server: Any, folder: Path, processes: int, pools: int) -> dict[str, float]:
    """Measure memory, CPU at rest and throughput of processes that serve some pools."""
    from tests.support.service.owners import Owners

    with Owners(server.new_database(), folder, processes, pools, 8) as campaign:
        campaign.work(2.0)
        campaign.rest()
        time.sleep(_SETTLE_S)
        began, idle_s = _cpu_s(campaign), 10.0
        time.sleep(idle_s)
        at_rest = (_cpu_s(campaign) - began) / idle_s
        before, began, spent = campaign.requests, time.perf_counter(), _cpu_s(campaign)
        campaign.work(15.0)
        seconds, requests = time.perf_counter() - began, campaign.requests - before
        spent = _cpu_s(campaign) - spent
        memory = sum(_memory_mb(process.pid) for process in campaign.processes)
        campaign.finish()
    found = {
        "memory, MB": round(memory),
        "CPU at rest, % of a core": round(100 * at_rest, 2),
        "requests per second": round(requests / seconds, 1),
        "CPU, ms per request": round(1_000 * spent / requests, 1),
    }
    print("processes", processes, found, flush=True)
    return found


def _streams(server: Any, folder: Path, count: int) -> dict[str, float]:
    """Measure the CPU of a process with many idle streams, and how soon an event comes."""
    from tests.support.service.processes import Process

    limits = {"max_streams": 2 * count, "max_connections": 2 * count + 100}
    process = Process(server.new_database(), folder / "streams", log_level="warning", **limits)
    process.start()
    assert process.wait(), process.said()
    client, opened = httpx.Client(base_url=process.url, timeout=60), list[socket.socket]()
    try:
        for number in range(64):
            rules = {"name": f"pool{number}", "policy": "uniform"}
            assert client.post("/v1/pools", json=rules).status_code == 201
        idle = _rate(process, 20.0)
        opened = [_open_stream(process, f"pool{number % 64}") for number in range(count)]
        time.sleep(3.0)
        streaming = _rate(process, 60.0)
        latencies = [_latency_ms(client, opened[0]) for _ in range(20)]
    finally:
        for each in opened:
            each.close()
        client.close()
        process.stop()
    found = {
        "without streams, % of a core": round(100 * idle, 2),
        f"with {count}, % of a core": round(100 * streaming, 2),
        "from the request to the stream, ms": round(sorted(latencies)[len(latencies) // 2], 1),
    }
    print("streams", found, flush=True)
    return found


def _open_stream(process: Any, pool: str) -> socket.socket:
    port = int(process.url.rpartition(":")[2])
    opened = socket.create_connection(("127.0.0.1", port))
    request = f"GET /v1/pools/{pool}/events/stream?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    opened.sendall(request.encode())
    while b"event: created" not in opened.recv(65_536):
        pass
    return opened


def _latency_ms(client: httpx.Client, stream: socket.socket) -> float:
    """Return the time from a request until a stream of the pool has its event."""
    got = threading.Event()

    def receive() -> None:
        while b"event:" not in stream.recv(65_536):
            pass
        got.set()

    thread = threading.Thread(target=receive)
    thread.start()
    time.sleep(0.3)
    began = time.perf_counter()
    name = f"p{time.monotonic_ns()}"
    assert client.put(f"/v1/pools/pool0/players/{name}", json={"status": "away"}).is_success
    got.wait(30)
    thread.join()
    return 1_000 * (time.perf_counter() - began)


def _rate(process: Any, seconds: float) -> float:
    began = _process_s(process.pid)
    time.sleep(seconds)
    return (_process_s(process.pid) - began) / seconds


def _cpu_s(campaign: Any) -> float:
    return sum(_process_s(process.pid) for process in campaign.processes)


def _process_s(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _memory_mb(pid: int) -> float:
    """Return the memory that a process does not share with others, and its part of the rest."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    (line,) = [each for each in lines if each.startswith("Pss:")]
    return int(line.split()[1]) / 1_024


if __name__ == "__main__":
    main()
