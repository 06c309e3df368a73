"""Forwarding: a request for a pool that another process serves is answered by that one."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import time
from contextlib import suppress

import httpcore
import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pairup.service.api.door import Caller, Sender
from pairup.service.api.responses import send_refusal
from pairup.service.api_keys import EVERY_POOL, Principal
from pairup.service.domain.events import dumps
from pairup.service.pools.ownership import forwarded
from pairup.service.pools.service import Service
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.store import Peer

_MARK = "x-pairup-forwarded"  # with the secret of the process that it is forwarded to
_SENDER = "x-pairup-sender"  # who was found to send it
_CONNECT_S, _LOOK_S, _PAUSE_S = 1.0, 0.25, 0.05
_OWNER_S = 5.0  # for what is only a part of an answer
_KEPT_S = 5.0  # for which a connection is kept, less than the other end waits
# What is between two processes only. A key is not passed on: whose it is was found before.
_BY_HOP = {
    b"authorization",
    b"connection",
    b"content-length",
    b"date",
    b"expect",
    b"keep-alive",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    _MARK.encode(),
    _SENDER.encode(),
    b"x-request-id",
}
_REPEATABLE = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
log = structlog.get_logger()


class _LostError(Exception):
    """The owner has ended, or does not answer; it may have done what was asked."""


class Forwarding:
    """Middleware that asks the owner of a pool, or tells callers where it is.

    A request is forwarded once, to a process that knows the sender by a secret which only the
    processes on the same database can read; it is authenticated and counted by the first one alone.
    While the owner cannot be reached, it is tried again, here or with the next owner; not if the
    owner was lost before it answered, and to do it twice would not be the same as once.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        most = service.settings.max_connections
        kept_s = min(_KEPT_S, service.settings.idle_s / 2)
        self._connections = httpcore.AsyncConnectionPool(
            max_connections=most, max_keepalive_connections=most, keepalive_expiry=kept_s
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        ownership = self._service.pools.cache.ownership
        if scope["type"] != "http" or ownership is None:
            await self._app(scope, receive, send)
            return
        headers, body = Headers(scope=scope), _Body(receive)
        marked, state = _MARK in headers, scope.setdefault("state", {})
        if marked:
            if not hmac.compare_digest(headers[_MARK].encode(), ownership.me.secret.encode()):
                await send_refusal(_misdirected(), scope["path"])(scope, receive, send)
                return
            state["sender"] = _read_sender(headers[_SENDER])
        forwarded.set(marked)
        deadline = time.monotonic() + self._service.settings.wait_s
        while True:
            try:
                await self._app(scope, body.again(), send)
                return
            except MisdirectedError as error:
                elsewhere = error
            if marked:
                await send_refusal(elsewhere, scope["path"])(scope, receive, send)
                return
            if self._service.settings.misdirected == "redirect":
                path = scope["raw_path"].decode() + _query(scope)
                moved = send_refusal(elsewhere, scope["path"], Location=elsewhere.address + path)
                moved.status_code = 307
                await moved(scope, receive, send)
                return
            try:
                if await self._forward(elsewhere, scope, body.read, send):
                    return
            except _LostError:
                if scope["method"] not in _REPEATABLE and "idempotency-key" not in headers:
                    deadline = 0.0
            if time.monotonic() > deadline:
                _note_lost(elsewhere.address)
                await send_refusal(_lost(elsewhere), scope["path"])(scope, receive, send)
                return
            await asyncio.sleep(_PAUSE_S)

    async def _forward(
        self, elsewhere: MisdirectedError, scope: Scope, body: bytes, send: Send
    ) -> bool:
        """Ask the owner and send its answer; returns False if it could not be asked."""
        peer = self._service.pools.cache.peer(elsewhere.owner)
        if peer is None:
            return False
        known = structlog.contextvars.get_contextvars().get("request_id", "")
        headers = [(name, value) for name, value in scope["headers"] if name not in _BY_HOP]
        marks = _marks(peer, scope["state"]["sender"], elsewhere.pool) | {"x-request-id": known}
        headers += [(name.encode(), value.encode()) for name, value in marks.items()]
        if body or scope["method"] not in ("GET", "HEAD", "DELETE"):
            headers.append((b"content-length", str(len(body)).encode()))
        request = httpcore.Request(
            scope["method"],
            peer.address + scope["raw_path"].decode() + _query(scope),
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
        if answer.status == 421:  # it has changed hands
            return False
        kept = [(name, value) for name, value in answer.headers if name.lower() not in _BY_HOP]
        length = [each for each in answer.headers if each[0].lower() == b"content-length"]
        start = {"type": "http.response.start", "status": answer.status}
        await send({**start, "headers": kept + length})
        await send({"type": "http.response.body", "body": answer.content})
        return True

    async def _ask(self, owner: str, request: httpcore.Request) -> httpcore.Response:
        """Send a request, and wait for all of its answer as long as the owner has its lease."""
        asking = asyncio.ensure_future(self._read(request))
        try:
            while not (await asyncio.wait({asking}, timeout=_LOOK_S))[0]:
                if self._service.pools.cache.peer(owner) is None:
                    raise _LostError
            return asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                with suppress(asyncio.CancelledError, httpcore.NetworkError):
                    await asking

    async def _read(self, request: httpcore.Request) -> httpcore.Response:
        answer = await self._connections.handle_async_request(request)
        try:
            await answer.aread()
        finally:
            await answer.aclose()
        return answer


def ask_owner(caller: Caller, elsewhere: MisdirectedError, path: str) -> bytes | None:
    """GET something of a pool from its owner, for a caller, or return None if that fails."""
    peer = caller.service.pools.cache.peer(elsewhere.owner)
    if peer is None:
        return None
    marks = _marks(peer, caller.request.state.sender, elsewhere.pool)
    seconds = dict.fromkeys(("connect", "read", "write", "pool"), _OWNER_S)
    try:
        answer = httpcore.request(
            "GET",
            peer.address + path,
            headers=list(marks.items()),
            extensions={"timeout": seconds},
        )
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
        return None
    return answer.content if answer.status == 200 else None


def _marks(peer: Peer, sender: Sender, pool: str) -> dict[str, str]:
    """Return the headers by which a process knows that another one forwards, and for whom."""
    principal = sender.principal
    scopes = {of: scope for of, scope in principal.scopes.items() if of in (pool, EVERY_POOL)}
    told = {"id": principal.id, "scopes": scopes, "name": principal.name}
    return {_MARK: peer.secret, _SENDER: dumps({**told, "account": sender.account})}


def _read_sender(told: str) -> Sender:
    known = json.loads(told)
    return Sender(Principal(known["id"], known["scopes"], known["name"]), known["account"])


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


def _misdirected() -> RefusalError:
    return RefusalError(
        "misdirected",
        f"the header {_MARK!r} does not have the secret of this process: it is for requests that "
        "other processes on the same database forward, leave it out",
        retry_s=1,
    )


def _note_lost(address: str) -> None:
    local = bool(re.match(r"http://(127\.|\[::1\])", address))
    advice = "if it is on another machine, set PAIRUP_PEER_HOST there" if local else ""
    log.warning("owner not reached", address=address, advice=advice)


def _lost(elsewhere: MisdirectedError) -> RefusalError:
    return RefusalError(
        "owner-lost",
        f"the process at {elsewhere.address}, which served the pool, does not answer, and may have "
        "done what was asked: look, or send the same request again with an Idempotency-Key",
        retry_s=1,
    )
