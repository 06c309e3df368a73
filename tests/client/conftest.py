"""Services for the clients: one in a process of its own, and one that misbehaves."""

import asyncio
import http.server
import threading

import pytest

from pairup.client import AsyncClient, Client
from tests.support.service.running import Running


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("service"))
    yield running
    running.stop()


class Awaited:
    """An `AsyncClient` that tests call like a `Client`."""

    def __init__(self, *args, **options):
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(*args, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def __getattr__(self, name):
        def call(*args, **options):
            given = getattr(self._client, name)(*args, **options)
            if hasattr(given, "__anext__"):
                return self._items(given)
            return self._loop.run_until_complete(given)

        return call

    def _items(self, items):
        while True:
            try:
                yield self._loop.run_until_complete(anext(items))
            except StopAsyncIteration:
                return


@pytest.fixture(params=[Client, Awaited], ids=["blocking", "asynchronous"])
def make_client(request):
    """Both kinds of client: every test of the one is a test of the other."""
    return request.param


@pytest.fixture
def client(service, make_client):
    with make_client(service.url) as made:
        yield made


class _Misbehaving(http.server.BaseHTTPRequestHandler):
    """A service that answers as the test says: with a status, or None to break off.

    An answer is a status, a text and, where it has any, headers.
    """

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.headers.get("Idempotency-Key"), body))
        status, text, *headers = self.server.answers.pop(0)
        if status is None:
            self.close_connection = True
            return
        self.send_response_only(status)
        for name, value in {"Content-Length": len(text), **dict(*headers)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the names that the standard library calls

    def log_message(self, *_):
        pass


@pytest.fixture
def misbehaving():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Misbehaving)
    server.daemon_threads = True
    server.seen, server.answers = [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
