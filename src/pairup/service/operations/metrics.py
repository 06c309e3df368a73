"""Metrics for Prometheus. No label is the name of a player or of a pool."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from pairup.service.domain.events import Recorded

# The folder in which workers share their counters; the library reads it when it is imported.
SHARED = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of this process, and of its fellow workers."""

    def __init__(self) -> None:
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
        self.cached_pools = gauge("pairup_cached_pools", "Pools in memory, summed over processes.")
        self.unreadable_pools = gauge("pairup_unreadable_pools", "Pools that cannot be read.")
        self.limits = counter("pairup_limits", "Limits that were met, by setting.", ["limit"])
        self.read_only = gauge("pairup_read_only", "Whether the disk is too full to store more.")
        self.streams = gauge("pairup_event_streams", "Open streams of events.")

    def count_events(self, log: Iterable[Recorded]) -> None:
        """Count events that were committed."""
        for recorded in log:
            self.events.labels(recorded.event.kind).inc()

    def expose(self) -> bytes:
        """Write everything as Prometheus reads it."""
        if SHARED not in os.environ:
            return generate_latest(self.registry)
        all_workers = CollectorRegistry()
        MultiProcessCollector(all_workers)
        return generate_latest(all_workers)

    def close(self) -> None:
        """Take the gauges of this process out of the sums; its counters stay in them."""
        if SHARED in os.environ:
            mark_process_dead(os.getpid())
