"""A service in a process of its own, as people run it, with a database that is discarded."""

import os
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pairup.client import Client, Patience

_COLUMNS = ("round", "games", "played", "chosen", "random", "best")


@contextmanager
def served(make_client=Client):
    """Serve an empty database on a free port while the block runs; gives a client of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = {"PAIRUP_PORT": str(port), "PAIRUP_LOG_LEVEL": "warning"}
        settings["PAIRUP_DATABASE"] = str(Path(folder) / "pools.db")
        command = [sys.executable, "-m", "pairup", "serve"]
        process = subprocess.Popen(command, env=os.environ | settings)
        try:
            patience = Patience(tries=100, max_wait_s=300)  # what is not compiled yet takes minutes
            with make_client(f"http://localhost:{port}", patience=patience) as client:
                client.ready()
                yield client
        finally:
            process.terminate()
            process.wait()


def by_column(rounds):
    """Return the rounds of a simulation as an array for each column."""
    return dict(zip(_COLUMNS, np.array(rounds, dtype=float).T, strict=True))


def share_of_way(rounds):
    """Return how far rounds go from random pairing towards the best possible, by the true rates."""
    found = by_column(rounds)
    chosen, random, best = (found[name].sum() for name in ("chosen", "random", "best"))
    return (chosen - random) / (best - random)
