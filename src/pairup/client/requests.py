"""Descriptions of requests, and the refusal of one. They send nothing: both clients send them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Generic, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from pairup.errors import ClientError

T = TypeVar("T")


class RefusedError(ClientError):
    """The service refused a request, with a problem as defined by RFC 9457.

    Attributes
    ----------
    type : str
        Stable name of the problem, for example ``/problems/no-such-pool``.
    kind : str
        Last part of the type.
    status : int
        HTTP status.
    detail : str
        The value, the rule and the way out.
    fields : dict
        The whole problem; some kinds have further fields, for example what is stored.

    Examples
    --------
    >>> try:
    ...     raise RefusedError({"type": "/problems/no-such-pool", "status": 404, "detail": "gone"})
    ... except RefusedError as refused:
    ...     print(refused.kind, refused.status, refused)
    no-such-pool 404 gone
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.fields = dict(fields)
        self.type = str(fields.get("type", "about:blank"))
        self.status = int(fields.get("status", 0))
        self.detail = str(fields.get("detail", ""))
        self.kind = self.type.rpartition("/")[2]

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request and the type of its result: a schema of the service, bytes, or the type of None.

    A body of bytes is sent as it is, any other as JSON.
    """

    method: str
    path: str
    result: type[T]
    body: object = None
    query: Mapping[str, object] = field(default_factory=dict)

    def build(
        self, client: httpx.Client | httpx.AsyncClient, accept: str = "application/json"
    ) -> httpx.Request:
        """Return the request as HTTP; a POST has an idempotency key, so that it is done once."""
        accept = "*/*" if self.result is bytes else accept
        headers, content = {"Accept": accept}, None
        if self.method == "POST":
            headers["Idempotency-Key"] = secrets.token_hex(16)
        if isinstance(self.body, bytes):
            headers["Content-Type"], content = "application/octet-stream", self.body
        elif self.body is not None:
            headers["Content-Type"], content = "application/json", to_json(self.body)
        params = {name: str(value) for name, value in self.query.items() if value is not None}
        return client.build_request(
            self.method, self.path, params=params, headers=headers, content=content
        )

    def read(self, response: httpx.Response, attempt: int = 1) -> T:
        """Return the result, or raise the refusal.

        What is deleted and then not found was deleted by an attempt whose response was lost.
        """
        lost = self.method == "DELETE" and response.status_code == 404 and attempt > 1
        if not (response.is_success or lost):
            raise refusal(response)
        if self.result is bytes:
            return cast(T, response.content)
        return self.parse(response.content)

    def parse(self, text: str | bytes) -> T:
        """Read the result from JSON."""
        result: Any = self.result
        if result is type(None):
            return cast(T, None)
        try:
            return cast(T, _reader(result).validate_json(text))
        except ValidationError as error:
            raise ClientError(
                f"the response to {self.method} {self.path} is not a {self.result.__name__} "
                f"({error.errors()[0]['msg']}): check the address, and that the service has the "
                "same version of pairup"
            ) from error


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list that comes in pages: how the first one is requested, and how each is read."""

    first: Request[Any]
    items: Callable[[Any], Sequence[T]]
    next_query: Callable[[Any], Mapping[str, object] | None]  # None after the last page

    def after(self, page: object) -> Request[Any] | None:
        """Return the request for the next page, None after the last one."""
        query = self.next_query(page)
        return None if query is None else replace(self.first, query={**self.first.query, **query})


@dataclass(frozen=True)
class Stream(Generic[T]):
    """Server-sent events; the result of the request is the type of each."""

    request: Request[T]


@cache
def _reader(result: Any) -> TypeAdapter[Any]:
    return TypeAdapter(result)


def asked_wait_s(response: httpx.Response) -> float:
    """Return the seconds after which the service asks to be asked again (`Retry-After`), or 0.

    It is a number of seconds or a date, which is compared with the date of the service's own clock.

    Examples
    --------
    >>> asked_wait_s(httpx.Response(429, headers={"Retry-After": "7"}))
    7.0
    """
    asked = response.headers.get("retry-after", "").strip()
    if asked.isascii() and asked.isdigit():
        return float(asked)
    until, now = _moment(asked), _moment(response.headers.get("date", ""))
    if until is None:
        return 0.0
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())


def _moment(date: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(date)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def refusal(response: httpx.Response) -> RefusedError:
    """Return the refusal that a response is."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or "detail" not in problem:
        problem = {
            "detail": f"the response has status {response.status_code} and nothing that explains "
            "it, as if it came from something other than a pairup service: check the address"
        }
    return RefusedError({**problem, "status": response.status_code})
