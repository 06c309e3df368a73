"""Middleware: the id, the log line, the measured time and the limited size of every request."""

from __future__ import annotations

import re
import secrets
import time

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pairup.service.api.responses import send_refusal
from pairup.service.observability.metrics import Metrics
from pairup.service.problems import RefusalError
from pairup.service.settings import Settings

_METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
_REQUEST_ID = re.compile(r"^[A-Za-z0-9_.-]{1,64}$")
log = structlog.get_logger()


class RequestObserver:
    """Middleware that numbers each request, logs one line about it and measures it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id, began = Headers(scope=scope).get("x-request-id", ""), time.perf_counter()
        id = id if _REQUEST_ID.match(id) else secrets.token_hex(8)
        status, began_to_answer = 500, False

        async def sending(message: Message) -> None:
            nonlocal status, began_to_answer
            if message["type"] == "http.response.start":
                status, began_to_answer = message["status"], True
                message["headers"] = [*message["headers"], (b"x-request-id", id.encode())]
            await send(message)

        structlog.contextvars.bind_contextvars(request_id=id)
        try:
            await self._app(scope, receive, sending)
        except Exception:
            log.exception("error", path=scope["path"])
            if began_to_answer:
                raise  # the response is incomplete, so the connection must break off
            detail = f"an internal error occurred: look for {id!r} in the service's log"
            refusal = RefusalError("internal-error", detail, {"request_id": id})
            await send_refusal(refusal, scope["path"])(scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - began)
            structlog.contextvars.clear_contextvars()

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        # Otherwise callers could create any number of labels.
        known = scope["method"] in _METHODS and route != "unmatched"
        method = scope["method"] if known else "other"
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        # A service that is not ready yet is not an error.
        fine = status < 500 or scope["path"] == "/readyz"
        say = log.info if fine else log.error if status == 500 else log.warning
        milliseconds = round(1000 * seconds, 2)
        say("request", method=scope["method"], path=scope["path"], status=status, ms=milliseconds)


class SizeLimits:
    """Refuses headers and bodies that are too large, whether or not their length was announced."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._max_bytes = app, settings.max_body_bytes
        self._max_proposal_bytes = max(settings.max_proposal_bytes, settings.max_body_bytes)
        self._max_header_bytes = settings.max_header_bytes
        self._max_all_bytes, self._all_bytes = settings.max_bodies_bytes, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refuse_at_once(scope)
        if refusal is not None:
            await send_refusal(refusal, scope["path"])(scope, receive, send)
            return
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            length = len(message.get("body", b""))
            size, self._all_bytes = size + length, self._all_bytes + length
            if problem := self._body_problem(scope, size):
                raise problem
            return message

        try:
            await self._app(scope, receiving, send)
        finally:
            self._all_bytes -= size

    def _refuse_at_once(self, scope: Scope) -> RefusalError | None:
        """Return the refusal of a request whose headers, or whose announced body, are too large."""
        size = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
        size += sum(len(name) + len(value) for name, value in scope["headers"])
        if size > self._max_header_bytes:
            return RefusalError(
                "headers-too-large",
                f"the address and headers have {size} bytes, at most {self._max_header_bytes} are "
                "taken: send less, or raise the setting max_header_bytes",
                {"most": self._max_header_bytes},
            )
        told = Headers(scope=scope).get("content-length", "")
        return self._body_problem(scope, int(told[:20]) if told.isdigit() else 0)

    def _body_problem(self, scope: Scope, size: int) -> RefusalError | None:
        """Return the refusal of a body of this size, or of any body while too many bytes wait."""
        proposes = scope["method"] == "POST" and scope["path"].endswith("/matchings")
        most = self._max_proposal_bytes if proposes else self._max_bytes
        if size > most:
            setting = "max_proposal_bytes" if proposes else "max_body_bytes"
            return RefusalError(
                "too-large",
                f"the body has more than {most} bytes: send less at once, or raise the setting "
                f"{setting}",
                {"most": most},
            )
        if self._all_bytes > self._max_all_bytes:
            return RefusalError(
                "too-much-at-once",
                f"more than {self._max_all_bytes} bytes of bodies have arrived and are not "
                "answered: send it again later, or raise the setting max_bodies_bytes",
                retry_s=1,
            )
        return None
