"""Connections of clients that are slow, idle or many: the others are served nevertheless."""

import asyncio
import contextlib
import resource
import socket
import time

import httpx
import psutil
import pytest

from pairup.service.connections import JoiningTransport, Loop
from tests.support.service.processes import Process

_HALF_SENT = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
_HALF_BODY = (
    b"POST /v1/pools HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b'Content-Length: 1000\r\n\r\n{"name"'
)
_WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
_OPEN_FILES = 256
_FEW = {"max_connections": 8, "header_s": 0.5, "body_s": 0.5, "send_s": 0.5, "idle_s": 0.5}


@contextlib.contextmanager
def serving(tmp_path, before=None, **settings):
    process = Process(str(tmp_path / "pools.db"), tmp_path / "log", **settings)
    process.start(before=before)
    try:
        assert process.wait(), process.said()
        yield process
    finally:
        assert process.stop() == 0, process.said()


@contextlib.contextmanager
def connections(process, count, sent=b""):
    """Open connections, and send something on each."""
    port = int(process.url.rpartition(":")[2])
    opened = [socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(count)]
    try:
        for each in opened:
            with contextlib.suppress(ConnectionError):  # closed because there are so many
                each.sendall(sent)
        yield opened
    finally:
        for each in opened:
            each.close()


def everything(connection):
    """Read until the other end closes."""
    read = b""
    with contextlib.suppress(ConnectionError):
        while some := connection.recv(65_536):
            read += some
    return read


def limits_met(process):
    """Read how often each limit was met."""
    text = httpx.get(f"{process.url}/metrics").text
    counts = [line.split('"') for line in text.splitlines() if line.startswith("pairup_limits_tot")]
    return {limit: float(count.strip("} ")) for _, limit, count in counts}


@pytest.mark.parametrize(
    ("sent", "limit"), [(b"", "header_s"), (_HALF_SENT, "header_s"), (_HALF_BODY, "body_s")]
)
def test_what_does_not_arrive_in_time_is_refused(tmp_path, sent, limit):
    with serving(tmp_path, **_FEW) as process, connections(process, 3, sent) as slow:
        slow[0].sendall(b"x")  # a byte now and then does not help
        for each in slow:
            answer = everything(each)
            assert answer.startswith(b"HTTP/1.1 408 "), answer
            assert b'"/problems/too-slow"' in answer
            assert limit.encode() in answer
        assert limits_met(process) == {limit: 3.0}


def test_an_idle_connection_is_closed(tmp_path):
    with serving(tmp_path, **_FEW) as process, connections(process, 1, _WHOLE * 2) as idle:
        answer = everything(idle[0])
        assert answer.count(b"HTTP/1.1 200 ") == 2
        assert limits_met(process) == {}


def test_a_client_that_does_not_read_its_answer_is_cut_off(tmp_path):
    many = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400
    with serving(tmp_path, **_FEW) as process, connections(process, 1, many):
        deadline = time.monotonic() + 20
        while not limits_met(process) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert limits_met(process) == {"send_s": 1.0}


@pytest.mark.parametrize("sent", [b"", _HALF_SENT, _WHOLE])
def test_connections_that_wait_make_way_for_others(tmp_path, sent):
    with (
        serving(tmp_path, max_connections=8) as process,
        connections(process, 40, sent),
    ):
        assert httpx.get(f"{process.url}/healthz", timeout=5).status_code == 200
        assert limits_met(process)["max_connections"] >= 32


def test_connections_that_are_being_answered_do_not_make_way(tmp_path):
    """They hold the place until the time for their body is over; then others are accepted."""
    few = {**_FEW, "body_s": 1.5}
    with serving(tmp_path, **few) as process, connections(process, 8, _HALF_BODY) as slow:
        time.sleep(0.3)
        with connections(process, 1, _WHOLE) as (other,):
            assert b"408" in everything(slow[0])
            assert other.recv(100).startswith(b"HTTP/1.1 200 ")


def allow_few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))


def test_without_file_descriptors_it_neither_spins_nor_floods_its_log(tmp_path):
    with serving(tmp_path, allow_few_files) as process:
        watched = psutil.Process(process.pid)
        with connections(process, 300):  # more than the files it may open
            assert httpx.get(f"{process.url}/healthz", timeout=5).status_code == 200
        most = watched.num_fds()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, _OPEN_FILES))  # no more
        with connections(process, 300, _WHOLE) as waiting:
            time.sleep(0.3)
            before, log = sum(watched.cpu_times()[:2]), (tmp_path / "log").stat().st_size
            time.sleep(1.0)
            assert sum(watched.cpu_times()[:2]) - before < 0.5
            assert (tmp_path / "log").stat().st_size - log < 20_000
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
            assert waiting[-1].recv(100).startswith(b"HTTP/1.1 200 ")
    assert "fewer connections" in (tmp_path / "log").read_text()


def test_what_is_not_http_gets_a_problem(tmp_path):
    with serving(tmp_path, **_FEW) as process:
        for nonsense in (b"\x16\x03\x01 hello\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 20_000):
            with connections(process, 1, nonsense) as (connection,):
                answer = everything(connection)
                assert answer.startswith(b"HTTP/1.1 400 "), answer
                assert b'"/problems/malformed-request"' in answer


def hang():
    """Let a request take its thread for good, without an end that Python could interrupt."""
    from pairup.service.pools.service import Service

    def sleep(self, name):
        time.sleep(600)

    Service.show_pool = sleep


def test_a_request_that_hangs_does_not_keep_the_process_from_ending(tmp_path):
    process = Process(str(tmp_path / "pools.db"), tmp_path / "log", graceful_s=1)
    process.start(before=hang)
    assert process.wait(), process.said()
    with connections(process, 1, _WHOLE.replace(b"/healthz", b"/v1/pools/chess")):
        time.sleep(0.2)
        began = time.monotonic()
        assert process.stop() == 1
        assert time.monotonic() - began < 10
    assert "ended by force" in (tmp_path / "log").read_text()


class RecordingTransport:
    """A transport that notes what is asked of it."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        return lambda *arguments: self.asked.append((name, *arguments))


async def _written(*calls):
    """Return what a transport is asked in the same turn of the event loop and in the next one."""
    under = RecordingTransport()
    transport = JoiningTransport(under, asyncio.get_running_loop())
    for name, *arguments in calls:
        getattr(transport, name)(*arguments)
    at_once = list(under.asked)
    await asyncio.sleep(0)
    return at_once, under.asked


def test_head_and_body_of_an_answer_are_sent_together():
    written = asyncio.run(_written(("write", b"head"), ("write", b"body")))
    assert written == ([], [("write", b"headbody")])


def test_what_was_written_is_sent_before_a_connection_is_closed():
    sent = [("write", b"head"), ("close",)]
    assert asyncio.run(_written(("write", b"head"), ("close",))) == (sent, sent)


def test_nothing_is_sent_after_a_connection_was_aborted():
    assert asyncio.run(_written(("write", b"head"), ("abort",))) == ([("abort",)], [("abort",)])


def test_an_answer_is_sent_without_delay():
    """What is written later does not wait until the client has confirmed what came before."""
    options = []

    class Noting(asyncio.Protocol):
        connections, max_connections = (), 1

        def connection_made(self, transport):
            accepted = transport.get_extra_info("socket")
            options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            transport.close()

    async def connect():
        listening = socket.create_server(("127.0.0.1", 0))
        server = await asyncio.get_running_loop().create_server(Noting, sock=listening)
        with socket.create_connection(listening.getsockname()) as client:
            while not options:
                await asyncio.sleep(0.01)
            client.close()
        server.close()
        await server.wait_closed()
        listening.close()

    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(connect())
    assert options[0]
