"""prometheus-client's objects for the names that the contract lists."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from sparkfuse_contracts.metric_names import Metric


def counter(metric: Metric, registry: CollectorRegistry = REGISTRY) -> Counter:
    """A counter; prometheus-client adds the ``_total`` itself."""
    return Counter(metric.name.removesuffix("_total"), metric.help, metric.labels, registry=registry)


def gauge(metric: Metric, registry: CollectorRegistry = REGISTRY) -> Gauge:
    """A gauge."""
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)


def histogram(metric: Metric, registry: CollectorRegistry = REGISTRY) -> Histogram:
    """A histogram with prometheus-client's own buckets, 5 ms to 10 s."""
    return Histogram(metric.name, metric.help, metric.labels, registry=registry)
