"""Connection poolers in front of PostgreSQL: one of a page, and PgBouncer where it is installed.

Like PgBouncer, the pooler here makes up the process id that a client is told, and gives a server's
session to a client for each transaction, or for as long as it stays.
"""

import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress

import psycopg

from tests.support.service.postgres import as_user
from tests.support.service.running import free_port

_ENCRYPT = (80877103, 80877104)  # by TLS or GSSAPI, which is refused
_ENDS_A_TURN = (b"Q", b"S")  # after which the server answers until it is ready


def _frame(connection):
    """Read a message: its kind, and all of it."""
    kind = _exactly(connection, 1)
    length = _exactly(connection, 4)
    return kind, kind + length + _exactly(connection, struct.unpack("!i", length)[0] - 4)


def _exactly(connection, count):
    found = b""
    while len(found) < count:
        more = connection.recv(count - len(found))
        if not more:
            raise ConnectionError
        found += more
    return found


class Pooler:
    """A pooler by transactions or by sessions, in threads of the tests."""

    def __init__(self, server, name, mode):
        self._path, self._name, self._mode = f"{server.folder}/.s.PGSQL.5432", name, mode
        self._idle, self._guard, self._opened = [], threading.Lock(), []
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://pairup@127.0.0.1:{port}/{name}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        self._opened.append(client)
        server = None
        try:
            server, greeting = self._take(self._start(client))
            client.sendall(greeting)
            if self._mode == "session":
                self._pipe(client, server)
                return
            self._give_back(server)
            server = None
            while True:
                kind, message = _frame(client)
                if kind == b"X":
                    return
                server = server or self._take()[0]
                server.sendall(message)
                if kind in _ENDS_A_TURN and self._answer(server, client) == b"I":
                    self._give_back(server)
                    server = None
        except (ConnectionError, OSError):
            pass
        finally:
            client.close()
            if server is not None:
                server.close()

    def _start(self, client):
        """Read how a client begins; returns what it tells of itself."""
        while True:
            length, code = struct.unpack("!ii", _exactly(client, 8))
            rest = _exactly(client, length - 8)
            if code not in _ENCRYPT:
                return struct.pack("!ii", length, code) + rest
            client.sendall(b"N")

    def _take(self, startup=None):
        """Return a session of the server, a new one for a startup or if none is idle."""
        with self._guard:
            if startup is None and self._idle:
                return self._idle.pop(), b""
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._path)
        self._opened.append(server)
        given = f"user\0pairup\0database\0{self._name}\0\0".encode()
        server.sendall(startup or struct.pack("!ii", len(given) + 8, 196608) + given)
        greeting, kind = b"", b""
        while kind != b"Z":
            kind, message = _frame(server)
            if kind == b"K":
                message = kind + struct.pack("!iii", 12, 1, 1)
            greeting += message
        return server, greeting

    def _give_back(self, server):
        with self._guard:
            self._idle.append(server)

    def _answer(self, server, client):
        """Pass on what the server says until it is ready; returns its state."""
        while True:
            kind, message = _frame(server)
            client.sendall(message)
            if kind == b"Z":
                return message[-1:]

    def _pipe(self, client, server):
        while True:
            for one in select.select([client, server], [], [])[0]:
                data = one.recv(65_536)
                if not data:
                    return
                (server if one is client else client).sendall(data)

    def stop(self):
        for each in (self._listening, *self._opened):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


class PgBouncer:
    """PgBouncer as it is installed on this machine."""

    PROGRAM = shutil.which("pgbouncer")

    def __init__(self, server, name, mode):
        folder, port = server.folder / f"pooler-{name}", free_port()
        folder.mkdir()
        (folder / "users.txt").write_text('"pairup" ""\n')
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n{name} = host={server.folder} dbname={name} user=pairup\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = any\nauth_file = {folder}/users.txt\npool_mode = {mode}\n"
            "ignore_startup_parameters = extra_float_digits\nmax_client_conn = 100\n"
            "default_pool_size = 60\n"
        )
        for each in (folder, *folder.iterdir()):
            each.chmod(0o755)
        program = [self.PROGRAM, folder / "pgbouncer.ini"]
        self._process = subprocess.Popen(program, stderr=subprocess.DEVNULL, **as_user())
        self.url = f"postgresql://pairup@127.0.0.1:{port}/{name}"
        deadline = time.monotonic() + 20
        while True:
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(20)


POOLERS = [Pooler, PgBouncer] if PgBouncer.PROGRAM else [Pooler]
