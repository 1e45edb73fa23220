"""Kafka client of the external actuator: follows new signals, reads other topics on demand, writes receipts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place
from google.protobuf.message import DecodeError

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json, to_json
from sparkfuse_native_analytics.fuse_actuator.actuator import SignalRecord
from sparkfuse_native_analytics.fuse_actuator.actuator_metrics import ActuatorMetrics
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook
from sparkfuse_native_analytics.fuse_controller.keys import KeyRing
from sparkfuse_native_analytics.fuse_operator.state import read_controls
from sparkfuse_native_analytics.topic_records import TopicError, read_all

ANSWER_SECONDS = 10.0
ACKNOWLEDGED_SECONDS = 5.0
MINUTE_MS = 60_000
# How long to wait for the audit record: it is committed together with its signal, but may become visible later.
ANNOUNCED_SECONDS = 2.0
# A row of a running application is written every few seconds; the gate `evidence` checks the age of the row.
ROW_LOOKBACK_MS = 3 * MINUTE_MS
# By the broker's clock, the start fact of an application arrives within seconds after the start.
START_BEFORE_MS, START_AFTER_MS = MINUTE_MS, 5 * MINUTE_MS
_CLIENT = "sparkfuse-fuse-actuator"
_log = logging.getLogger("sparkfuse.fuse_actuator")


class SignalReader:
    """Follows the topic ``signals`` from its end, because earlier signals may already have been carried out."""

    def __init__(self, settings: Settings, metrics: ActuatorMetrics) -> None:
        """Raises TopicError if the broker or the topic is not available."""
        self._topic, self._known = topic_name("signals", settings.topic_prefix), 0
        self._consumer = Consumer(
            client_configuration(
                settings,
                {
                    "client.id": _CLIENT,
                    "group.id": f"{settings.topic_prefix}.actuator",  # required by the client; nothing is committed
                    "enable.auto.commit": False,
                    "isolation.level": "read_committed",
                    "auto.offset.reset": "latest",
                    "log_level": 0,
                    "error_cb": metrics.kafka_error,
                },
            )
        )
        try:
            self.check()
        except KafkaException as error:
            raise TopicError(f"no Kafka broker answers at {settings.kafka_bootstrap}") from error

    def check(self) -> None:
        """Start to follow partitions that were added. Raises KafkaException if the broker does not answer."""
        found = self._consumer.list_topics(self._topic, timeout=ANSWER_SECONDS).topics[self._topic]
        added = range(self._known, len(found.partitions))
        # A signal that was written to a new partition before this check is not read; the controller sends the signal
        # again.
        ends = [
            Place(
                self._topic, number, self._consumer.get_watermark_offsets(Place(self._topic, number), ANSWER_SECONDS)[1]
            )
            for number in added
        ]
        if ends:
            self._consumer.incremental_assign(ends)
            self._known = len(found.partitions)

    def read(self, seconds: float) -> SignalRecord | None:
        """Return the next record that arrives within ``seconds``, or None."""
        message = self._consumer.poll(seconds)
        if message is None or message.error() is not None or message.value() is None:
            return None
        kind, at_ms = message.timestamp()
        return SignalRecord(message.value() or b"", int(at_ms) if kind == TIMESTAMP_LOG_APPEND_TIME else None)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


class KafkaEdge:
    """Connects the actuator to a real broker and to the real clocks."""

    def __init__(
        self,
        settings: Settings,
        keys: KeyRing,
        metrics: ActuatorMetrics,
        stop: threading.Event,
        *,
        uses_settings: bool,
    ) -> None:
        """``uses_settings``: whether the cluster manager needs the Spark settings of an application."""
        self._settings, self._keys, self._metrics, self._stop = settings, keys, metrics, stop
        self._uses_settings = uses_settings
        self._producer = Producer(
            producer_configuration(
                settings,
                {
                    "client.id": _CLIENT,
                    "enable.idempotence": True,
                    "linger.ms": 0,
                    "message.timeout.ms": int(ACKNOWLEDGED_SECONDS * 1000),
                    "log_level": 0,
                    "error_cb": metrics.kafka_error,
                },
            )
        )

    def clock_ms(self) -> int:
        """Return the monotonic clock in ms."""
        return time.monotonic_ns() // 1_000_000

    def wall_ms(self) -> int:
        """Return the wall clock in ms since the epoch."""
        return time.time_ns() // 1_000_000

    def wait(self, milliseconds: int) -> None:
        """Wait for the given time; return earlier if the process must end."""
        self._stop.wait(milliseconds / 1000)

    def write(self, receipt: Receipt) -> int | None:
        """Write a receipt and wait for the broker's confirmation; return the broker's time, None without it."""
        appended: list[int] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            kind, at_ms = message.timestamp() if error is None else (None, 0)
            if kind == TIMESTAMP_LOG_APPEND_TIME:
                appended.append(int(at_ms))

        try:
            self._producer.produce(
                topic_name("receipts", self._settings.topic_prefix),
                to_json(receipt),
                receipt.app_id.encode(),
                on_delivery=delivered,
            )
            self._producer.flush(ACKNOWLEDGED_SECONDS + 1)
        except (BufferError, KafkaException) as error:
            _log.error("a receipt was not written: %s", error)
        return appended[0] if appended else None

    def controls(self) -> ControlBook | None:
        """Return all controls, or None if they cannot be read to their end."""
        try:
            return read_controls(self._settings, self._keys)[0]
        except TopicError as error:
            _log.error("the controls cannot be read: %s", error)
            return None

    def announcement(self, signal: Signal) -> AuditRecord | None:
        """Return the audit record with the generation of the signal; None if there is none or it cannot be read."""
        until = time.monotonic() + ANNOUNCED_SECONDS
        while True:
            for content in self._contents("audit", signal, signal.issued_ms - MINUTE_MS):
                try:
                    record = from_json(AuditRecord, content)
                except RecordError:
                    continue  # `sparkfuse fuse audit --verify` reports an invalid record
                if record.sequence == signal.generation:
                    return record
            if time.monotonic() > until:
                return None
            self.wait(100)

    def row(self, signal: Signal) -> LiveRow | None:
        """Return the latest row of the signal's application, or None."""
        rows = self._rows(signal, self.wall_ms() - ROW_LOOKBACK_MS)
        of_application = (row for row in rows if row.HasField("application"))
        return max(of_application, key=lambda row: (row.row_epoch_ms, row.row_seq), default=None)

    def settings(self, signal: Signal) -> Mapping[str, str]:
        """Return the Spark settings from the start of the application; empty if they are not needed or not found."""
        if not self._uses_settings:
            return {}
        started_ms = signal.app_start_ms
        rows = self._rows(signal, started_ms - START_BEFORE_MS, started_ms + START_AFTER_MS)
        starts = (row.application_started.properties for row in rows if row.HasField("application_started"))
        return dict(next(starts, {}))

    def count(self, signal: Signal, outcome: str, gate: str) -> None:
        """Count a signal by its outcome and by the gate that refused it."""
        self._metrics.outcome(signal, outcome, gate)

    def count_unverified(self) -> None:
        """Count a record that no trusted key signed."""
        self._metrics.unverified.inc()

    def _rows(self, signal: Signal, since_ms: int, until_ms: int | None = None) -> list[LiveRow]:
        """Return the rows of exactly the signal's run."""
        run = (signal.cluster, signal.app_id, signal.app_attempt, signal.app_start_ms)
        rows = (_live_row(content) for content in self._contents("live", signal, since_ms, until_ms))
        return [row for row in rows if (row.cluster, row.app_id, row.app_attempt, row.app_start_ms) == run]

    def _contents(self, topic: str, signal: Signal, since_ms: int, until_ms: int | None = None) -> list[bytes]:
        try:
            records = read_all(self._settings, topic, since_ms, key=signal.app_id, until_ms=until_ms)
        except TopicError as error:
            _log.error("%s cannot be read: %s", topic, error)
            return []
        return [record.content for record in records if record.content is not None]


def _live_row(content: bytes) -> LiveRow:
    try:
        return LiveRow.FromString(content)
    except DecodeError:
        return LiveRow()  # the record is not a row of a run; the detect job writes the dead letter
