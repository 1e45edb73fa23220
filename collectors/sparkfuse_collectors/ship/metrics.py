"""The shipper's own metrics."""

from __future__ import annotations

from confluent_kafka import KafkaError
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.metric_names import Metric

COMPONENT = "shipper"


class ShipMetrics:
    """The metrics with the names that the contract defines."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.facts = _counter(metric_names.FACTS_SHIPPED, registry)
        self.history = _counter(metric_names.HISTORY_SHIPPED, registry)
        self.malformed = _counter(metric_names.SHIP_MALFORMED, registry)
        self.problems = _counter(metric_names.SHIP_PROBLEMS, registry)
        self.kafka_errors = _counter(metric_names.KAFKA_ERRORS, registry)
        self.logs = _gauge(metric_names.LOGS_FOLLOWED, registry)
        self.behind_bytes = _gauge(metric_names.SHIP_BEHIND_BYTES, registry)
        self.behind_seconds = _gauge(metric_names.SHIP_BEHIND_SECONDS, registry)
        scan = metric_names.SHIP_SCAN_SECONDS
        self.scan_seconds = Histogram(scan.name, scan.help, scan.labels, registry=registry)

    def count_kafka_error(self, error: KafkaError) -> None:
        """Count an error that the Kafka client reports and handles itself."""
        del error
        self.kafka_errors.labels(COMPONENT).inc()

    def count_rejected(self) -> None:
        """Count a record that Kafka rejected."""
        self.problems.labels("rejected").inc()


def _counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name.removesuffix("_total"), metric.help, metric.labels, registry=registry)


def _gauge(metric: Metric, registry: CollectorRegistry) -> Gauge:
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)
