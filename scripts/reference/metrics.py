"""The page of the service's metrics, from the metrics themselves."""

from pairup.service.observability.metrics import Metrics
from scripts.reference.markdown import NOTICE, table

_HEAD = f"""# Metrics of the service

{NOTICE}

`GET /metrics` answers in the text format of Prometheus. With several workers the numbers are those
of all workers together. How to scrape them, which pools have series of their own, and alert rules:
[monitor the service](../how-to/monitor-the-service.md). No label holds the name of a player, and
the label `pool` has at most `max_metric_pools` + 1 values per process.

"""
_CAUSES = """
The causes of cancelled and released games are those of [events](events.md#words); `unreported` are
games that expired in a pool where that counts as cancelled.
"""


def page() -> str:
    """Return the text of the page."""
    metrics, rows = Metrics(), []
    for metric in metrics.collect():
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        collector = metrics.registry._names_to_collectors[name]
        labels = ", ".join(f"`{label}`" for label in collector._labelnames)
        rows.append((f"`{name}`", metric.type, labels, metric.documentation))
    return _HEAD + table(("metric", "type", "labels", "meaning"), rows) + _CAUSES
