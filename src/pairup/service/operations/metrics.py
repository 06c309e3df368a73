"""Metrics for Prometheus. No label is the name of a player; those of pools are bounded."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.samples import Sample

from pairup.service.domain.events import Recorded
from pairup.service.operations.pool_metrics import LABEL, OTHER, PoolMetrics

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
        """Take the gauges of this process out of the sums; its counters stay in them."""
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
