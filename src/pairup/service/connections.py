"""Connections: each waits for a limited time, and there are never more than the process can hold.

Uvicorn limits neither the time in which a request must arrive nor the number of connections, and
asyncio tries to accept again and again where file descriptors run out. Uvicorn takes both from
here, by their names: `Connection` speaks HTTP, and `Loop` accepts connections.

All that is used of uvicorn beyond its documented interface is in this file. Any version may change
it: `pyproject.toml` allows only versions that were tried, and
`tests/service/test_uvicorn_internals.py` names what they must have.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import h11
import structlog
from uvicorn.protocols.http.h11_impl import H11Protocol

from pairup.service.api.schemas.problems import MEDIA_TYPE, PROBLEM_TYPES, problem_of
from pairup.service.domain.events import dumps
from pairup.service.observability.metrics import Metrics
from pairup.service.problems import RefusalError
from pairup.service.settings import Settings

_PAUSE_S = 0.05  # between two checks for room, or two reads of an unwanted body
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_EXHAUSTED_PAUSE_S = 1.0
log = structlog.get_logger()


class JoiningTransport:
    """A transport that sends at once what is written in one turn of the event loop.

    Uvicorn writes the head of a response and then its body, which would be two packets, and wake
    the client twice.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send data, together with what else is written in this turn."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def _flush(self) -> None:
        if self._parts:
            self._transport.write(b"".join(self._parts))
            self._parts.clear()

    def close(self) -> None:
        """Close the transport when all that was written is sent."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close the transport at once."""
        self._parts.clear()
        self._transport.abort()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(H11Protocol):
    """A connection whose requests arrive, and whose responses are read, in bounded time."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._settings = cast(Settings, self.app_state["settings"])
        self._metrics = cast(Metrics, self.app_state["metrics"])
        self.timeout_keep_alive = cast(int, self._settings.idle_s)  # a float works too
        self.waiting_since: float | None = None  # None: a request is being answered
        self._limit = ""  # the setting that limits the time for what is on its way
        self._deadline: asyncio.TimerHandle | None = None
        self._reading_deadline: asyncio.TimerHandle | None = None
        self._unwanted = 0  # bytes of a body that came after its response

    @property
    def max_connections(self) -> int:
        """The greatest number of open connections."""
        return self._settings.max_connections

    # A transport that can be written to, as uvicorn's own protocols have it too.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit of the first request."""
        super().connection_made(cast(asyncio.Transport, JoiningTransport(transport, self.loop)))
        self.waiting_since = self.loop.time()
        self._await("header_s")

    def handle_events(self) -> None:
        """Handle what has arrived, and limit the time for the rest."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self.waiting_since = None
        if self.conn.their_state is h11.SEND_BODY:
            self._await("body_s")
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            self._await("header_s")
        else:  # all has arrived, or the next request has not begun and uvicorn limits the time
            self._await("")

    def _await(self, limit: str) -> None:
        """Limit the time for a part of a request; a byte now and then does not prolong it."""
        if limit == self._limit:
            return
        self._limit = limit
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if limit:
            seconds = getattr(self._settings, limit)
            self._deadline = self.loop.call_later(seconds, self._on_too_slow, limit, seconds)

    def _on_too_slow(self, limit: str, seconds: float) -> None:
        self._metrics.limits.labels(limit).inc()
        self._refuse(
            RefusalError(
                "too-slow",
                f"the request did not arrive within {seconds:g} s: send it faster, send less at "
                f"once, or raise the setting {limit}",
            )
        )

    def on_response_complete(self) -> None:
        """Start waiting for the next request."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()
        self._unwanted = 0

    def data_received(self, data: bytes) -> None:
        """Handle what has arrived; read an unwanted body slowly, and no more than of others.

        Closing at once would lose the response to a client that is still sending.
        """
        answered = self.cycle if self.cycle is not None and self.cycle.response_complete else None
        super().data_received(data)
        if self.cycle is answered and self.conn.their_state is h11.SEND_BODY:
            self._unwanted += len(data)
            if self._unwanted > self._settings.max_body_bytes:
                self.transport.abort()
            self.flow.pause_reading()
            self.loop.call_later(_PAUSE_S, self.flow.resume_reading)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or too long for a request."""
        most = self._settings.max_header_bytes
        self._refuse(
            RefusalError(
                "malformed-request",
                "this is not a request of HTTP/1.1, or its address and headers have more than "
                f"{most} bytes: send another, or raise the setting max_header_bytes",
            )
        )

    def _refuse(self, refusal: RefusalError) -> None:
        """Answer with a problem, if no response has begun, and close the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        path = self.scope["path"] if self.scope else "*"
        body = dumps(problem_of(refusal, path)).encode()
        headers = [
            ("content-type", MEDIA_TYPE),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        problem = PROBLEM_TYPES[refusal.slug]
        response = h11.Response(
            status_code=problem.status, headers=headers, reason=problem.title.encode()
        )
        for event in (response, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the route need not wait for the rest
            self.cycle.message_event.set()
        self.transport.close()

    def pause_writing(self) -> None:
        """Limit the time that the client has to read the response."""
        super().pause_writing()
        self._reading_deadline = self.loop.call_later(self._settings.send_s, self._on_unread)

    def resume_writing(self) -> None:
        """Continue when the client has read enough."""
        super().resume_writing()
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()
            self._reading_deadline = None

    def _on_unread(self) -> None:
        self._metrics.limits.labels("send_s").inc()
        self.transport.abort()

    def make_way(self) -> None:
        """Close a connection that waits for a request, because another one needs its place."""
        self._metrics.limits.labels("max_connections").inc()
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limits of this connection."""
        super().connection_lost(exc)
        self._await("")
        if self._reading_deadline is not None:
            self._reading_deadline.cancel()


class Acceptor:
    """Accepts connections while there is room, in the place of asyncio's `Server`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        make_connection: Callable[[], Connection],
        listening: socket.socket,
    ) -> None:
        self._loop, self._make_connection = loop, make_connection
        self.sockets = (listening,)
        self._task = loop.create_task(self._accept_all(listening))

    async def _accept_all(self, listening: socket.socket) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(listening)
            except OSError as error:
                if listening.fileno() < 0:
                    return  # closed
                if error.errno in _EXHAUSTED:
                    log.warning("no connection accepted", why=str(error))
                    await asyncio.sleep(_EXHAUSTED_PAUSE_S)
                continue  # otherwise the client has given up
            # The second of two writes would wait for the client's ACK, 40 ms. asyncio does not see
            # that a socket given to it is one of TCP.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = self._make_connection()
            while not _has_room(connection):
                await asyncio.sleep(_PAUSE_S)
            try:
                await self._loop.connect_accepted_socket(partial(_itself, connection), accepted)
            except OSError:  # it has gone already
                accepted.close()

    def close(self) -> None:
        """Accept no more."""
        self._task.cancel()

    async def wait_closed(self) -> None:
        """Wait until it accepts no more."""
        await asyncio.wait([self._task])


def _itself(connection: Connection) -> Connection:
    return connection


def _has_room(connection: Connection) -> bool:
    """Return whether one more fits, if need be in place of the one that has waited longest."""
    others = cast(set[Connection], connection.connections)
    if len(others) < connection.max_connections:
        return True
    waiting = [each for each in others if each.waiting_since is not None]
    if not waiting:
        return False  # all of them are being answered
    min(waiting, key=lambda each: each.waiting_since or 0.0).make_way()
    return True


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose servers accept connections while there is room."""

    async def create_server(  # type: ignore[override]  # only what uvicorn asks for
        self,
        protocol_factory: Callable[[], Connection],
        *,
        sock: socket.socket,
        backlog: int = 100,
        **_: Any,
    ) -> Acceptor:
        """Accept connections to a socket."""
        sock.setblocking(False)
        sock.listen(backlog)
        return Acceptor(self, protocol_factory, sock)
