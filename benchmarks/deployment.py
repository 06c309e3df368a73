"""The service as `deploy` builds it: from restart to ready, and behind the shipped nginx.

    python -m benchmarks deployment

The steps of the Containerfile run into an empty folder; PAIRUP_BUILT names one that was built. What
serves from it can write nothing there. nginx is that of the system; behind it are two processes,
here on a file of SQLite.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import psutil

from tests.support.paths import ROOT
from tests.support.service.running import free_port

READY_BUDGET = 3.0  # seconds
_GENERIC = {"NUMBA_CPU_NAME": "generic"}  # as in the Containerfile
# A user root without capabilities may not write what is read-only either.
_ROOT = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
_WITHOUT_RIGHTS = _ROOT if os.geteuid() == 0 else ()
_EACH = 20  # connections of each kind that send too little
_POOLS = 8
_TOO_LITTLE = {
    "silent": b"",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "half a body": b"POST /v1/pools HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{",
}


def measure(quick: bool) -> list[dict[str, object]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        built = Path(os.environ.get("PAIRUP_BUILT") or _built(folder))
        subprocess.run(["chmod", "-R", "a-w", built], check=True)
        rows = [_row("size of the built folder, MB", round(_size(built) / 1e6))]
        service = _Built(built, str(folder / "pools.db"))
        return rows + _starts(service, 2 if quick else 7) + _behind_nginx(service, folder, quick)


def _row(what: str, value: object) -> dict[str, object]:
    return {"what": what, "value": value}


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))


def _built(folder: Path) -> Path:
    """Run the steps of the Containerfile on a copy of the sources."""
    sources, built = folder / "src", folder / "built"
    for name in ("src", "requirements", "deploy"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, sources / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    environment = os.environ | _GENERIC
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled as they are installed
    subprocess.run([sources / "deploy" / "build.sh", built], check=True, env=environment)
    return built


class _Built:
    """The built service on a database."""

    def __init__(self, folder: Path, database: str) -> None:
        self._program = [*_WITHOUT_RIGHTS, str(folder / "bin" / "pairup")]
        self._environment = _GENERIC | {
            "PATH": "/usr/bin:/bin",
            "HOME": "/nonexistent",
            "NUMBA_CACHE_DIR": str(folder / "kernels"),
            "PAIRUP_DATABASE": database,
            "PAIRUP_KEYS": "required",
            "PAIRUP_LOG_LEVEL": "warning",
        }
        make = [*self._program, "keys", "create", "benchmark", "--scope", "*:admin"]
        made = subprocess.run(make, env=self._environment, check=True, capture_output=True)
        self.headers = {"Authorization": f"Bearer {made.stdout.decode().strip()}"}

    @contextmanager
    def serving(self) -> Iterator[tuple[subprocess.Popen[bytes], int, float]]:
        """Yield the process, its port and the seconds that it took to be ready."""
        port, began = free_port(), time.monotonic()
        environment = self._environment | {"PAIRUP_PORT": str(port)}
        process = subprocess.Popen([*self._program, "serve"], env=environment, cwd="/")
        try:
            while not _ready(f"http://127.0.0.1:{port}"):
                if process.poll() is not None or time.monotonic() > began + 600:
                    raise RuntimeError(f"it does not serve, exit code {process.poll()}")
                time.sleep(0.05)
            yield process, port, time.monotonic() - began
        finally:
            process.kill()
            process.wait()


def _ready(url: str) -> bool:
    # Not httpx, which reads certificates each time: that would take a core's time.
    with suppress(OSError), urllib.request.urlopen(f"{url}/readyz") as answer:
        return bool(answer.status == 200)
    return False


def _starts(built: _Built, times: int) -> list[dict[str, object]]:
    found = []
    for _ in range(times + 1):
        with built.serving() as (process, port, seconds), _client(built, port) as client:
            found.append(seconds)
            used = psutil.Process(process.pid).cpu_times()
            client.post("/v1/pools", json={"name": f"start{len(found)}"}).raise_for_status()
    return [
        _row("first start to ready, s", round(found[0], 2)),
        _row("killed and started to ready, median, s", round(statistics.median(found[1:]), 2)),
        _row("the longest of them, s", round(max(found[1:]), 2)),
        _row("CPU seconds of the last one", round(used.user + used.system, 2)),
        _row("budget, s", READY_BUDGET),
    ]


def _client(built: _Built, port: int, tls: bool = False) -> httpx.Client:
    url = f"http{'s' * tls}://localhost:{port}"
    return httpx.Client(base_url=url, headers=built.headers, verify=False, trust_env=False)


@contextmanager
def _nginx(folder: Path, ports: list[int]) -> Iterator[int]:
    """Run nginx with the shipped configuration, but for ports and temporary files."""
    port, text = free_port(), (ROOT / "deploy" / "nginx.conf").read_text()
    text = text.replace("listen 8443", f"listen 127.0.0.1:{port}").replace("/tmp/", f"{folder}/")
    (folder / "nginx.conf").write_text(text)
    (folder / "upstream.conf").write_text("".join(f"server 127.0.0.1:{each};\n" for each in ports))
    (folder / "tls").mkdir()
    names = "-keyout tls/tls.key -out tls/tls.crt -subj /CN=localhost -days 1"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names.split()]
    subprocess.run(make, cwd=folder, check=True, capture_output=True)
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    run = [program, "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    process = subprocess.Popen(run)
    try:
        for _ in range(100):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()


def _behind_nginx(built: _Built, folder: Path, quick: bool) -> list[dict[str, object]]:
    with (
        built.serving() as (_, first, _),
        built.serving() as (other, second, _),
        _nginx(folder, [first, second]) as port,
        _client(built, port, tls=True) as proxied,
        _client(built, first) as direct,
    ):
        for number in range(_POOLS):
            proxied.post("/v1/pools", json={"name": f"pool{number}"}).raise_for_status()
        before = [_requests(built, each) for each in (first, second)]
        for number in range(_POOLS):
            for _ in range(5):
                proxied.get(f"/v1/pools/pool{number}").raise_for_status()
        shares = [
            _requests(built, each) - was for each, was in zip((first, second), before, strict=True)
        ]
        rows = [_row("requests of 8 pools that each of two processes answered", shares)]
        clients = {"direct": direct, "TLS and nginx": proxied}
        for name, found in _p50_ms(clients, 50 if quick else 500).items():
            rows.append(_row(f"GET of a pool, {name}, p50 ms", found))
        large = proxied.post("/v1/pools", content=b" " * 50_000_000)
        rows.append(_row("status of a body of 50 MB", large.status_code))
        for kind, sent in _TOO_LITTLE.items():
            rows.append(
                _row(f"{_EACH} connections, {kind}: closed after, s", _closed_after(port, sent))
            )
        met = sum(_limits(built, each) for each in (first, second))
        rows.append(_row("limits that pairup itself met meanwhile", met))
        other.kill()
        failed = sum(
            proxied.get(f"/v1/pools/pool{each % _POOLS}").status_code != 200 for each in range(40)
        )
        return [*rows, _row("of 40 GETs after one process was killed, failed", failed)]


def _metric(built: _Built, port: int, name: str) -> float:
    with _client(built, port) as client:
        lines = client.get("/metrics").raise_for_status().text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def _requests(built: _Built, port: int) -> int:
    return int(
        _metric(built, port, 'pairup_request_seconds_count{method="GET",route="/v1/pools/{pool}"')
    )


def _limits(built: _Built, port: int) -> int:
    return int(_metric(built, port, "pairup_limits_total{"))


def _p50_ms(clients: dict[str, httpx.Client], times: int) -> dict[str, float]:
    """Return the median time of a request of each client, in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(times):
        for name, client in clients.items():
            began = time.monotonic()
            client.get("/v1/pools/pool0").raise_for_status()
            seconds[name].append(time.monotonic() - began)
    return {name: round(1_000 * statistics.median(each), 2) for name, each in seconds.items()}


def _closed_after(port: int, sent: bytes) -> float:
    """Return the seconds until nginx has closed connections on which too little is sent."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    began, opened = time.monotonic(), []
    for _ in range(_EACH):
        connection = context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=90))
        connection.sendall(sent)
        opened.append(connection)
    for each in opened:
        with suppress(OSError):
            while each.recv(65_536):
                pass
        each.close()
    return round(time.monotonic() - began, 1)
