"""The metrics of the external actuator; Prometheus alerts are defined on them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from confluent_kafka import KafkaError
from prometheus_client import REGISTRY, CollectorRegistry

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics import metrics

COMPONENT = "fuse_actuator"
_log = logging.getLogger("sparkfuse.fuse_actuator")


@dataclass
class ActuatorMetrics:
    """Counters of signals by outcome, and whether the actuator can act."""

    registry: CollectorRegistry = field(default_factory=lambda: REGISTRY)

    def __post_init__(self) -> None:
        self.kafka_errors = metrics.counter(metric_names.KAFKA_ERRORS, self.registry)
        self.ready = metrics.gauge(metric_names.ACTUATOR_READY, self.registry)
        self.outcomes = metrics.counter(metric_names.ACTUATOR_OUTCOMES, self.registry)
        self.unverified = metrics.counter(metric_names.ACTUATOR_UNVERIFIED, self.registry)

    def kafka_error(self, error: KafkaError) -> None:
        """Count an error that the Kafka client reports; the client recovers by itself."""
        self.kafka_errors.labels(COMPONENT).inc()
        _log.warning("Kafka: %s", error.str())

    def outcome(self, signal: Signal, outcome: str, gate: str) -> None:
        """Count the outcome of one signal."""
        self.outcomes.labels(signal.rule, outcome, gate, str(signal.probe).lower()).inc()
