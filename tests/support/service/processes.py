"""Service processes that tests start, kill with -9 and start again.

They are forked from a process that has imported and compiled everything, so that a start takes a
moment and hundreds of kills take minutes.
"""

import faulthandler
import multiprocessing
import os
import signal
import time

import httpx

from tests.support.paths import ROOT
from tests.support.service.running import free_port

# The process they are forked from finds its modules by this.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
)
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.support.service.preloaded"])
_PATIENCE_S = 60


def _serve(settings, die_at, before, log):
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.register(signal.SIGUSR1)  # a process that hangs tells where
    from pairup.service.server import serve
    from pairup.service.settings import Settings
    from tests.support.service.faults import die_at_commit

    if die_at:
        die_at_commit(die_at)
    if before:
        before()
    serve(Settings(**settings))


class Process:
    """A service on a port of its own, which it has again after each start."""

    def __init__(self, database, log, **settings):
        self.settings = {"database": database, "port": free_port(), **settings}
        self._log = str(log)
        self._process = None
        self.url = f"http://127.0.0.1:{self.settings['port']}"
        self.kills = 0

    def start(self, die_at=0, before=None):
        """Start it and do not wait; `die_at` is the pass by a commit at which it dies.

        `before` is called in the new process before it serves.
        """
        arguments = (self.settings, die_at, before, self._log)
        self._process = _FORKS.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()

    def wait(self):
        """Wait until it answers; False if it died before."""
        deadline = time.monotonic() + _PATIENCE_S
        with httpx.Client(timeout=5, trust_env=False, verify=False) as client:
            while self.alive:
                assert time.monotonic() < deadline, f"it does not start: {self.said()}"
                try:
                    client.get(f"{self.url}/readyz")
                    return True
                except httpx.TransportError:
                    time.sleep(0.01)
        return False

    @property
    def alive(self):
        return self._process is not None and self._process.is_alive()

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        """Kill it with -9."""
        self._process.kill()
        self._process.join()
        self.kills += 1

    def died(self):
        """Wait for its end, and return its exit status."""
        self._process.join(_PATIENCE_S)
        return self._process.exitcode

    def stop(self):
        """Let it end in order, and return its exit status."""
        if self._process is None:
            return 0
        self._process.terminate()
        return self.died()

    def said(self):
        """Return the end of its log, and where it is now if it runs."""
        if self.alive:
            os.kill(self._process.pid, signal.SIGUSR1)
            time.sleep(0.5)
        with open(self._log) as log:
            return log.read()[-12_000:]
