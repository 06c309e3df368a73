"""Metrics for Prometheus. No label is the name of a player; those of pools are bounded."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.samples import Sample

from pairup.service.domain.counters import compare
from pairup.service.domain.events import Deleted, Moment, Recorded
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
        self.webhook = counter(
            "pairup_webhook_messages",
            "Messages to the webhook, by what came of them.",
            ["result"],
        )
        self.streams = gauge("pairup_event_streams", "Open streams of events.")
        self.pools = PoolMetrics(self.registry, max_pools, shared=SHARED in os.environ)

    def count_events(self, pool: str, log: Sequence[Recorded]) -> None:
        """Count events of a pool that were committed."""
        for recorded in log:
            self.events.labels(recorded.event.kind).inc()
        self.pools.note(pool, log)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics, of pools those that count up as counters."""
        every = MultiProcessCollector(None) if SHARED in os.environ else self.registry
        for metric in every.collect():
            if metric.name.endswith("_total"):
                metric.name, metric.type = metric.name.removesuffix("_total"), "counter"
            yield metric

    def expose(self, may_show: Callable[[str], bool]) -> bytes:
        """Write everything as Prometheus reads it, but of pools only those that may be shown."""
        return generate_latest(_Shown(self.collect(), may_show))

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
# What is shown of each pool; what ends with _total has grown since the pool was created.
_TEXTS = {
    "games_proposed_total": "Games proposed.",
    "games_played_total": "Games played.",
    "games_cancelled_total": "Games cancelled.",
    "games_released_total": "Games taken back.",
    "games_expired_total": "Games not reported in time.",
    "games_late_total": "Games reported after they expired or were taken back.",
    "games_imported_total": "Games of the past that were imported.",
    "games_observed_total": "Games of another matchmaker that a pool in shadow learnt.",
    "unmatched_players_total": (
        "Players who stayed waiting after a proposal of a pool with rules, by the constraint that "
        "left them nobody to meet, or odd."
    ),
    "games_worth_total": "Worth of the games proposed; 1 each without rules.",
    "waiting_players": "Players who wait for a game.",
    "open_games": "Games proposed and not decided yet.",
    "gain": "Share of games played less that of random pairing, in the latest half of the games.",
    "shadow_gain": (
        "Share of games expected of what a pool in shadow would have proposed, less that of the "
        "games observed, in the latest half of them."
    ),
    "holdout_gain": (
        "With a holdout, the policy's share of games played less that of the control arm."
    ),
    "holdout_more_games": (
        "About how many more games decide which arm is better; 0 if it is decided."
    ),
    "wait_median_seconds": "Median time that waiting players have waited.",
    "wait_p95_seconds": "95% quantile of the time that they have waited.",
    "wait_longest_seconds": "Longest time that one of them has waited.",
}
_BY_CAUSE = ("games_cancelled_total", "games_released_total", "unmatched_players_total")
_INTERVALS = {"gain": "gain", "shadow_gain": "shadow gain", "holdout_gain": "holdout gain"}
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


def _described() -> Iterator[tuple[str, str]]:
    """Yield name and text of each metric of a pool; those of a gain have an interval."""
    for name, text in _TEXTS.items():
        yield name, text
        if name in _INTERVALS:
            yield f"{name}_low", f"Lower end of the {_INTERVALS[name]}'s 95% interval."
            yield f"{name}_high", f"Upper end of the {_INTERVALS[name]}'s 95% interval."


def _kept(pool: Pool, now: Moment) -> dict[str, Any]:
    """Return the numbers that a pool keeps, by metric, and then by cause where there are causes."""
    counters, players = pool.counters, pool.players
    held = pool.holdout.compare() if pool.holdout else None
    more_games = math.nan if held is None or held.more_games is None else held.more_games
    return {
        "games_proposed_total": counters.proposed,
        "games_played_total": counters.played,
        "games_cancelled_total": counters.cancelled,
        "games_released_total": counters.released,
        "games_expired_total": counters.expired,
        "games_late_total": counters.late,
        "games_imported_total": pool.imported,
        "games_observed_total": pool.shadow.games,
        "unmatched_players_total": counters.unmatched,
        "games_worth_total": counters.worth,
        "waiting_players": len(players.waiting),
        "open_games": len(pool.games),
        **_gain("gain", compare(counters.buckets)),
        **_gain("shadow_gain", pool.shadow.compare()),
        **_gain("holdout_gain", held),
        "holdout_more_games": more_games,
        **{f"wait_{name}_seconds": wait for name, wait in players.waits_s(now).items()},
    }


def _gain(name: str, compared: Any) -> dict[str, float]:
    """Return a gain and the ends of its interval; not numbers where nothing is known."""
    found = (compared and compared.gain) or dict.fromkeys(("estimate", "low", "high"), math.nan)
    ends = {"": "estimate", "_low": "low", "_high": "high"}
    return {f"{name}{suffix}": found[end] for suffix, end in ends.items()}


class PoolMetrics:
    """What pools keep, as it was when they were looked at last, and the time of proposals."""

    def __init__(self, registry: CollectorRegistry, max_pools: int, shared: bool) -> None:
        self._seconds = Histogram(
            "pairup_pool_proposal_seconds",
            "Time to propose a matching, from the request to the commit.",
            [LABEL],
            registry=registry,
            buckets=_BUCKETS,
        )
        # Each process sets what it last saw of a pool in its memory: the latest value is right.
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livemostrecent")
        self._gauges = {
            name: gauge(f"pairup_pool_{name}", text, [LABEL, "cause"][: 1 + (name in _BY_CAUSE)])
            for name, text in _described()
        }
        self._shown = defaultdict[str, set[Gauge]](set)  # series of each pool
        self.labels = PoolLabels(max_pools, None if shared else self._remove)

    def note(self, pool: str, log: Sequence[Recorded]) -> None:
        """Note that something happened in a pool: it gets a label, or loses it in the end."""
        for recorded in log[-1:]:
            self.labels.of(pool)
            if isinstance(recorded.event, Deleted):
                self.labels.forget(pool)

    def time_proposal(self, pool: str, seconds: float) -> None:
        """Count the time that a proposal took."""
        self._seconds.labels(self.labels.of(pool)).observe(seconds)

    def show(self, pool: Pool, now: Moment) -> None:
        """Show what a pool that has a label keeps."""
        for name, found in _kept(pool, now).items():
            for cause, value in found.items() if isinstance(found, dict) else [("", found)]:
                series = self._gauges[name].labels(*filter(None, (pool.name, cause)))
                series.set(value)
                self._shown[pool.name].add(series)

    def hide(self, pool: str) -> None:
        """Show no more of a pool that is not loaded in this process.

        What is not a number is left out of what is exposed. It is set once, so that another process
        that has the pool in memory tells of it next.
        """
        for series in self._shown.pop(pool, ()):
            series.set(math.nan)

    def _remove(self, pool: str) -> None:
        self._shown.pop(pool, None)
        for each in (self._seconds, *self._gauges.values()):
            each.remove_by_labels({LABEL: pool})
