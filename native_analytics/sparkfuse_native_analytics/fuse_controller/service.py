"""Connects the fuse controller to Kafka and Alertmanager."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message
from google.protobuf.message import Message as ProtobufMessage

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics.fuse_controller import records
from sparkfuse_native_analytics.fuse_controller.broker_clock import BrokerClock
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.controller_metrics import COMPONENT, ControllerMetrics
from sparkfuse_native_analytics.fuse_controller.controller_policy import ControllerPolicy, PolicyReloader
from sparkfuse_native_analytics.fuse_controller.gates import Health
from sparkfuse_native_analytics.fuse_controller.kafka import Inputs, Outputs
from sparkfuse_native_analytics.fuse_controller.silences import Silence, active_silences

Kind = TypeVar("Kind", bound=ProtobufMessage)
READ_SECONDS = 0.5
# Without new records, only the age of the evidence changes, so it is enough to evaluate every few seconds.
EVALUATE_SECONDS = 5.0
PROBE_SECONDS = 5.0
CONTROLS = "controls"
POLICY_VALID, POLICY_INVALID = "policy_valid", "policy_invalid"
_log = logging.getLogger("sparkfuse.fuse_controller")


class FuseControllerService:
    """The main loop, and the controller's Environment: Kafka, Alertmanager and the wall clock."""

    def __init__(
        self, settings: Settings, controller: FuseController, policy_file: PolicyReloader, counters: ControllerMetrics
    ) -> None:
        """Fence an older controller. Raises TopicUnavailableError if Kafka or a topic is not available."""
        self._settings, self._controller, self._policy_file, self._metrics = settings, controller, policy_file, counters
        self._broker_clock = BrokerClock()
        # The outputs are created first, so that an older controller is fenced before this one reads the end of the
        # audit log.
        self._outputs = Outputs(settings, counters.kafka_error)
        self._inputs = Inputs(settings, counters.kafka_error)

    def run(self, stop: threading.Event) -> None:
        """Read all topics to their ends, begin a new epoch, then evaluate until ``stop`` is set.

        Raises FencedError if the process must end.
        """
        self._catch_up(stop)
        if not stop.is_set():
            self._carry_out(lambda: self._controller.start(self))
            _log.info("evaluating %s policies in epoch %s", len(self._controller.policy.watched()),
                      self._controller.audit.epoch)  # fmt: skip
        evaluated = probed = 0.0
        while not stop.is_set():
            received = self._process(self._inputs.read(READ_SECONDS))
            self._inputs.check()
            if policy := self._policy_file.reload():
                self._use(policy)
            if received or time.monotonic() - evaluated >= EVALUATE_SECONDS:
                evaluated = time.monotonic()
                self._carry_out(lambda: self._controller.evaluate(self))
            if time.monotonic() - probed >= PROBE_SECONDS:
                probed = time.monotonic()
                self._carry_out(lambda: self._controller.probe(self))
            self._show()
        self._inputs.close()

    def now_ms(self) -> int:
        """Return the wall clock in ms since the epoch."""
        return time.time_ns() // 1_000_000

    def refresh(self) -> None:
        """Process records until none arrives and each order that the broker has stored is read, at most for a second.

        If an order remains unread, `health` says so, and nothing is stopped.
        """
        self._inputs.ask_ends(CONTROLS)
        until = time.monotonic() + 1.0
        while (self._process(self._inputs.read(0.05)) or self._inputs.unread()) and time.monotonic() < until:
            pass

    def health(self) -> Health:
        """Return whether all partitions were read to their end, and how far the local clock differs from Kafka's."""
        return Health(self._inputs.behind() or self._inputs.unread(), self._broker_clock.skew_ms(self.now_ms()))

    def silences(self) -> Sequence[Silence]:
        """Ask each Alertmanager. Raises SilencesUnknownError."""
        return active_silences(self._settings.alertmanager_urls)

    def write(self, audit: Sequence[tuple[str, bytes]], signals: Sequence[tuple[Signal, SignedMessage]]) -> int | None:
        """Write one transaction, and compare the clocks. Raises OSError or FencedError."""
        appended_ms = self._outputs.write(audit, signals)
        if appended_ms is not None:
            self._broker_clock.appended(appended_ms)
        for content in audit:
            self._metrics.step(from_json(AuditRecord, content[1]))
        for signal, _ in signals:
            self._metrics.signals.labels(signal.rule, signal.action, str(signal.probe).lower()).inc()
        return appended_ms

    def _catch_up(self, stop: threading.Event) -> None:
        """Read all topics to their ends.

        There is no time limit, because a controller that has not read all records must not act.
        """
        while not stop.is_set() and not self._inputs.caught_up():
            self._process(self._inputs.read(READ_SECONDS))
            self._inputs.check()

    def _use(self, policy: ControllerPolicy) -> None:
        self._controller.use(policy)
        step, reason = (POLICY_INVALID, policy.error) if policy.error else (POLICY_VALID, "sparkfuse.yaml was reloaded")
        record = records.controller_record(step, reason, self.now_ms())
        self._carry_out(lambda: self._controller.audit.write(self, [record]))

    def _carry_out(self, step: Callable[[], None]) -> None:
        try:
            step()
        except OSError as error:
            # The next pass of the loop retries.
            _log.error("a transaction was aborted; neither its audit records nor its signals were written: %s", error)

    def _show(self) -> None:
        self._metrics.show(
            lag=self._inputs.lag(),
            health=self.health(),
            policy_error=self._controller.policy.error,
            stopped_clusters=self._controller.stopped_clusters,
            unverified_controls=len(self._controller.controls.unverified()),
        )

    def _process(self, received: Mapping[str, Sequence[Message]]) -> bool:
        for topic, messages in received.items():
            self._metrics.read.labels(COMPONENT, topic).inc(len(messages))
        # Controls and audit records are processed before rows, because a hold must be known before its target is
        # evaluated.
        for message in received.get("controls", ()):
            self._read_control(message)
        for message in received.get("approvals", ()):
            if reason := self._controller.approvals.put(message.value(), _appended_ms(message)):
                self._write_dead_letter(message, reason)
        for message in received.get("audit", ()):
            if (record := self._read(message, AuditRecord)) is not None and (
                reason := self._controller.audit.read(message.value() or b"", record, _appended_ms(message))
            ):
                self._write_dead_letter(message, reason)
        for message in received.get("receipts", ()):
            if (receipt := self._read(message, Receipt)) is not None:
                self._controller.read_receipt(receipt)
        for message in received.get("findings", ()):
            if (finding := self._read(message, Finding)) is not None and (
                reason := self._controller.findings.put(finding, self.now_ms())
            ):
                self._write_dead_letter(message, reason)
        self._read_live(received.get("live", ()))
        return bool(received)

    def _read_live(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        contents = [message.value() for message in messages]
        rejected, endings = self._controller.view.add(contents, self._controller.watched_runs())
        for place, reason in rejected:
            self._write_dead_letter(messages[place], reason)
        for ending in endings:
            self._controller.read_ending(ending, self.now_ms())

    def _read_control(self, message: Message) -> None:
        key = (message.key() or b"").decode("utf-8", "replace")
        if reason := self._controller.controls.put(key, message.value(), _appended_ms(message)):
            self._write_dead_letter(message, reason)

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
            payload=(message.value() or b"")[:DEAD_LETTER_PAYLOAD_BYTES],
            seen_ms=self.now_ms(),
        )
        try:
            self._outputs.write_dead_letter(letter)
        except OSError as error:
            _log.error("a dead letter was not written: %s", error)


def _appended_ms(message: Message) -> int | None:
    """Return the broker's time of a record; None if the writer chose the time."""
    kind, at_ms = message.timestamp()
    return int(at_ms) if kind == TIMESTAMP_LOG_APPEND_TIME else None
