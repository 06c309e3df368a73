"""What the Makefile starts ends when it is told to."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.paths import ROOT, SOURCES
from tests.support.service.running import free_port


class Demo:
    """`make serve-demo`, with all its processes in a session of its own."""

    def __init__(self, folder):
        self.url, self.output = f"http://localhost:{(port := free_port())}", folder / "output"
        (folder / "ready").touch()  # as if everything were installed
        variables = {"BIN": Path(sys.executable).parent, "READY": folder / "ready", "PORT": port}
        variables["DEMO"] = folder / "demo"
        words = [f"{name}={value}" for name, value in variables.items()]
        with self.output.open("wb") as output:
            self.make = subprocess.Popen(
                ["make", "--no-print-directory", "serve-demo", *words],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(SOURCES)},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def processes(self):
        """List what runs of it."""
        found = []
        for process in psutil.process_iter():
            try:
                if os.getsid(process.pid) == self.make.pid and process.status() != "zombie":
                    found.append(process)
            except (OSError, psutil.NoSuchProcess):
                continue  # ended meanwhile
        return found

    def wait(self):
        """Wait until players play."""
        deadline = time.monotonic() + 120
        while True:
            assert self.make.poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, self.output.read_text()
            try:
                stats = httpx.get(f"{self.url}/v1/pools/demo/stats")
                if stats.is_success and stats.json()["games"]["proposed"]:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)

    def remaining(self):
        """Wait for the end, and return what does not end."""
        deadline = time.monotonic() + 60
        while self.processes() and time.monotonic() < deadline:
            self.make.poll()
            time.sleep(0.1)
        return [process.cmdline() for process in self.processes()]


@pytest.fixture
def demo(tmp_path):
    running = Demo(tmp_path)
    try:
        yield running
    finally:
        for process in running.processes():
            process.kill()
        running.make.wait()


@pytest.mark.parametrize(
    ("end", "number"),
    [
        (os.kill, signal.SIGTERM),  # make alone, which knows one child only
        (os.killpg, signal.SIGTERM),
        (os.killpg, signal.SIGINT),  # as a terminal sends it
    ],
)
def test_the_demo_ends_with_all_its_processes(demo, end, number):
    demo.wait()
    assert len(demo.processes()) >= 4  # make, its shell, the service and the players
    end(demo.make.pid, number)
    assert demo.remaining() == []
    assert "played" in demo.output.read_text()  # the players told how it went, as they always do


def test_the_demo_ends_while_it_starts(demo):
    while len(demo.processes()) < 4:
        time.sleep(0.01)
    os.kill(demo.make.pid, signal.SIGTERM)
    assert demo.remaining() == []
