"""Dependencies of routes: who sends a request, what they may do, and its idempotency key.

The door comes first: a route takes its caller from `door`, which decides by key, rate and scope
before it looks at the address or reads any of the body. The middleware has checked the size before
that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPBearer
from fastapi.security.base import SecurityBase
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect

from pairup.service import api_keys
from pairup.service.api.bodies import invalid_request, read_json
from pairup.service.api.schemas.fields import GameId, MatchingId
from pairup.service.api_keys import ANYONE, Principal
from pairup.service.pools.idempotency import KeyedRequest
from pairup.service.pools.service import Service
from pairup.service.problems import RefusalError

M = TypeVar("M", bound=BaseModel)
KEY_SCHEME = "apiKey"
_bearer = HTTPBearer(
    scheme_name=KEY_SCHEME,
    auto_error=False,
    description="An API key, made by `pairup keys create`; on loopback it may not be needed.",
)
_LOCAL = re.compile(r"^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$")
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_WITHOUT_BODY = (*_SAFE_METHODS, "DELETE")
_IDS: dict[str, TypeAdapter[str]] = {
    "game": TypeAdapter(GameId),
    "matching": TypeAdapter(MatchingId),
}


def check_local(request: Request) -> None:
    """Refuse, where no keys are needed, a request that other machines or sites may have caused."""
    headers = request.headers
    host = headers.get("host", "")
    # Otherwise a page could point a host name of its own at us (DNS rebinding).
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


@dataclass(frozen=True)
class Sender:
    """Who sends a request, as found by the process that it reached first, which admitted it."""

    principal: Principal
    account: str  # whose requests and events are counted: those of a key, or of an address


class Caller:
    """The sender of a request, and the service that it is sent to."""

    body = b""  # read by a door only

    def __init__(self, request: Request, api_key: str | None) -> None:
        self.service = cast(Service, request.app.state.service)
        self.request, self._api_key = request, api_key
        self._pool: str | None = None

    @property
    def principal(self) -> Principal:
        """The owner of the API key, or a refusal."""
        return self._sender.principal

    @property
    def account(self) -> str:
        """Whose requests and events are counted."""
        return self._sender.account

    @cached_property
    def _sender(self) -> Sender:
        """Who sends the request, or a refusal: decided once, by whom it reaches first."""
        state = self.request.state
        if not hasattr(state, "sender"):
            state.sender = self._admit()
        return cast(Sender, state.sender)

    def _admit(self) -> Sender:
        limits, client = self.service.limits, self.request.client
        address = f"address {client.host if client else '-'}"
        if not self.service.settings.needs_keys:
            check_local(self.request)
            limits.admit(address)
            return Sender(ANYONE, address)
        known = self._find(self._api_key) if self._api_key else None
        limits.admit(known.id if known else address)
        if known is None:
            what = "this one is unknown, revoked or expired" if self._api_key else "none was sent"
            raise RefusalError(
                "key-needed",
                f"an API key is needed, {what}: send `Authorization: Bearer KEY`, with a key from "
                "`pairup keys create`",
            )
        return Sender(known, known.id)

    def _find(self, api_key: str) -> Principal | None:
        return api_keys.find(self.service.store, api_key, self.service.clock.now())

    def keyed(self, idempotency_key: str | None) -> KeyedRequest | None:
        """Describe the request by its idempotency key and its digest, None without one."""
        if idempotency_key is None:
            return None
        content = f"{self.request.method} {self.request.url.path}\n".encode() + self.body
        return KeyedRequest(self.principal.id, idempotency_key, hashlib.sha256(content).hexdigest())

    def read(self, model: type[M], **options: Any) -> M:
        """Return the body as a model, or refuse it; the options are those of `read_json`."""
        sent_as, wait_s = self.request.headers.get("content-type", ""), self.service.settings.wait_s
        return read_json(self.body, sent_as, model, wait_s=wait_s, **options)

    def require(self, scope: str, pool: str) -> None:
        """Refuse a caller who may not do in a pool what needs `scope`."""
        if not self.principal.may(scope, pool):
            raise RefusalError(
                "scope-needed",
                f"the API key {self.principal.id} does not allow {scope!r} in pool {pool!r}: make "
                f"one with `pairup keys create --scope {pool}:{scope}`",
            )

    def require_anywhere(self, scope: str) -> None:
        """Refuse a caller who may do what needs `scope` in no pool at all."""
        if scope not in self.principal.scopes.values():
            raise RefusalError(
                "scope-needed",
                f"the API key {self.principal.id} allows {scope!r} in no pool: make one with "
                f"`pairup keys create --scope NAME:{scope}`",
            )

    def find_pool(self, scope: str, id: str, unknown: Callable[[str], RefusalError]) -> str:
        """Return the pool of a thing, in which the caller may do what needs `scope`, or refuse.

        A caller who may not read that pool does not learn whether the thing exists.
        """
        principal = self.principal  # or a refusal, before anything is looked up
        if self._pool is None:  # otherwise found at the door
            self._pool = self.service.pool_of(id)
        if self._pool is None or not principal.may("read", self._pool):
            raise unknown(id)
        self.require(scope, self._pool)
        return self._pool

    def id_in_path(self, name: str) -> str:
        """Return an id in the address of the request, or refuse what cannot be one."""
        self.principal  # noqa: B018 # or a refusal: strangers do not learn what an id looks like
        try:
            return _IDS[name].validate_python(self.request.path_params[name])
        except ValidationError as error:
            found = [{**each, "loc": ("path", name)} for each in error.errors(include_url=False)]
            raise invalid_request(found) from None


class Entrance(SecurityBase):
    """A dependency that finds the caller of a route by the API key, and admits nobody yet.

    It is one dependency, and says itself that it takes a key: FastAPI spends as much on each as a
    small query takes.
    """

    model, scheme_name = _bearer.model, KEY_SCHEME

    async def __call__(self, request: Request) -> Caller:
        """Return the caller."""
        bearer = await _bearer(request)
        return Caller(request, bearer.credentials if bearer else None)


class Door(Entrance):
    """A dependency that admits the caller of a route, and then reads the body, if it has one.

    Where keys are needed, `check` refuses callers whose key does not allow this. Nothing is read of
    the body of a caller who is refused, and nothing is said about the address.
    """

    def __init__(self, check: Callable[[Caller], object]) -> None:
        self._check = check

    async def __call__(self, request: Request) -> Caller:
        """Return the caller, or refuse."""
        caller = await super().__call__(request)
        if caller.service.settings.needs_keys:  # they are in the database, hence a thread
            account = await run_in_threadpool(self._decide, caller)
        else:
            account = caller.account
        caller.service.limits.charge(account)  # in this context, which is not the thread's
        if request.method in _WITHOUT_BODY:
            return caller
        try:
            caller.body = await request.body()
        except ClientDisconnect:
            raise RefusalError("malformed-request", "the body broke off: send it again") from None
        return caller

    def _decide(self, caller: Caller) -> str:
        account = caller.account  # or a refusal, before anything else is looked at
        self._check(caller)
        return account


def door(check: Callable[[Caller], object]) -> Any:
    """Make the dependency of a route on a door; see `Door`."""
    return Depends(Door(check))


CurrentCaller = Annotated[Caller, Depends(Entrance())]


def _allows(scope: str) -> Any:
    return door(lambda caller: caller.require(scope, caller.request.path_params["pool"]))


KnownCaller = Annotated[Caller, door(lambda caller: None)]  # of any valid key
PoolReader = Annotated[Caller, _allows("read")]
PoolWriter = Annotated[Caller, _allows("write")]
PoolAdmin = Annotated[Caller, _allows("admin")]


# A parameter, whose default is None: FastAPI reads it after all dependencies, the door included.
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Key of the request: sent again with it, the request gets its first reply.",
        examples=["3f1d2c7a-order-1042"],
    ),
]
