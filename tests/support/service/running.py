"""The service in a process of its own, as people run it."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from tests.support.paths import SOURCES


def free_port():
    """Return a port outside the range from which the system chooses those of connections.

    A client that tries to reach a port again and again while nobody listens would sooner or later
    be given that very port for its own end, and meet itself.
    """
    for port in random.sample(range(15_000, 32_000), 1_000):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


def environment(sources=SOURCES, **settings):
    """Return the environment of a process that runs these sources."""
    here = {"PYTHONPATH": str(sources), "PAIRUP_LOG_LEVEL": "warning"}
    named = {f"PAIRUP_{name.upper()}": str(value) for name, value in settings.items()}
    return os.environ | here | named


class Running:
    """A service process; the same port and database when it is started again."""

    def __init__(self, folder, sources=SOURCES, **settings):
        self.port, self.log, self.sources = free_port(), folder / "service.log", sources
        self.database, self.settings = str(folder / "pools.db"), settings
        self.url = f"http://localhost:{self.port}"
        # Where keys are required, the service starts only when there is one.
        self.admin = self.key("*:admin") if settings.get("keys") == "required" else None
        self.start()

    def start(self):
        settings = {"port": self.port, "database": self.database, **self.settings}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pairup", "serve"],
                env=environment(self.sources, **settings),
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 300  # the first start may compile everything
        while not self._ready():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def _ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def stop(self):
        """Stop in order; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=60)

    def key(self, *scopes):
        """Make an API key."""
        options = [word for scope in scopes for word in ("--scope", scope)]
        command = [sys.executable, "-m", "pairup", "keys", "create", "test", *options]
        made = subprocess.run(
            command, env=environment(database=self.database), capture_output=True, check=True
        )
        return made.stdout.decode().strip()
