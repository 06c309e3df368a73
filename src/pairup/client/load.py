"""A load test: pools are played as fast as a service answers, for a limited time and number."""

from __future__ import annotations

import ipaddress
import random
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import httpx

from pairup.client import Client, NewGameReport, Patience, RefusedError, UnreachableError
from pairup.errors import ClientError

P = ParamSpec("P")
T = TypeVar("T")
NO_ANSWER = "no-answer"
_MAX_BATCH = 1_000  # players or reports per request
_STATS_EVERY = 10  # rounds
_PAUSE_S = 0.1  # after a request that failed
_LIMITS = {"pools": 256, "players": 100_000, "seconds": 3_600.0, "requests": 10_000_000}
_PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}


@dataclass(frozen=True)
class Load:
    """How much is sent: each pool is played by one thread, request after request."""

    pools: int = 4
    players: int = 100  # of each pool
    seconds: float = 10.0
    requests: int = 100_000  # of all pools together

    def __post_init__(self) -> None:
        least = {"pools": 1, "players": 2, "seconds": 0.1, "requests": 1}
        for name, most in _LIMITS.items():
            value = getattr(self, name)
            if not least[name] <= value <= most:
                raise ClientError(
                    f"a load test has {least[name]:,} to {most:,} {name}, got {value!r}: try "
                    f"--{name} {getattr(Load, name)}"
                )


class Calls:
    """Requests of one thread: how long each took, and how it failed."""

    def __init__(self, requests: int, seconds: float) -> None:
        self._left, self._end = requests, time.monotonic() + seconds
        self.ended = threading.Event()
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: dict[str, Counter[str]] = defaultdict(Counter)
        self.games = self.outcomes = 0

    @property
    def go_on(self) -> bool:
        """Whether there is time, and more to be sent."""
        return self._left > 0 and time.monotonic() < self._end and not self.ended.is_set()

    def make(
        self, operation: str, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Make a request and count it; None if it failed."""
        began, self._left = time.monotonic(), self._left - 1
        try:
            return call(*args, **kwargs)
        except RefusedError as refused:
            self.errors[operation][refused.kind or str(refused.status)] += 1
        except UnreachableError:
            self.errors[operation][NO_ANSWER] += 1
        finally:
            self.seconds[operation].append(time.monotonic() - began)
        self.ended.wait(_PAUSE_S)
        return None


def run_load(
    url: str, key: str | None = None, load: Load | None = None, confirmed_host: str | None = None
) -> dict[str, Any]:
    """Put load on a service, in pools of its own that are deleted afterwards.

    A round of a pool is a proposal, reports of all its games, a player who leaves and another one
    who joins; every tenth, also the statistics.

    Parameters
    ----------
    url : str
        Address of the service.
    key : str or None
        API key of an administrator of all pools, where the service needs one.
    load : Load or None
        Number of pools and players, and the bounds.
    confirmed_host : str or None
        Host of the address, where that is not this machine.

    Returns
    -------
    dict
        Seconds, games and outcomes per second, and for each operation the number of requests,
        requests per second, percentiles of their milliseconds, and errors by their kind.

    Raises
    ------
    ClientError
        The address is of another machine and not confirmed, or the pools cannot be made.
    """
    load = load or Load()
    check_host(url, confirmed_host)
    with _pools(url, key, load) as names:
        began = time.monotonic()
        share = -(-load.requests // load.pools)
        calls = [Calls(share, load.seconds) for _ in names]
        threads = [
            threading.Thread(target=_play, args=(url, key, name, load.players, each))
            for name, each in zip(names, calls, strict=True)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:  # also at Ctrl-C
            for each in calls:
                each.ended.set()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        return _summary(calls, time.monotonic() - began)


def check_host(url: str, confirmed: str | None) -> None:
    """Refuse another machine than this one, unless its name was confirmed."""
    with Client(url) as client:  # which refuses what is not an address
        host = httpx.URL(client.url).host
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_loopback:
            return
    if host != "localhost" and host != confirmed:
        raise ClientError(
            f"{host} is another machine, and a load test slows down whoever plays there: give "
            f"--confirm-host {host} if it is yours to test"
        )


@contextmanager
def _pools(url: str, key: str | None, load: Load) -> Iterator[list[str]]:
    """Make pools with players who wait; delete them afterwards."""
    mark = secrets.token_hex(4)
    with ExitStack() as stack:
        client = stack.enter_context(Client(url, key))
        names = [f"load-{mark}-{number}" for number in range(load.pools)]
        for name in names:
            stack.callback(_delete, client, name)
            client.create_pool(name, lifetime_s=3_600)
            for some in _batches(_names(load.players)):
                client.put_players(name, dict.fromkeys(some, "waiting"))
        yield names


def _delete(client: Client, pool: str) -> None:
    try:
        client.delete_pool(pool)
    except RefusedError as refused:
        if refused.kind != "no-such-pool":  # it was not made
            raise


def _names(count: int) -> list[str]:
    return [f"p{number}" for number in range(count)]


def _batches(items: list[T]) -> Iterator[list[T]]:
    for start in range(0, len(items), _MAX_BATCH):
        yield items[start : start + _MAX_BATCH]


def _play(url: str, key: str | None, pool: str, players: int, calls: Calls) -> None:
    """Play rounds of a pool until the calls have ended."""
    draw, rounds = random.Random(pool), 0
    present, newest = _names(players), players
    with Client(url, key, Patience(tries=1)) as client:
        while calls.go_on:
            matching = calls.make("propose", client.propose, pool)
            games = [] if matching is None else matching.games
            calls.games += len(games)
            outcomes = [
                NewGameReport(game=game.id, outcome=draw.choice(("played", "cancelled")))
                for game in games
            ]
            for some in _batches(outcomes):
                if calls.make("report", client.report_all, pool, some):
                    calls.outcomes += len(some)
            place = draw.randrange(players)
            leaving, present[place], newest = present[place], f"p{newest}", newest + 1
            calls.make("leave", client.leave, pool, leaving)
            calls.make("join", client.join, pool, present[place])
            if rounds % _STATS_EVERY == 0:
                calls.make("stats", client.stats, pool)
            rounds += 1


def _summary(calls: list[Calls], seconds: float) -> dict[str, Any]:
    operations = []
    for operation in ("propose", "report", "join", "leave", "stats"):
        times = sorted(each for call in calls for each in call.seconds[operation])
        errors = sum((call.errors[operation] for call in calls), Counter[str]())
        row: dict[str, Any] = {
            "operation": operation,
            "requests": len(times),
            "per_s": round(len(times) / seconds, 1),
        }
        for name, share in _PERCENTILES.items():
            place = min(int(share * len(times)), len(times) - 1)
            row[name] = round(1_000 * times[place], 2) if times else None
        operations.append({**row, "errors": dict(errors)})
    return {
        "seconds": round(seconds, 2),
        "games_per_s": round(sum(each.games for each in calls) / seconds, 1),
        "outcomes_per_s": round(sum(each.outcomes for each in calls) / seconds, 1),
        "operations": operations,
    }
