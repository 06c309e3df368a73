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


def test_check_runs_the_linters_and_fast_tests_that_exist(tmp_path):
    (tmp_path / "ready").touch()
    command = ["make", "--no-print-directory", "--dry-run", "check", "BIN=bin"]
    done = subprocess.run(
        [*command, f"READY={tmp_path / 'ready'}"], cwd=ROOT, capture_output=True, text=True
    )
    *linters, tests = done.stdout.splitlines()
    assert {line.split()[0] for line in linters} == {"bin/ruff", "bin/mypy", "bin/lint-imports"}
    program, *words = tests.split()
    paths = [word for word in words if word.startswith("tests/")]
    assert program == "bin/pytest"
    assert "tests/problem/test_problem.py" in paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert Path(__file__).relative_to(ROOT).as_posix() not in paths
    for folder in ("analysis", "bounds", "experiments", "learning", "problem", "service/domain"):
        assert any(path.startswith(f"tests/{folder}/") for path in paths), folder
