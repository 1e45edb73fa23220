"""The fuse controller's own metrics; Prometheus alerts are defined on them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from confluent_kafka import KafkaError
from prometheus_client import REGISTRY, CollectorRegistry

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_native_analytics import metrics
from sparkfuse_native_analytics.fuse_controller.gates import Health

COMPONENT = "fuse_controller"
_log = logging.getLogger("sparkfuse.fuse_controller")


@dataclass
class ControllerMetrics:
    """Counters of records and decisions, and gauges for conditions under which the controller cannot stop anything."""

    registry: CollectorRegistry = field(default_factory=lambda: REGISTRY)

    def __post_init__(self) -> None:
        self.read = metrics.counter(metric_names.RECORDS_READ, self.registry)
        self.dead_letters = metrics.counter(metric_names.DEAD_LETTERS, self.registry)
        self.kafka_errors = metrics.counter(metric_names.KAFKA_ERRORS, self.registry)
        self.lag = metrics.gauge(metric_names.CONSUMER_LAG, self.registry)
        self.steps = metrics.counter(metric_names.FUSE_STEPS, self.registry)
        self.signals = metrics.counter(metric_names.SIGNALS_SENT, self.registry)
        self.ready = metrics.gauge(metric_names.FUSE_READY, self.registry)
        self.clock_skew = metrics.gauge(metric_names.FUSE_CLOCK_SKEW, self.registry)
        self.policy_valid = metrics.gauge(metric_names.FUSE_POLICY_VALID, self.registry)
        self.big_picture = metrics.gauge(metric_names.FUSE_BIG_PICTURE, self.registry)
        self.unverified = metrics.gauge(metric_names.FUSE_UNVERIFIED_CONTROLS, self.registry)
        self._clusters: frozenset[str] = frozenset()

    def kafka_error(self, error: KafkaError) -> None:
        """Count an error that the Kafka client reports; the client recovers by itself."""
        self.kafka_errors.labels(COMPONENT).inc()
        _log.warning("Kafka: %s", error.str())

    def step(self, record: AuditRecord) -> None:
        """Count one audit record."""
        self.steps.labels(record.rule, record.mode, record.step, record.gate, record.outcome).inc()

    def show(
        self,
        lag: int,
        health: Health,
        policy_error: str,
        stopped_clusters: Iterable[str],
        unverified_controls: int,
    ) -> None:
        """Set the gauges."""
        self.lag.labels(COMPONENT, "all").set(lag)
        self.ready.set(not health.behind)
        self.clock_skew.set((health.clock_skew_ms or 0) / 1000)
        self.policy_valid.set(not policy_error)
        self.unverified.set(unverified_controls)
        clusters = frozenset(stopped_clusters)
        for cluster in clusters | self._clusters:
            self.big_picture.labels(cluster).set(cluster in clusters)
        self._clusters = clusters
