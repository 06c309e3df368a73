"""Requests and answers: retried where that is safe, refusals turned into errors."""

from __future__ import annotations

import http.client
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from pairup.errors import ClientError

_TROUBLE = (OSError, http.client.HTTPException)  # refused, broken off, timed out


class UnreachableError(ClientError):
    """No answer came, however often the request was sent."""


class RefusedError(ClientError):
    """The service refused a request, with a problem as RFC 9457 has it.

    Attributes
    ----------
    type : str
        Its stable name, ``/problems/no-such-pool`` say.
    status : int
        Of HTTP.
    detail : str
        The value, the rule and the way out.
    fields : dict
        The whole problem; some kinds have more in it, what is stored say.

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

    @property
    def kind(self) -> str:
        """The last part of its type."""
        return self.type.rpartition("/")[2]

    def __str__(self) -> str:
        return self.detail


@dataclass(frozen=True)
class Patience:
    """How often a request is sent, and how long each try and the pauses last.

    The first pause is `pause_s`; each is twice as long as the one before, up to `longest_pause_s`.
    """

    tries: int = 5
    pause_s: float = 0.1
    timeout_s: float = 30.0
    longest_pause_s: float = 5.0


class Transport:
    """One connection to a service, kept open; threads take turns.

    Parameters
    ----------
    url : str
        Of the service, ``http://localhost:8000`` say.
    key : str or None
        An API key.
    patience : Patience
        When to give up.
    sleep : callable
        Waits so many seconds; tests do not wait.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        patience: Patience,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ClientError(
                f"the address of a service begins with http:// or https://, got {url!r}: try "
                "'http://localhost:8000'"
            )
        # Often given with the version that this client adds itself.
        self._parts, self._base = parts, parts.path.rstrip("/").removesuffix("/v1")
        self.url = f"{parts.scheme}://{parts.netloc}{self._base}"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._patience, self._sleep = patience, sleep
        self._connection: http.client.HTTPConnection | None = None
        self._turn = threading.Lock()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Mapping[str, object] | None = None,
    ) -> Any:
        """Send a request until it is answered; return the answer, or raise the refusal.

        A POST has an idempotency key, the same at each try, so that it is done once. What is
        deleted and then not found was deleted by a try whose answer was lost.
        """
        headers = {"Accept": "application/json", **self._headers}
        if method == "POST":
            headers["Idempotency-Key"] = secrets.token_hex(16)
        sent = None
        if body is not None:
            headers["Content-Type"], sent = "application/json", json.dumps(body).encode()
        target = self._target(path, query)
        for attempt in range(self._patience.tries):
            last = attempt == self._patience.tries - 1
            try:
                status, text = self._exchange(method, target, sent, headers)
            except _TROUBLE as error:
                if last:
                    raise self._unreachable(error, self._patience.tries) from error
            else:
                if method == "DELETE" and status == 404 and attempt > 0:
                    return None
                if last or not _passes(status, text):
                    return _read(status, text)
            pause = self._patience.pause_s * 2.0 ** min(attempt, 32)
            self._sleep(min(pause, self._patience.longest_pause_s))
        raise AssertionError("the last try returns or raises")

    def _target(self, path: str, query: Mapping[str, object] | None) -> str:
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        return f"{self._base}{path}" + (f"?{urlencode(asked)}" if asked else "")

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        with self._turn:
            connection = self._connection or self._connected()
            self._connection = None  # until all of the answer is read
            try:
                connection.request(method, target, body, dict(headers))
                answer = connection.getresponse()
                text = answer.read()
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            return answer.status, text

    def _connected(self) -> http.client.HTTPConnection:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self._parts.netloc, timeout=self._patience.timeout_s)

    def _unreachable(self, error: Exception, tries: int = 1) -> UnreachableError:
        why = str(error) or type(error).__name__
        often = f", tried {tries} times" if tries > 1 else ""
        return UnreachableError(
            f"no service answers at {self.url} ({why}{often}): start one with `pairup serve`, or "
            "correct the address"
        )

    def stream(self, path: str, query: Mapping[str, object]) -> Iterator[str]:
        """Yield the lines of a stream, over a connection of its own, until it breaks off."""
        connection = self._connected()
        try:
            yield from self._lines(connection, path, query)
        except _TROUBLE as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()

    def _lines(
        self, connection: http.client.HTTPConnection, path: str, query: Mapping[str, object]
    ) -> Iterator[str]:
        headers = {"Accept": "text/event-stream", **self._headers}
        connection.request("GET", self._target(path, query), headers=headers)
        answer = connection.getresponse()
        if answer.status != 200:
            _read(answer.status, answer.read())
        while line := answer.readline():
            yield line.decode().rstrip("\r\n")

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _passes(status: int, text: bytes) -> bool:
    """Whether it may be answered otherwise in a moment: not ready, no room, a race lost."""
    return status in (503, 507) or (status == 409 and b'"/problems/busy"' in text)


def _read(status: int, text: bytes) -> Any:
    """Return what was answered, or raise the refusal that it is."""
    try:
        found = json.loads(text) if text else None
    except ValueError:
        found = text.decode("utf-8", "replace")
    if status < 400:
        return found
    if not isinstance(found, dict) or "detail" not in found:
        found = {
            "detail": f"the answer has status {status} and nothing that explains it, as if it came "
            "from something else than a pairup service: check the address"
        }
    raise RefusedError({**found, "status": status})
