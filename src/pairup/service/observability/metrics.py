"""Metrics for Prometheus. No label is the name of a player; those of pools are bounded."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter as Counted
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.samples import Sample

from pairup.service.domain.counters import compare
from pairup.service.domain.events import (
    Decided,
    Deleted,
    Event,
    Expired,
    Imported,
    Late,
    Moment,
    Observed,
    Proposed,
    Recorded,
    Released,
)
from pairup.service.domain.pool import Pool

# The folder in which workers share their counters; the library reads it when it is imported.
SHARED = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of this process, and of its fellow workers.

    Parameters
    ----------
    max_pools : int
        Maximum number of pools with series of their own.
    """

    def __init__(self, max_pools: int = 50) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry, multiprocess_mode="livesum")
        routes = ["method", "route"]
        self.requests = counter("pairup_requests", "Requests answered.", [*routes, "status"])
        self.seconds = Histogram(
            "pairup_request_seconds", "Time to answer a request.", routes, registry=self.registry
        )
        self.events = counter("pairup_events", "Events committed to the log.", ["kind"])
        self.failures = counter("pairup_store_failures", "Failures of the database.", ["kind"])
        self.snapshots_refused = counter(
            "pairup_snapshots_refused", "Snapshots that could not be read or failed their checks."
        )
        self.logs_replaced = counter(
            "pairup_logs_replaced", "Logs whose end was replaced while a pool was in memory."
        )
        self.cached_pools = gauge("pairup_cached_pools", "Pools in memory, summed over processes.")
        self.unreadable_pools = gauge("pairup_unreadable_pools", "Pools that cannot be read.")
        self.limits = counter("pairup_limits", "Limits that were met, by setting.", ["limit"])
        self.read_only = gauge("pairup_read_only", "Whether the disk is too full to store more.")
        self.streams = gauge("pairup_event_streams", "Open streams of events.")
        self.pools = PoolMetrics(self.registry, max_pools, shared=SHARED in os.environ)

    def count_events(self, pool: str, log: Sequence[Recorded]) -> None:
        """Count events of a pool that were committed."""
        for recorded in log:
            self.events.labels(recorded.event.kind).inc()
        self.pools.count(pool, log)

    def expose(self, may_show: Callable[[str], bool]) -> bytes:
        """Write everything as Prometheus reads it, but of pools only those that may be shown."""
        shared = SHARED in os.environ
        every = MultiProcessCollector(None) if shared else self.registry
        return generate_latest(_Shown(every.collect(), may_show))

    def close(self) -> None:
        """Remove the gauges of this process from the sums; its counters stay in them."""
        if SHARED in os.environ:
            mark_process_dead(os.getpid())


class _Shown:
    """What may be shown of some metrics."""

    def __init__(self, metrics: Iterable[Metric], may_show: Callable[[str], bool]) -> None:
        self._metrics, self._may_show = metrics, cache(may_show)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics without the series that are left out."""
        for metric in self._metrics:
            metric.samples = [each for each in metric.samples if self._is_shown(each)]
            yield metric

    def _is_shown(self, sample: Sample) -> bool:
        pool = sample.labels.get(LABEL, OTHER)
        return not math.isnan(sample.value) and (pool == OTHER or self._may_show(pool))


LABEL = "pool"
OTHER = "_other"  # no pool is called so: a name does not begin with _
_IDLE_S = 3600.0  # seconds without an event after which a pool makes room for another
_GAINS = (  # name of the metric, what it is called, and what it is
    (
        "gain",
        "gain",
        "Share of games played less that of random pairing, in the latest half of the games.",
    ),
    (
        "shadow_gain",
        "shadow gain",
        "Share of games expected of what a pool in shadow would have proposed, less that of the "
        "games observed, in the latest half of them.",
    ),
    (
        "holdout_gain",
        "holdout gain",
        "With a holdout, the policy's share of games played less that of the control arm.",
    ),
)
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0)


class PoolLabels:
    """The pools that have a label of their own, at most `most`.

    A pool gets one with its first event while there is room; if there is none, in place of the pool
    that has had no event for longest, if that is more than an hour. Where labels cannot be taken
    back, because processes share their counters in files, a pool keeps its label for good.

    Examples
    --------
    >>> labels = PoolLabels(1, lambda pool: None)
    >>> labels.of("chess"), labels.of("go")
    ('chess', '_other')
    >>> labels.forget("chess")
    >>> labels.of("go")
    'go'
    """

    def __init__(self, most: int, remove: Callable[[str], None] | None) -> None:
        self._most, self._remove = most, remove
        self._used: dict[str, float] = {}  # by the monotonic clock
        self._guard = threading.Lock()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._used))

    def of(self, pool: str) -> str:
        """Return the label of a pool in which something happened."""
        now = time.monotonic()
        with self._guard:
            if pool not in self._used and len(self._used) >= self._most:
                idle = min(self._used, key=self._used.__getitem__, default=None)
                if idle is None or not self._remove or now - self._used[idle] < _IDLE_S:
                    return OTHER
                del self._used[idle]
                self._remove(idle)
            self._used[pool] = now
        return pool

    def forget(self, pool: str) -> None:
        """Remove the label of a pool, with its series."""
        with self._guard:
            if self._remove and self._used.pop(pool, None) is not None:
                self._remove(pool)


class PoolMetrics:
    """Counters of what happened to pools, and gauges of their present state."""

    def __init__(self, registry: CollectorRegistry, max_pools: int, shared: bool) -> None:
        counter = partial(Counter, registry=registry)
        # Each process sets what it last saw of a pool in its memory: the latest value is right.
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livemostrecent")
        pool, cause = [LABEL], [LABEL, "cause"]
        self._proposed = counter("pairup_pool_games_proposed", "Games proposed.", pool)
        self._played = counter("pairup_pool_games_played", "Games played.", pool)
        self._cancelled = counter("pairup_pool_games_cancelled", "Games cancelled.", cause)
        self._released = counter("pairup_pool_games_released", "Games taken back.", cause)
        self._expired = counter("pairup_pool_games_expired", "Games not reported in time.", pool)
        self._late = counter(
            "pairup_pool_games_late", "Games reported after they expired or were taken back.", pool
        )
        self._imported = counter(
            "pairup_pool_games_imported", "Games of the past that were imported.", pool
        )
        self._observed = counter(
            "pairup_pool_games_observed",
            "Games of another matchmaker that a pool in shadow learnt.",
            pool,
        )
        self._seconds = Histogram(
            "pairup_pool_proposal_seconds",
            "Time to propose a matching, from the request to the commit.",
            pool,
            registry=registry,
            buckets=_BUCKETS,
        )
        self._unmatched = counter(
            "pairup_pool_unmatched_players",
            "Players who stayed waiting after a proposal of a pool with rules, by the constraint "
            "that left them nobody to meet, or odd.",
            cause,
        )
        self._worth = counter(
            "pairup_pool_games_worth", "Worth of the games proposed; 1 each without rules.", pool
        )
        self._waiting = gauge("pairup_pool_waiting_players", "Players who wait for a game.", pool)
        self._open = gauge("pairup_pool_open_games", "Games proposed and not decided yet.", pool)
        gains = tuple(
            gauge(f"pairup_pool_{name}{end}", text, pool)
            for name, of, meaning in _GAINS
            for end, text in (
                ("", meaning),
                ("_low", f"Lower end of the {of}'s 95% interval."),
                ("_high", f"Upper end of the {of}'s 95% interval."),
            )
        )
        self._wait_median = gauge(
            "pairup_pool_wait_median_seconds", "Median time that waiting players have waited.", pool
        )
        self._wait_high = gauge(
            "pairup_pool_wait_p95_seconds", "95% quantile of the time that they have waited.", pool
        )
        self._wait_longest = gauge(
            "pairup_pool_wait_longest_seconds", "Longest time that one of them has waited.", pool
        )
        waits = (self._wait_median, self._wait_high, self._wait_longest)
        self._gauges = (self._waiting, self._open, *gains, *waits)
        self._shown: set[str] = set()  # pools that have gauges
        self.labels = PoolLabels(max_pools, None if shared else self._remove)

    def count(self, pool: str, log: Sequence[Recorded]) -> None:
        """Count events of a pool that were committed."""
        label = self.labels.of(pool) if log else OTHER
        for recorded in log:
            self._count(label, recorded.event)
            if isinstance(recorded.event, Deleted):
                self.labels.forget(pool)

    def _count(self, label: str, event: Event) -> None:
        match event:
            case Proposed():
                self._proposed.labels(label).inc(len(event.games))
                self._worth.labels(label).inc(event.worth)
                if event.ruled is not None:
                    for cause, times in event.ruled["unmatched"].items():
                        self._unmatched.labels(label, cause).inc(times)
            case Decided():
                self._played.labels(label).inc(sum(event.played))
                cancelled = Counted(filter(None, event.causes or ()))
                for cause, times in cancelled.items():
                    self._cancelled.labels(label, cause).inc(times)
            case Released():
                self._released.labels(label, event.cause).inc(len(event.games))
            case Expired():
                self._expired.labels(label).inc(len(event.games))
                if event.counts_as == "cancelled":
                    self._cancelled.labels(label, "unreported").inc(len(event.games))
            case Imported():
                self._imported.labels(label).inc(len(event.player_a))
            case Observed():
                self._observed.labels(label).inc(len(event.couples))
            case Late():
                self._late.labels(label).inc(sum(event.first))

    def time_proposal(self, pool: str, seconds: float) -> None:
        """Count the time that a proposal took."""
        self._seconds.labels(self.labels.of(pool)).observe(seconds)

    def show(self, pool: Pool, now: Moment) -> None:
        """Set the gauges of a pool that has a label."""
        waiting, opened = len(pool.players.waiting), len(pool.games)
        held = pool.holdout.compare() if pool.holdout else None
        unknown = dict.fromkeys(("estimate", "low", "high"), math.nan)
        gains = [
            ((each and each.gain) or unknown)[end]
            for each in (compare(pool.counters.buckets), pool.shadow.compare(), held)
            for end in unknown
        ]
        values = (waiting, opened, *gains, *pool.players.waits_s(now).values())
        self._set(pool.name, values)
        self._shown.add(pool.name)

    def hide(self, pool: str) -> None:
        """Drop the gauges of a pool that is not loaded in this process.

        What is not a number is left out of what is exposed. It is set once, so that another process
        that has the pool in memory tells of it next.
        """
        if pool in self._shown:
            self._shown.discard(pool)
            self._set(pool, [math.nan] * len(self._gauges))

    def _set(self, pool: str, values: Sequence[float]) -> None:
        for gauge, value in zip(self._gauges, values, strict=True):
            gauge.labels(pool).set(value)

    def _remove(self, pool: str) -> None:
        self._shown.discard(pool)
        counters = (self._proposed, self._played, self._cancelled, self._released, self._expired)
        more = (
            self._late,
            self._imported,
            self._observed,
            self._seconds,
            self._unmatched,
            self._worth,
        )
        for each in (*counters, *more, *self._gauges):
            each.remove_by_labels({LABEL: pool})
