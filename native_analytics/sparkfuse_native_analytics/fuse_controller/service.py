"""Connects the fuse controller to Kafka and Alertmanager."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from confluent_kafka import KafkaError, Message
from google.protobuf.message import Message as ProtobufMessage
from prometheus_client import REGISTRY, CollectorRegistry

from sparkfuse_contracts import metric_names
from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.signal_pb2 import Signal, SignedSignal
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics import metrics
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.controller_policy import PolicyReloader
from sparkfuse_native_analytics.fuse_controller.kafka import CAUGHT_UP_SECONDS, Inputs, Outputs
from sparkfuse_native_analytics.fuse_controller.silences import silenced

Kind = TypeVar("Kind", bound=ProtobufMessage)
COMPONENT = "fuse_controller"
READ_SECONDS = 0.5
# Without new records the evidence only ages, so an evaluation every few seconds is enough.
EVALUATE_SECONDS = 5.0
PAYLOAD_BYTES = 64 * 1024
_log = logging.getLogger("sparkfuse.fuse_controller")


@dataclass
class ControllerMetrics:
    """The fuse controller's own metrics."""

    registry: CollectorRegistry = field(default_factory=lambda: REGISTRY)

    def __post_init__(self) -> None:
        self.read = metrics.counter(metric_names.RECORDS_READ, self.registry)
        self.dead_letters = metrics.counter(metric_names.DEAD_LETTERS, self.registry)
        self.kafka_errors = metrics.counter(metric_names.KAFKA_ERRORS, self.registry)
        self.lag = metrics.gauge(metric_names.CONSUMER_LAG, self.registry)
        self.steps = metrics.counter(metric_names.FUSE_STEPS, self.registry)
        self.signals = metrics.counter(metric_names.SIGNALS_SENT, self.registry)

    def kafka_error(self, error: KafkaError) -> None:
        """Count an error that the Kafka client reports; the client recovers by itself."""
        self.kafka_errors.labels(COMPONENT).inc()
        _log.warning("Kafka: %s", error.str())


class FuseControllerService:
    """The main loop, and the controller's Environment: Kafka, Alertmanager and the wall clock."""

    def __init__(
        self, settings: Settings, controller: FuseController, policy_file: PolicyReloader, counters: ControllerMetrics
    ) -> None:
        """Raises TopicUnavailableError if Kafka or a topic is not available."""
        self._settings, self._controller, self._policy_file, self._metrics = settings, controller, policy_file, counters
        self._outputs = Outputs(settings.kafka_bootstrap, settings.topic_prefix, counters.kafka_error)
        self._inputs = Inputs(settings.kafka_bootstrap, settings.topic_prefix, counters.kafka_error)

    def run(self, stop: threading.Event) -> None:
        """Read the audit log and recent rows, then evaluate until ``stop`` is set."""
        self._catch_up(stop)
        evaluated = 0.0
        while not stop.is_set():
            received = self._process(self._inputs.read(READ_SECONDS))
            if policy := self._policy_file.reload():
                self._controller.use(policy)
            if received or time.monotonic() - evaluated >= EVALUATE_SECONDS:
                evaluated = time.monotonic()
                self._evaluate()
        self._inputs.close()

    def now_ms(self) -> int:
        """Return the wall clock in ms since the epoch."""
        return time.time_ns() // 1_000_000

    def refresh(self) -> None:
        """Process the records that have arrived, without waiting for more."""
        self._process(self._inputs.read(0.05))

    def silenced(self, finding_id: str) -> bool:
        """Ask each Alertmanager. Raises SilenceUnknownError."""
        return silenced(self._settings.alertmanager_urls, finding_id)

    def write_action(self, action: Action) -> None:
        """Write an action to the audit log. Raises OSError."""
        self._outputs.write("actions", action)
        self._metrics.steps.labels(action.rule, action.mode, action.outcome).inc()

    def write_signal(self, signed: SignedSignal, signal: Signal) -> None:
        """Send a signal to the partition that the application's hook reads. Raises OSError."""
        self._outputs.write("signals", signed, signal.app_id.encode())
        self._metrics.signals.labels(signal.rule, signal.action).inc()

    def _catch_up(self, stop: threading.Event) -> None:
        deadline = time.monotonic() + CAUGHT_UP_SECONDS
        while not stop.is_set() and not self._inputs.caught_up() and time.monotonic() < deadline:
            self._process(self._inputs.read(READ_SECONDS))
        _log.info("evaluating %s rules", len(self._controller.policy.watched()))

    def _evaluate(self) -> None:
        try:
            self._controller.evaluate(self)
        except OSError as error:
            # A signal is sent only after its action was written, so nothing was sent; the next evaluation tries again.
            _log.error("an action was not written: %s", error)
        self._metrics.lag.labels(COMPONENT, "all").set(self._inputs.lag())

    def _process(self, records: Mapping[str, Sequence[Message]]) -> bool:
        for topic, messages in records.items():
            self._metrics.read.labels(COMPONENT, topic).inc(len(messages))
        live = records.get("live", ())
        for place, reason in self._controller.view.add([message.value() for message in live]) if live else ():
            self._write_dead_letter(live[place], reason)
        for message in records.get("findings", ()):
            if (finding := self._read(message, Finding)) is not None:
                self._controller.findings.put(finding)
        for message in records.get("actions", ()):
            if (action := self._read(message, Action)) is not None:
                self._controller.fuses.record(action)
        return bool(live or records.get("findings"))

    def _read(self, message: Message, kind: type[Kind]) -> Kind | None:
        try:
            return from_json(kind, message.value() or b"")
        except RecordError as error:
            self._write_dead_letter(message, str(error))
            return None

    def _write_dead_letter(self, message: Message, reason: str) -> None:
        self._metrics.dead_letters.labels(COMPONENT, message.topic()).inc()
        letter = DeadLetter(
            component=COMPONENT,
            topic=message.topic(),
            kafka_partition=message.partition(),
            kafka_offset=message.offset(),
            reason=reason,
            payload=(message.value() or b"")[:PAYLOAD_BYTES],
            seen_ms=self.now_ms(),
        )
        try:
            self._outputs.write("dead-letters", letter)
        except OSError as error:
            _log.error("a dead letter was not written: %s", error)
