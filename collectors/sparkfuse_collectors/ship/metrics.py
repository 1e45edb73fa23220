"""What the shipper tells about itself."""

from __future__ import annotations

from confluent_kafka import KafkaError
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.metric_names import Metric

COMPONENT = "shipper"


class ShipMetrics:
    """The shipper's metrics; their names are the contract's."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.facts = _counter(metric_names.FACTS_SHIPPED, registry)
        self.history = _counter(metric_names.HISTORY_SHIPPED, registry)
        self.malformed = _counter(metric_names.SHIP_MALFORMED, registry)
        self.troubles = _counter(metric_names.SHIP_TROUBLES, registry)
        self.kafka_errors = _counter(metric_names.KAFKA_ERRORS, registry)
        self.logs = _gauge(metric_names.LOGS_FOLLOWED, registry)
        self.behind_bytes = _gauge(metric_names.SHIP_BEHIND_BYTES, registry)
        self.behind_seconds = _gauge(metric_names.SHIP_BEHIND_SECONDS, registry)
        scan = metric_names.SHIP_SCAN_SECONDS
        self.scan_seconds = Histogram(scan.name, scan.help, scan.labels, registry=registry)

    def kafka_error(self, error: KafkaError) -> None:
        """Count what the Kafka client reports; it goes on by itself."""
        del error
        self.kafka_errors.labels(COMPONENT).inc()

    def refused(self) -> None:
        """Count a record that Kafka never takes."""
        self.troubles.labels("not taken").inc()


def _counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name.removesuffix("_total"), metric.help, metric.labels, registry=registry)


def _gauge(metric: Metric, registry: CollectorRegistry) -> Gauge:
    return Gauge(metric.name, metric.help, metric.labels, registry=registry)
