"""Ties the fuse controller's work to Kafka and Alertmanager."""

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
from sparkfuse_native_analytics.fuse_controller.kafka import CAUGHT_UP_SECONDS, Inputs, Outputs
from sparkfuse_native_analytics.fuse_controller.policy_reload import PolicyFile
from sparkfuse_native_analytics.fuse_controller.silences import silenced
from sparkfuse_native_analytics.fuse_controller.work import FuseController

Kind = TypeVar("Kind", bound=ProtobufMessage)
COMPONENT = "fuse_controller"
READ_SECONDS = 0.5
# Without news the evidence only grows older, which a look every few seconds sees soon enough.
LOOK_SECONDS = 5.0
PAYLOAD_BYTES = 64 * 1024
_log = logging.getLogger("sparkfuse.fuse_controller")


@dataclass
class Tally:
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
        """Count what the client reports; it goes on by itself."""
        self.kafka_errors.labels(COMPONENT).inc()
        _log.warning("Kafka: %s", error.str())


class Process:
    """Reads, looks, acts, until it is told to stop. It is what the fuse controller sees of the world."""

    def __init__(self, settings: Settings, controller: FuseController, file: PolicyFile, tally: Tally) -> None:
        """Raises TopicUnavailableError when Kafka is not there."""
        self._settings, self._controller, self._file, self._tally = settings, controller, file, tally
        self._outputs = Outputs(settings.kafka_bootstrap, settings.topic_prefix, tally.kafka_error)
        self._inputs = Inputs(settings.kafka_bootstrap, settings.topic_prefix, tally.kafka_error)

    def run(self, stop: threading.Event) -> None:
        """Catch up with the audit and the evidence, then look at whatever comes."""
        self._catch_up(stop)
        looked = 0.0
        while not stop.is_set():
            came = self._take(self._inputs.read(READ_SECONDS))
            if orders := self._file.changed():
                self._controller.use(orders)
            if came or time.monotonic() - looked >= LOOK_SECONDS:
                looked = time.monotonic()
                self._look()
        self._inputs.close()

    def now_ms(self) -> int:
        """The wall clock: rows carry the broker's, which the hook's deadline is held to as well."""
        return time.time_ns() // 1_000_000

    def refresh(self) -> None:
        """Take in what has arrived, without waiting for more."""
        self._take(self._inputs.read(0.05))

    def silenced(self, finding_id: str) -> bool:
        """Ask every Alertmanager. Raises AlertmanagerSilentError."""
        return silenced(self._settings.alertmanager_urls, finding_id)

    def write_action(self, action: Action) -> None:
        """Write a step of the audit. Raises OSError."""
        self._outputs.write("actions", action)
        self._tally.steps.labels(action.rule, action.mode, action.outcome).inc()

    def write_signal(self, signed: SignedSignal, signal: Signal) -> None:
        """Send an order into the partition that the application's hook reads. Raises OSError."""
        self._outputs.write("signals", signed, signal.app_id.encode())
        self._tally.signals.labels(signal.rule, signal.action).inc()

    def _catch_up(self, stop: threading.Event) -> None:
        deadline = time.monotonic() + CAUGHT_UP_SECONDS
        while not stop.is_set() and not self._inputs.caught_up() and time.monotonic() < deadline:
            self._take(self._inputs.read(READ_SECONDS))
        _log.info("watching %s rules", len(self._controller.orders.watched()))

    def _look(self) -> None:
        try:
            self._controller.look(self)
        except OSError as error:
            # Nothing was sent whose step could not be written; the evidence is still there at the next look.
            _log.error("a step was not written: %s", error)
        self._tally.lag.labels(COMPONENT, "all").set(self._inputs.lag())

    def _take(self, records: Mapping[str, Sequence[Message]]) -> bool:
        for topic, messages in records.items():
            self._tally.read.labels(COMPONENT, topic).inc(len(messages))
        live = records.get("live", ())
        for place, reason in self._controller.view.add([message.value() for message in live]) if live else ():
            self._set_aside(live[place], reason)
        for message in records.get("findings", ()):
            if (finding := self._read(message, Finding)) is not None:
                self._controller.findings.put(finding)
        for message in records.get("actions", ()):
            if (action := self._read(message, Action)) is not None:
                self._controller.states.record(action)
        return bool(live or records.get("findings"))

    def _read(self, message: Message, kind: type[Kind]) -> Kind | None:
        try:
            return from_json(kind, message.value() or b"")
        except RecordError as error:
            self._set_aside(message, str(error))
            return None

    def _set_aside(self, message: Message, reason: str) -> None:
        self._tally.dead_letters.labels(COMPONENT, message.topic()).inc()
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
