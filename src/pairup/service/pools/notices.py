"""Notices: streams wait for what is committed, and cost nothing while nothing is.

What this process commits is told at once, what others commit by `Ownership`. Whatever nobody tells
of, such as what another process writes to the same file of SQLite, is found by `watch`: one look at
the heads of all pools that are streamed, for all streams of this process.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pairup.service.api_keys import ANYONE, Principal
from pairup.service.domain.events import Moment
from pairup.service.store import Store

T = TypeVar("T")
_REST_S = 0.1  # between two notices of a pool: streams read what came meanwhile together


@dataclass(eq=False)
class Follower:
    """A stream of the events of a pool, by one who may read it."""

    pool: str
    principal: Principal
    ended: bool = False  # whether it must end: the key was revoked, or the service stops
    _told: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """End the wait."""
        self._told.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until more may have happened since the last wait, or return False after a time."""
        try:
            await asyncio.wait_for(self._told.wait(), seconds)
        except TimeoutError:
            return False
        self._told.clear()
        return True


class Notices:
    """The streams of this process, by pool; all of them run in one event loop."""

    def __init__(self) -> None:
        self._followers: defaultdict[int, set[Follower]] = defaultdict(set)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._seen: dict[int, bytes] = {}  # the last link of the log, by pool
        self._resting, self._untold = set[int](), set[int]()
        self._reading: dict[tuple[int, int], asyncio.Future[Any]] = {}

    @contextmanager
    def following(self, number: int, pool: str, principal: Principal) -> Iterator[Follower]:
        """Add a follower of a pool while the block runs."""
        self._loop, follower = asyncio.get_running_loop(), Follower(pool, principal)
        self._followers[number].add(follower)
        try:
            yield follower
        finally:
            self._followers[number].discard(follower)
            if not self._followers[number]:
                del self._followers[number]
                self._seen.pop(number, None)

    def tell(self, pool: int) -> None:
        """Wake those who follow a pool; from any thread."""
        if pool in self._followers and self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, pool)

    def _tell(self, pool: int) -> None:
        if pool in self._resting:
            self._untold.add(pool)
            return
        for follower in self._followers.get(pool, ()):
            follower.wake()
        self._resting.add(pool)
        asyncio.get_running_loop().call_later(_REST_S, self._rest_over, pool)

    def _rest_over(self, pool: int) -> None:
        self._resting.discard(pool)
        if pool in self._untold:
            self._untold.discard(pool)
            self._tell(pool)

    async def shared(self, key: tuple[int, int], read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Read once what several streams need at the same moment."""
        reading = self._reading.get(key)
        if reading is None:
            reading = self._reading[key] = asyncio.ensure_future(read())
            reading.add_done_callback(lambda _: self._reading.pop(key, None))
        page: T = await asyncio.shield(reading)
        return page

    def watch(self, store: Store, now: Moment) -> None:
        """Look for events that nobody told of, and for keys that are not valid any more."""
        followed = {number: list(each) for number, each in list(self._followers.items())}
        if not followed:
            return
        with store.reading() as transaction:
            rows = {row.number: row for row in transaction.some_pools(followed)}
            valid = {row.id: json.loads(row.scopes) for row in transaction.valid_api_keys(now)}
        for number, followers in followed.items():
            row = rows.get(number)
            for each in followers:
                known = each.principal is ANYONE or Principal(
                    each.principal.id, valid.get(each.principal.id, {})
                ).may("read", each.pool)
                each.ended |= not known or row is None or row.name != each.pool
            chain = row.chain if row else b""
            if self._seen.get(number) != chain or any(each.ended for each in followers):
                self._seen[number] = chain
                self.tell(number)

    def end(self) -> None:
        """End all streams."""
        for number, followers in list(self._followers.items()):
            for each in list(followers):
                each.ended = True
            self.tell(number)
