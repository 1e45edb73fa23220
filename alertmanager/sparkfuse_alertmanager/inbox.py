"""Read findings from Kafka and write dead letters; the offsets of a batch are committed after its processing."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from sparkfuse_alertmanager.metrics import COMPONENT, TOPIC, Metrics
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.kafka_access import require_access
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import to_json

log = logging.getLogger(__name__)
BATCH = 500
FLUSH_SECONDS = 10.0


class DeadLetterError(OSError):
    """The broker did not acknowledge the dead letters; retry the batch."""


@dataclass(frozen=True)
class Record:
    """One Kafka record."""

    value: bytes
    partition: int
    offset: int


class Inbox:
    """The findings in the partitions that Kafka assigns to this member of the consumer group; not thread-safe."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        """Join the consumer group. Raises KafkaUnavailableError if the broker, a topic or a permission is missing."""
        require_access(settings, COMPONENT)
        self.topic = topic_name(TOPIC, settings.topic_prefix)
        self._letters_topic = topic_name("dead-letters", settings.topic_prefix)
        self._metrics = metrics
        # error_cb logs the errors of the client, so its own log is disabled.
        common = {"error_cb": self._on_error, "log_level": 0}
        self._consumer = Consumer(
            client_configuration(settings, common)
            | {
                "group.id": f"{settings.topic_prefix}.{COMPONENT}",
                "enable.auto.commit": False,
                # If the group has no offset, it starts with the oldest finding; expired findings are counted and
                # skipped.
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                # If a sender is killed, another sender gets its partitions only after this time. This is the shortest
                # session timeout that brokers allow.
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 2000,
            }
        )
        self._producer = Producer(producer_configuration(settings, common | {"enable.idempotence": True}))
        self._batch: list[Message] = []
        self._consumer.subscribe([self.topic])

    def poll(self, seconds: float) -> list[Record]:
        """Return the available findings, at most BATCH; wait at most ``seconds`` for the first finding."""
        messages = self._consumer.consume(BATCH, seconds) if not self._batch else []
        for error in (message.error() for message in messages if message.error() is not None):
            self._on_error(error)
        self._batch = [message for message in messages if message.error() is None]
        self._metrics.read(len(self._batch))
        return [Record(message.value() or b"", message.partition(), message.offset()) for message in self._batch]

    def commit(self) -> None:
        """Commit the offsets of the last batch."""
        ends = {message.partition(): message.offset() + 1 for message in self._batch}
        self._batch = []
        try:
            self._consumer.commit(offsets=self._positions(ends), asynchronous=False)
        except KafkaException as error:
            # Either another member of the group now has the partition, or the broker is unavailable. In both cases the
            # batch is read again; reading a batch twice is harmless.
            log.warning("offsets were not committed: %s", error)

    def rewind(self) -> None:
        """Make the next call of ``poll`` return the last batch again."""
        starts: dict[int, int] = {}
        for message in self._batch:
            starts.setdefault(message.partition(), message.offset())
        self._batch = []
        for position in self._positions(starts):
            try:
                self._consumer.seek(position)
            except KafkaException as error:
                log.warning("partition %s was reassigned: %s", position.partition, error)

    def write_dead_letters(self, records: Sequence[tuple[Record, str]]) -> None:
        """Write a dead letter for each record, with its reason.

        Raises DeadLetterError if the broker does not acknowledge the dead letters.
        """
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        for record, reason in records:
            letter = to_json(self._letter(record, reason))
            self._producer.produce(self._letters_topic, letter, on_delivery=delivered)
        if self._producer.flush(FLUSH_SECONDS) or failures:
            raise DeadLetterError(
                f"the broker did not acknowledge dead letters: {failures[0] if failures else 'no answer'}"
            )
        self._metrics.dead_letters(len(records))

    def close(self) -> None:
        """Leave the consumer group, so that another member gets the partitions at once."""
        self._consumer.close()

    def _letter(self, record: Record, reason: str) -> DeadLetter:
        return DeadLetter(
            component=COMPONENT,
            topic=self.topic,
            kafka_partition=record.partition,
            kafka_offset=record.offset,
            reason=reason,
            payload=record.value[:DEAD_LETTER_PAYLOAD_BYTES],
            seen_ms=time.time_ns() // 1_000_000,
        )

    def _positions(self, offsets: dict[int, int]) -> list[TopicPartition]:
        return [TopicPartition(self.topic, partition, offset) for partition, offset in offsets.items()]

    def _on_error(self, error: KafkaError) -> None:
        self._metrics.kafka_error()
        log.warning("Kafka: %s", error)
