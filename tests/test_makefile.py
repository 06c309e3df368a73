"""What the Makefile starts ends when it is told to."""

import os
import shutil
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

    def __init__(self, folder, programs=Path(sys.executable).parent):
        self.url, self.output = f"http://localhost:{(port := free_port())}", folder / "output"
        (folder / "ready").touch()  # as if everything were installed
        variables = {"BIN": programs, "READY": folder / "ready", "PORT": port}
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

    def kill(self):
        """End whatever is left of it."""
        for process in self.processes():
            process.kill()
        self.make.wait()


@pytest.fixture
def demo(tmp_path):
    running = Demo(tmp_path)
    try:
        yield running
    finally:
        running.kill()


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


def children(process):
    """Read the numbers of a process's children, fast enough to see them begin."""
    try:
        return Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []  # ended meanwhile


@pytest.mark.parametrize("attempt", range(5))
def test_the_demo_ends_while_it_starts(tmp_path, attempt):
    """The players are told to end before they have become their program: such a signal is lost."""
    (tmp_path / "python").symlink_to("/bin/true")
    (tmp_path / "pairup").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "pairup").chmod(0o755)
    demo = Demo(tmp_path, programs=tmp_path)
    try:
        shell = None
        while not (shell and len(children(shell)) == 2):  # the service and the players
            assert demo.make.poll() is None, demo.output.read_text()
            shell = next(iter(children(demo.make.pid)), None)
        os.kill(int(shell), signal.SIGTERM)  # as make does when it is told to end
        assert demo.remaining() == []
    finally:
        demo.kill()


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


class Stubs:
    """The Makefile in a folder of its own, with programs that only print which one was called."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("pyproject.toml", "requirements/dev.txt", "requirements/lowest.txt"):
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.touch()
        shutil.copy(ROOT / "Makefile", folder)
        for environment in (".venv", ".venv-lowest"):
            for program in ("ruff", "mypy", "lint-imports", "python", "pytest"):
                self.write(environment, program)
            (folder / environment / ".ready").touch()

    def write(self, environment, program, status=0):
        path = self.folder / environment / "bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {environment} {program}\nexit {status}\n")
        path.chmod(0o755)

    def make(self, target):
        """Make a target; returns its status and which programs were called, in this order."""
        settings = {name: text for name, text in os.environ.items() if "MAKE" not in name}
        done = subprocess.run(
            ["make", "--no-print-directory", target],
            cwd=self.folder,
            env=settings,
            capture_output=True,
            text=True,
        )
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith(".venv")]
        return done.returncode, [tuple(words) for words in lines if len(words) == 2]


LAST = [(".venv", "pytest"), (".venv-lowest", "pytest")]


def test_all_checks_and_tests_are_run_and_the_smoke_test_is_shown_last(tmp_path):
    status, called = Stubs(tmp_path).make("test")
    assert status == 0
    assert {name for _, name in called[:-2]} == {"ruff", "mypy", "lint-imports", "python"}
    assert called[-2:] == LAST


@pytest.mark.parametrize("program", ["ruff", "mypy", "lint-imports", "python"])
def test_no_test_is_run_where_a_check_fails(tmp_path, program):
    stubs = Stubs(tmp_path)
    stubs.write(".venv", program, status=1)
    status, called = stubs.make("test")
    assert status != 0
    assert (".venv", program) in called
    assert (".venv", "pytest") not in called


@pytest.mark.parametrize(
    ("failing", "shown"), [(".venv", LAST[:1]), (".venv-lowest", LAST)], ids=["tests", "smoke test"]
)
def test_a_failure_of_any_tests_is_one_of_make_test(tmp_path, failing, shown):
    stubs = Stubs(tmp_path)
    stubs.write(failing, "pytest", status=1)
    status, called = stubs.make("test")
    assert status != 0
    assert [each for each in called if each[1] == "pytest"] == shown
    stubs.write(failing, "pytest")
    assert stubs.make("test")[0] == 0  # the failure is forgotten
