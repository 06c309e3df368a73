"""Clients of the service. They differ in how they send; what they send is in `operations`."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import anyio
import httpx

from pairup.client.operations import Operations
from pairup.client.requests import Listing, Request, Stream, asked_wait_s, refusal
from pairup.errors import ClientError

T = TypeVar("T")
Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)


class UnreachableError(ClientError):
    """No response came, however often the request was sent."""


@dataclass(frozen=True)
class Patience:
    """How often a request is sent, and how long the pauses between the tries are.

    A pause has a random length, so that clients who failed together do not return together. It is
    longer where the service says how long to wait (`Retry-After`). By default a request that gets
    no response is sent five times, with pauses of at most 3 s in total, 1.5 s in the mean.

    Attributes
    ----------
    tries : int
        Number of times that a request is sent.
    pause_s : float
        Seconds that the first pause lasts at most; each may be twice as long as the one before.
    timeout_s : float
        Seconds that a try may take to connect, to send or to receive something.
    max_pause_s : float
        Seconds that a pause lasts at most, beyond what the service asked for.
    max_wait_s : float
        Seconds that all pauses of a request may last together. A service that asks for more is not
        waited for.
    jitter : callable
        Returns a random share of the longest pause, from 0 to 1.

    Examples
    --------
    >>> patience = Patience(tries=4, pause_s=0.1, max_pause_s=0.3, jitter=lambda: 1.0)
    >>> [patience.pause_after(attempt) for attempt in (1, 2, 3)]
    [0.1, 0.2, 0.3]
    >>> patience.pause_after(1, asked_s=2.0)
    2.1
    """

    tries: int = 5
    pause_s: float = 0.2
    timeout_s: float = 30.0
    max_pause_s: float = 5.0
    max_wait_s: float = 60.0
    jitter: Callable[[], float] = field(default=random.random, repr=False, compare=False)

    def pause_after(self, attempt: int, asked_s: float = 0.0) -> float:
        """Return the seconds to wait after a failed attempt; the first is attempt 1."""
        longest = min(self.pause_s * 2.0 ** min(attempt - 1, 32), self.max_pause_s)
        return asked_s + longest * self.jitter()


class _Tries:
    """The tries of one request, until patience ends."""

    def __init__(self, patience: Patience) -> None:
        self._patience, self._waited_s, self.number = patience, 0.0, 1

    def pause(self, asked_s: float = 0.0) -> float | None:
        """Return the seconds to wait before the next try, None if there is none."""
        pause = self._patience.pause_after(self.number, asked_s)
        too_long = self._waited_s + pause > self._patience.max_wait_s
        if too_long or self.number >= self._patience.tries:
            return None
        self._waited_s, self.number = self._waited_s + pause, self.number + 1
        return pause


class _BaseClient(Operations, Generic[Http]):
    """What the clients share: the address, the key, and when a request is sent again."""

    _http_type: type[Http]

    def __init__(self, url: str, key: str | None = None, patience: Patience | None = None) -> None:
        self.url, self._patience = _address(url), patience or Patience()
        self._http: Http = self._http_type(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            # Threads that share a client wait for a free connection as long as it takes.
            timeout=httpx.Timeout(self._patience.timeout_s, pool=None),
            # No proxy and no .netrc file: requests and keys go to this service only.
            trust_env=False,
        )

    def _pause(self, response: httpx.Response, tries: _Tries) -> float | None:
        """Return the seconds until it is sent again, None where that would not help.

        A service in trouble, a limit of rates or a lost race may pass.
        """
        busy = response.status_code == 409 and b'"/problems/busy"' in response.content
        passing = response.status_code in (429, 503, 507) or busy
        return tries.pause(asked_wait_s(response)) if passing else None

    def _unreachable(self, error: httpx.RequestError, tries: int = 1) -> UnreachableError:
        why = str(error) or type(error).__name__
        often = f", tried {tries} times" if tries > 1 else ""
        return UnreachableError(
            f"no service answers at {self.url} ({why}{often}): start one with `pairup serve`, or "
            "correct the address"
        )


class Client(_BaseClient[httpx.Client]):
    """A service, seen from Python: one method for each resource.

    A request that gets no response, or finds the service unavailable for the moment, is sent again
    a few times with growing pauses, as `Patience` says. That is safe: a POST carries an idempotency
    key. Answers are the schemas of the service. Threads may share a client.

    Parameters
    ----------
    url : str
        Address of the service.
    key : str or None
        API key, where the service needs one.
    patience : Patience
        Number of times that a request is sent before it counts as lost, and the pauses between.

    Raises
    ------
    ClientError
        The address is not one of HTTP. From every method: `RefusedError` with the problem that
        the service answered, `UnreachableError` where it did not answer.

    Examples
    --------
    >>> from pairup.client import Client
    >>> with Client("localhost:8000") as client:
    ...     print(client.url)
    http://localhost:8000
    """

    _http_type = httpx.Client

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, request: Request[T]) -> T:
        """Send a request until it is answered; return the result or raise the refusal."""
        sent, tries = request.build(self._http), _Tries(self._patience)
        while True:
            try:
                response = self._http.send(sent)
                pause = self._pause(response, tries)
                if pause is None:
                    return request.read(response, tries.number)
            except httpx.RequestError as error:
                pause = tries.pause()
                if pause is None:
                    raise self._unreachable(error, tries.number) from error
            time.sleep(pause)

    def pages(self, listing: Listing[T]) -> Iterator[T]:
        """Yield the items of a list, page after page."""
        request: Request[Any] | None = listing.first
        while request is not None:
            page = self.send(request)
            yield from listing.items(page)
            request = listing.after(page)

    def stream(self, stream: Stream[T]) -> Iterator[T]:
        """Yield the events of a stream until it ends."""
        sent = stream.request.build(self._http, "text/event-stream")
        try:
            with closing(self._http.send(sent, stream=True)) as response:
                if not response.is_success:
                    response.read()
                    raise refusal(response)
                for line in response.iter_lines():
                    if line.startswith("data:"):
                        yield stream.request.parse(line.removeprefix("data:"))
        except httpx.RequestError as error:
            raise self._unreachable(error) from error


class AsyncClient(_BaseClient[httpx.AsyncClient]):
    """The service, awaited: a `Client` whose methods are coroutines and asynchronous iterators.

    It takes the same parameters, has the same methods and raises the same errors as `Client`; it
    runs under asyncio and under trio.

    Examples
    --------
    >>> import asyncio
    >>> from pairup.client import AsyncClient
    >>> async def main():
    ...     async with AsyncClient("localhost:8000") as client:
    ...         print(client.url)
    >>> asyncio.run(main())
    http://localhost:8000
    """

    _http_type = httpx.AsyncClient

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def send(self, request: Request[T]) -> T:
        """Send a request until it is answered; return the result or raise the refusal."""
        sent, tries = request.build(self._http), _Tries(self._patience)
        while True:
            try:
                response = await self._http.send(sent)
                pause = self._pause(response, tries)
                if pause is None:
                    return request.read(response, tries.number)
            except httpx.RequestError as error:
                pause = tries.pause()
                if pause is None:
                    raise self._unreachable(error, tries.number) from error
            await anyio.sleep(pause)

    async def pages(self, listing: Listing[T]) -> AsyncIterator[T]:
        """Yield the items of a list, page after page."""
        request: Request[Any] | None = listing.first
        while request is not None:
            page = await self.send(request)
            for item in listing.items(page):
                yield item
            request = listing.after(page)

    async def stream(self, stream: Stream[T]) -> AsyncIterator[T]:
        """Yield the events of a stream until it ends."""
        sent = stream.request.build(self._http, "text/event-stream")
        try:
            async with aclosing(await self._http.send(sent, stream=True)) as response:
                if not response.is_success:
                    await response.aread()
                    raise refusal(response)
                async for line in response.aiter_lines():
                    if line.startswith("data:"):
                        yield stream.request.parse(line.removeprefix("data:"))
        except httpx.RequestError as error:
            raise self._unreachable(error) from error


def _address(url: str) -> str:
    try:
        parsed = httpx.URL(url if "//" in url else f"http://{url}")
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ClientError(
            f"the address of a service begins with http:// or https://, got {url!r}: try "
            "'http://localhost:8000'"
        )
    # Often given with the version, which this client adds itself.
    path = parsed.path.rstrip("/").removesuffix("/v1")
    return f"{parsed.scheme}://{parsed.netloc.decode()}{path}"
