"""Forwarding: a request for a pool that another process serves is answered by that one."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

import httpcore
import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pairup.service.api.responses import send_refusal
from pairup.service.pools.ownership import forwarded
from pairup.service.pools.service import Service
from pairup.service.problems import ElsewhereError, RefusalError

_MARK = "x-pairup-forwarded"  # a request that has it is forwarded no further
_CONNECT_S, _LOOK_S, _PAUSE_S = 1.0, 0.25, 0.05
_OWNER_S = 5.0  # for what is only a part of an answer
_KEPT_S = 5.0  # for which a connection is kept: less than the shortest that the other end waits
_BY_HOP = {
    b"connection",
    b"content-length",
    b"expect",
    b"keep-alive",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    _MARK.encode(),
    b"x-request-id",
}
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
log = structlog.get_logger()


class _LostError(Exception):
    """The owner has ended, or does not answer; it may have done what was asked."""


class Forwarding:
    """Middleware that asks the owner of a pool, or tells callers where it is.

    A request is forwarded once, as it came, key and idempotency key included. While the owner
    cannot be reached, it is tried again, here or with the next owner; not if the owner was lost
    before it answered, and to do it twice would not be the same as once.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        most = service.settings.max_connections
        self._connections = httpcore.AsyncConnectionPool(
            max_connections=most, max_keepalive_connections=most, keepalive_expiry=_KEPT_S
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or self._service.pools.cache.ownership is None:
            await self._app(scope, receive, send)
            return
        marked, body = _MARK in Headers(scope=scope), _Body(receive)
        forwarded.set(marked)
        deadline = time.monotonic() + self._service.settings.wait_s
        while True:
            try:
                await self._app(scope, body.again(), send)
                return
            except ElsewhereError as error:
                elsewhere = error
            if marked:
                await send_refusal(elsewhere, scope["path"])(scope, receive, send)
                return
            if self._service.settings.elsewhere == "redirect":
                path = scope["raw_path"].decode() + _query(scope)
                moved = send_refusal(elsewhere, scope["path"], Location=elsewhere.address + path)
                moved.status_code = 307
                await moved(scope, receive, send)
                return
            try:
                if await self._forward(elsewhere, scope, body.read, send):
                    return
            except _LostError:
                repeatable = scope["method"] in _REPEATABLE
                if not repeatable and "idempotency-key" not in Headers(scope=scope):
                    deadline = 0.0
            if time.monotonic() > deadline:
                await send_refusal(_lost(elsewhere), scope["path"])(scope, receive, send)
                return
            await asyncio.sleep(_PAUSE_S)

    async def _forward(
        self, elsewhere: ElsewhereError, scope: Scope, body: bytes, send: Send
    ) -> bool:
        """Ask the owner and send its answer; returns False if it could not be asked."""
        known = structlog.contextvars.get_contextvars().get("request_id", "")
        headers = [(name, value) for name, value in scope["headers"] if name not in _BY_HOP]
        headers += [(_MARK.encode(), b"1"), (b"x-request-id", known.encode())]
        if body or scope["method"] not in ("GET", "HEAD", "DELETE"):
            headers.append((b"content-length", str(len(body)).encode()))
        request = httpcore.Request(
            scope["method"],
            elsewhere.address + scope["raw_path"].decode() + _query(scope),
            headers=headers,
            content=body,
            extensions={"timeout": {"connect": _CONNECT_S, "pool": _CONNECT_S}},
        )
        try:
            answer = await self._ask(elsewhere.owner, request)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout):
            return False
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise _LostError from error
        try:
            if answer.status == 421:  # it has changed hands
                return False
            kept = [(name, value) for name, value in answer.headers if name.lower() not in _BY_HOP]
            length = [each for each in answer.headers if each[0].lower() == b"content-length"]
            start = {"type": "http.response.start", "status": answer.status}
            await send({**start, "headers": kept + length})
            async for part in answer.aiter_stream():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await answer.aclose()
        return True

    async def _ask(self, owner: str, request: httpcore.Request) -> httpcore.Response:
        """Send a request, and wait for its answer as long as the owner has its lease."""
        ownership = self._service.pools.cache.ownership
        asking = asyncio.ensure_future(self._connections.handle_async_request(request))
        try:
            while not (await asyncio.wait({asking}, timeout=_LOOK_S))[0]:
                if ownership is None or not ownership.is_live(owner):
                    raise _LostError
            return asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                with suppress(asyncio.CancelledError, httpcore.NetworkError):
                    await asking


def ask_owner(elsewhere: ElsewhereError, path: str, headers: Headers) -> bytes | None:
    """GET something of a pool from its owner, for the sender of some headers, None if it fails."""
    sent: dict[str | bytes, str | bytes] = {
        name: headers[name] for name in ("host", "authorization") if name in headers
    }
    seconds = dict.fromkeys(("connect", "read", "write", "pool"), _OWNER_S)
    try:
        answer = httpcore.request(
            "GET",
            elsewhere.address + path,
            headers={**sent, _MARK: "1"},
            extensions={"timeout": seconds},
        )
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
        return None
    return answer.content if answer.status == 200 else None


class _Body:
    """The body of a request, of which what was read can be read again."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._kept = receive, list[Message]()

    def again(self) -> Receive:
        """Return what receives the body from its beginning."""
        place = 0

        async def receiving() -> Message:
            nonlocal place
            if place == len(self._kept):
                message = await self._receive()
                if message["type"] != "http.request":
                    return message
                self._kept.append(message)
            place += 1
            return self._kept[place - 1]

        return receiving

    @property
    def read(self) -> bytes:
        """What was read of it."""
        return b"".join(message.get("body", b"") for message in self._kept)


def _query(scope: Scope) -> str:
    query = scope.get("query_string", b"").decode()
    return f"?{query}" if query else ""


def _lost(elsewhere: ElsewhereError) -> RefusalError:
    return RefusalError(
        "owner-lost",
        f"the process at {elsewhere.address}, which served the pool, does not answer, and may have "
        "done what was asked: look, or send the same request again with an Idempotency-Key",
        retry_s=1,
    )
