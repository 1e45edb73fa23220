"""Creates metrics of the library prometheus-client from the names and help texts in the contract."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from sparkfuse_contracts.metric_names import Metric


def counter(metric: Metric, registry: CollectorRegistry = REGISTRY) -> Counter:
    """Return a counter; prometheus-client appends ``_total``."""
    return Counter(metric.name.removesuffix("_total"), metric.help, metric.labels, registry=registry)


def gauge(metric: Metric, registry: CollectorRegistry = REGISTRY) -> Gauge:
    """Return a gauge."""
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)


def histogram(metric: Metric, registry: CollectorRegistry = REGISTRY) -> Histogram:
    """Return a histogram with the default buckets, 5 ms to 10 s."""
    return Histogram(metric.name, metric.help, metric.labels, registry=registry)
