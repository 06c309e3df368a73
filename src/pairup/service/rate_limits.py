"""Rate limits: token buckets of requests and of events, one of each for every caller."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar

from pairup.service.observability.metrics import Metrics
from pairup.service.problems import RefusalError
from pairup.service.settings import Settings

_MAX_CALLERS = 10_000  # those who were seen last
# Events are counted where they are committed, which knows nothing of callers.
_caller: ContextVar[str | None] = ContextVar("caller", default=None)


class TokenBuckets:
    """A bucket for each caller: `rate` tokens per second flow in, and `burst_s` seconds fill it.

    A caller may take more than there is, and then waits until the debt is paid.

    Examples
    --------
    >>> now = 0.0
    >>> buckets = TokenBuckets(rate=10, burst_s=2, clock=lambda: now)
    >>> buckets.take("ann", 25)
    >>> buckets.wait_s("ann"), buckets.wait_s("bob")
    (0.5, 0.0)
    >>> now = 1.0
    >>> buckets.wait_s("ann")
    0.0
    """

    def __init__(
        self, rate: float, burst_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._full, self._clock = rate, max(1.0, rate * burst_s), clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # level, and when
        self._lock = threading.Lock()

    def wait_s(self, caller: str) -> float:
        """Return the seconds until a caller may go on."""
        with self._lock:
            return max(0.0, -self._level(caller) / self._rate)

    def take(self, caller: str, tokens: int) -> None:
        """Take tokens out of a caller's bucket."""
        with self._lock:
            self._levels[caller] = (self._level(caller) - tokens, self._clock())
            self._levels.move_to_end(caller)
            if len(self._levels) > _MAX_CALLERS:
                self._levels.popitem(last=False)

    def _level(self, caller: str) -> float:
        now = self._clock()
        level, at = self._levels.get(caller, (self._full, now))
        return min(self._full, level + (now - at) * self._rate)


class RateLimits:
    """The rates at which a caller, an API key or an address, may ask and change things."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._requests = TokenBuckets(settings.max_requests_per_s, settings.burst_s)
        self._events = TokenBuckets(settings.max_events_per_s, settings.burst_s)

    def admit(self, caller: str) -> None:
        """Count a request of a caller, to whom the events of this request will belong."""
        if wait_s := self._requests.wait_s(caller):
            most = self._settings.max_requests_per_s
            raise self._refusal(
                "too-many-requests",
                "max_requests_per_s",
                f"more than {most:g} requests per second were sent",
                wait_s,
            )
        self._requests.take(caller, 1)
        self.charge(caller)

    def charge(self, caller: str) -> None:
        """Count the events of this context as those of a caller who was admitted."""
        _caller.set(caller)

    def check_events(self) -> None:
        """Refuse a change by a caller who has changed too much."""
        caller = _caller.get()
        if caller is not None and (wait_s := self._events.wait_s(caller)):
            most = self._settings.max_events_per_s
            raise self._refusal(
                "too-many-events",
                "max_events_per_s",
                f"more than {most:g} events per second were added",
                wait_s,
            )

    def count_events(self, count: int) -> None:
        """Count events that were committed for the caller."""
        if (caller := _caller.get()) is not None and count:
            self._events.take(caller, count)

    def _refusal(self, slug: str, setting: str, what: str, wait_s: float) -> RefusalError:
        self._metrics.limits.labels(setting).inc()
        seconds = math.ceil(wait_s)
        return RefusalError(
            slug,
            f"{what} over {self._settings.burst_s:g} s: wait for {seconds} s, or raise the "
            f"setting {setting}",
            retry_s=seconds,
        )
