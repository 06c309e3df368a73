"""What all routes share: who asks, what it may do, and how it is answered."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from pairup.service.api.schemas.fields import PRINTABLE
from pairup.service.domain.events import dumps
from pairup.service.operations import keys
from pairup.service.operations.keys import ANYONE, Principal
from pairup.service.problem_details import KINDS, MEDIA_TYPE, RefusalError
from pairup.service.use_cases.idempotency import Answer, Repeatable
from pairup.service.use_cases.service import Service

_bearer = HTTPBearer(auto_error=False, description="An API key, made by `pairup keys create`.")
_LOCAL = re.compile(r"^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$")
_BY_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_SAFE = ("GET", "HEAD", "OPTIONS")
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Sent again with the same request, it gets the first answer again.",
    ),
]


def check_local(request: Request) -> None:
    """Refuse, where no keys are needed, what does not come from this machine of its own accord."""
    headers = request.headers
    host = headers.get("host", "")
    # Or a page from elsewhere could have its name point here, and send what it likes.
    if not _LOCAL.match(host):
        raise RefusalError(
            "unknown-host",
            f"without API keys the service answers to localhost only, got Host {host!r}: "
            "ask http://localhost, or require keys",
        )
    for name in _BY_PROXIES:
        if name in headers:
            raise RefusalError(
                "forwarded",
                f"without API keys the service answers this machine only, and {name!r} says that a "
                "proxy passed the request on: require keys, PAIRUP_KEYS=required",
            )
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    ours = origin is None or origin.partition("://")[2] == host
    if request.method not in _SAFE and not (ours and site in ("none", "same-origin")):
        raise RefusalError(
            "foreign-page",
            f"a page of {origin or 'another site'} sent {request.method}: without API keys only "
            "pages of this service may, require keys for others",
        )


class Caller:
    """A request's maker and its service."""

    def __init__(self, request: Request, key: str | None) -> None:
        self.service = cast(Service, request.app.state.service)
        self.request = request
        self._key = key
        self._principal: Principal | None = None

    def again(self) -> Caller:
        """Return the same caller, of whom nothing is known yet."""
        return Caller(self.request, self._key)

    @property
    def principal(self) -> Principal:
        """Who asks, or a refusal."""
        if self._principal is None:
            self._principal = self._identified()
        return self._principal

    def _identified(self) -> Principal:
        if not self.service.settings.needs_keys:
            check_local(self.request)
            return ANYONE
        known = keys.find(self.service.store, self._key) if self._key else None
        if known is None:
            what = "it is unknown or revoked" if self._key else "none was sent"
            raise RefusalError(
                "key-needed",
                f"an API key is needed, {what}: send `Authorization: Bearer KEY`, with a key from "
                "`pairup keys create`",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return known

    def need(self, scope: str, pool: str) -> None:
        """Refuse who may not do in a pool what needs `scope`."""
        if not self.principal.may(scope, pool):
            raise RefusalError(
                "scope-needed",
                f"the API key {self.principal.id} does not allow {scope!r} in pool {pool!r}: make "
                f"one with `pairup keys create --scope {pool}:{scope}`",
            )

    def pool(self, name: str, scope: str) -> str:
        """Return the id of a pool in which `scope` is allowed."""
        self.need(scope, name)
        return self.service.find(name)


async def _caller(  # async though it awaits nothing: otherwise it would cost a thread
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    return Caller(request, bearer.credentials if bearer else None)


Asks = Annotated[Caller, Depends(_caller)]


class Once:
    """How a POST is done once: its idempotency key and its body."""

    def __init__(self, key: str | None, request: Request, body: bytes) -> None:
        self._key, self._request, self._body = key, request, body

    def by(self, caller: Caller) -> Repeatable | None:
        """Describe the request, if it has a key."""
        if self._key is None:
            return None
        path = self._request.url.path
        owner = caller.principal.id
        return Repeatable.of(owner, self._key, self._request.method, path, self._body)


async def _once(request: Request, idempotency_key: IdempotencyKey = None) -> Once:
    return Once(idempotency_key, request, await request.body())


DoneOnce = Annotated[Once, Depends(_once)]


def respond(answer: Answer) -> Response:
    """Turn an answer into a response."""
    media = "application/json" if answer.text else None
    return Response(answer.text, answer.status, answer.headers, media)


def shown(body: Any, status: int = 200) -> Response:
    """Answer with a body."""
    return respond(Answer.of(status, body))


def refused(problem: RefusalError, path: str) -> Response:
    """Turn a problem into a response."""
    body = dumps(problem.as_json(path))
    return Response(body, problem.kind.status, problem.headers, MEDIA_TYPE)


_ALWAYS = (400, 401, 403, 413, 422, 503, 507)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer with, the usual ones included."""
    schema = {"$ref": "#/components/schemas/ProblemView"}
    return {
        status: {
            "description": "; ".join(k.title for k in KINDS.values() if k.status == status),
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in sorted({*statuses, *_ALWAYS})
    }


def at_most(what: str, items: Sequence[Any], most: int, setting: str) -> None:
    """Refuse a list that is too long."""
    if len(items) > most:
        raise RefusalError(
            "too-large",
            f"{len(items)} {what} were sent, at most {most} are taken at once: send fewer, or "
            f"raise the setting {setting}",
            {"most": most},
        )


def page_size(limit: int | None, most: int) -> int:
    """Return how many items a page has."""
    if limit is not None and limit > most:
        raise RefusalError(
            "invalid-request",
            f"limit must be at most {most}, got {limit}: ask for less, and go on with the cursor",
        )
    return min(limit or 100, most)


def cursor_of(last: str) -> str:
    """Make the cursor of the page after `last`."""
    return base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")


def after_cursor(cursor: str | None) -> str:
    """Read a cursor back."""
    if cursor is None:
        return ""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        read = base64.b64decode(padded, b"-_", validate=True).decode()
        if read and not re.match(PRINTABLE, read):
            raise ValueError("no name has such characters")
        return read
    except (binascii.Error, ValueError):
        raise RefusalError(
            "invalid-request",
            f"the cursor {cursor!r} is none of ours: send the `next` of the page before",
        ) from None
