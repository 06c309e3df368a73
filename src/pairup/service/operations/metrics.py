"""Metrics, as Prometheus reads them. No label is a player's or a pool's name."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from pairup.service.domain.events import Recorded

# Where workers share their counters, by files in this folder: read when the library is imported.
SHARED = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of this process, and of the workers beside it.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.requests.labels("GET", "/healthz", "200").inc()
    >>> b'pairup_requests_total{method="GET"' in metrics.exposed()
    True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "pairup_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "pairup_request_seconds",
            "Time to answer a request.",
            ["method", "route"],
            registry=self.registry,
        )
        self.events = Counter(
            "pairup_events", "Events committed to the log.", ["kind"], registry=self.registry
        )
        self.failures = Counter(
            "pairup_store_failures", "Failures of the database.", ["kind"], registry=self.registry
        )
        self.cached_pools = Gauge(
            "pairup_cached_pools",
            "Pools in memory; of several processes, in that of each.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.streams = Gauge(
            "pairup_event_streams",
            "Streams of events open now.",
            registry=self.registry,
            multiprocess_mode="livesum",
        )

    def happened(self, log: Iterable[Recorded]) -> None:
        """Count events that were committed."""
        for recorded in log:
            self.events.labels(recorded.event.kind).inc()

    def exposed(self) -> bytes:
        """Write everything as Prometheus reads it."""
        if SHARED not in os.environ:
            return generate_latest(self.registry)
        everyone = CollectorRegistry()
        MultiProcessCollector(everyone)
        return generate_latest(everyone)

    def close(self) -> None:
        """Let what this process holds now no longer count; what it has done still does."""
        if SHARED in os.environ:
            mark_process_dead(os.getpid())
