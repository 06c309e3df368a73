"""Metrics, as Prometheus reads them. No label is a player's or a pool's name."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from pairup.service.events import Recorded

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of this process.

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
            "pairup_cached_pools", "Pools in the memory of this process.", registry=self.registry
        )
        self.streams = Gauge(
            "pairup_event_streams", "Streams of events open now.", registry=self.registry
        )

    def happened(self, log: Iterable[Recorded]) -> None:
        """Count events that were committed."""
        for recorded in log:
            self.events.labels(recorded.event.kind).inc()

    def exposed(self) -> bytes:
        """Write everything as Prometheus reads it."""
        return generate_latest(self.registry)
