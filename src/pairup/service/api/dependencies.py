"""Dependencies of routes: who sends a request, what they may do, and its idempotency key."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, cast

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from pairup.service.operations import api_keys
from pairup.service.operations.api_keys import ANYONE, Principal
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases.idempotency import KeyedRequest
from pairup.service.use_cases.service import Service

KEY_SCHEME = "apiKey"
_bearer = HTTPBearer(
    scheme_name=KEY_SCHEME,
    auto_error=False,
    description="An API key, made by `pairup keys create`; on loopback it may not be needed.",
)
_LOCAL = re.compile(r"^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$")
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_PoolOf = Callable[[str], str | None]
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def check_local(request: Request) -> None:
    """Refuse, where no keys are needed, a request that other machines or sites may have caused."""
    headers = request.headers
    host = headers.get("host", "")
    # Otherwise a page from elsewhere could let its name point here, and send what it likes.
    if not _LOCAL.match(host):
        raise RefusalError(
            "unknown-host",
            f"without API keys the service answers to localhost only, got Host {host!r}: "
            "ask http://localhost, or require keys",
        )
    for name in _PROXY_HEADERS:
        if name in headers:
            raise RefusalError(
                "forwarded",
                f"without API keys the service answers this machine only, and {name!r} says that a "
                "proxy passed the request on: require keys, PAIRUP_KEYS=required",
            )
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    own = origin is None or origin.partition("://")[2] == host
    if request.method not in _SAFE_METHODS and not (own and site in ("none", "same-origin")):
        raise RefusalError(
            "foreign-page",
            f"a page of {origin or 'another site'} sent {request.method}: without API keys only "
            "pages of this service may, require keys for others",
        )


class Caller:
    """The sender of a request, and the service that it is sent to."""

    def __init__(self, request: Request, key: str | None) -> None:
        self.service = cast(Service, request.app.state.service)
        self.request, self._key = request, key

    def reauthenticated(self) -> Caller:
        """Return the same caller, whose key is looked up again."""
        return Caller(self.request, self._key)

    @cached_property
    def principal(self) -> Principal:
        """The owner of the API key, or a refusal."""
        limits, client = self.service.limits, self.request.client
        address = f"address {client.host if client else '-'}"
        if not self.service.settings.needs_keys:
            check_local(self.request)
            limits.admit(address)
            return ANYONE
        known = api_keys.find(self.service.store, self._key) if self._key else None
        limits.admit(known.id if known else address)
        if known is None:
            what = "this one is unknown or revoked" if self._key else "none was sent"
            raise RefusalError(
                "key-needed",
                f"an API key is needed, {what}: send `Authorization: Bearer KEY`, with a key from "
                "`pairup keys create`",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return known

    def keyed(self, sent_key: tuple[str, str] | None) -> KeyedRequest | None:
        """Describe the request by its idempotency key and its digest, None without a key."""
        return KeyedRequest(self.principal.id, *sent_key) if sent_key else None

    def require(self, scope: str, pool: str) -> None:
        """Refuse a caller who may not do in a pool what needs `scope`."""
        if not self.principal.may(scope, pool):
            raise RefusalError(
                "scope-needed",
                f"the API key {self.principal.id} does not allow {scope!r} in pool {pool!r}: make "
                f"one with `pairup keys create --scope {pool}:{scope}`",
            )

    def find_pool(
        self, scope: str, id: str, pool_of: _PoolOf, unknown: Callable[[str], RefusalError]
    ) -> str:
        """Return the pool of a thing, in which the caller may do what needs `scope`, or refuse.

        A caller who may not read that pool is not told whether the thing exists.
        """
        principal = self.principal  # or a refusal, before anything is looked up
        pool = pool_of(id)
        if pool is None or not principal.may("read", pool):
            raise unknown(id)
        self.require(scope, pool)
        return pool


async def _caller(  # async though it awaits nothing: otherwise it would cost a thread
    request: Request, bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Caller:
    return Caller(request, bearer.credentials if bearer else None)


CurrentCaller = Annotated[Caller, Depends(_caller)]


_KeyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Key of the request: sent again with it, the request gets its first answer.",
        examples=["3f1d2c7a-order-1042"],
    ),
]


async def _sent_key(request: Request, idempotency_key: _KeyHeader = None) -> tuple[str, str] | None:
    content = f"{request.method} {request.url.path}\n".encode() + await request.body()
    return (idempotency_key, hashlib.sha256(content).hexdigest()) if idempotency_key else None


SentKey = Annotated[tuple[str, str] | None, Depends(_sent_key)]
