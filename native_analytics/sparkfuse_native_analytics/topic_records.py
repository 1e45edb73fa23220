"""Read a topic to its end, or append records one by one; for commands and for acts of people."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name

ANSWER_SECONDS = 10.0
# `consume` waits this long for more records, even if all partitions are at their ends.
READ_SECONDS = 0.1
_CLIENT = "sparkfuse-command"
_NO_LEADER_YET = {KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE}


class TopicError(RuntimeError):
    """A topic cannot be read or written; the message is one sentence."""


@dataclass(frozen=True)
class Record:
    """One record: key, content, the broker's time in ms (None if the writer chose the time), partition and offset."""

    key: str
    content: bytes | None
    appended_ms: int | None
    partition: int = 0
    offset: int = 0


def read_all(
    settings: Settings, topic: str, since_ms: int | None = None, *, key: str | None = None, until_ms: int | None = None
) -> list[Record]:
    """Return the committed records of a topic, optionally only those with a key or in a range of the broker's time.

    Records of one partition keep their order. Raises TopicError.
    """
    name = topic_name(topic, settings.topic_prefix)
    errors: list[KafkaError] = []
    consumer = Consumer(
        client_configuration(
            settings,
            {
                "group.id": f"{settings.topic_prefix}.operator",  # required by the client; nothing is committed to it
                "client.id": _CLIENT,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "log_level": 0,
                "error_cb": errors.append,
            },
        )
    )
    try:
        metadata = consumer.list_topics(name, timeout=ANSWER_SECONDS).topics[name]
        if metadata.error is not None:
            raise TopicError(f"Kafka at {settings.kafka_bootstrap}: topic {name}: {metadata.error.str()}")
        places = [TopicPartition(name, number, -2 if since_ms is None else since_ms) for number in metadata.partitions]
        if since_ms is not None:
            places = _offsets_at(consumer, places)
        consumer.assign(places)
        found = _to_the_end(consumer, places, settings, until_ms)
        return [record for record in found if key is None or record.key == key]
    except KafkaException as error:
        reason = (errors or [error.args[0]])[0].str()
        raise TopicError(f"Kafka at {settings.kafka_bootstrap} cannot be read: {reason}") from error
    finally:
        consumer.close()


def _offsets_at(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    """Return the offsets at the times in ``places``; retry while a partition elects a leader. Raises KafkaException."""
    until = time.monotonic() + ANSWER_SECONDS
    while True:
        try:
            found: list[TopicPartition] = consumer.offsets_for_times(places, timeout=ANSWER_SECONDS)
        except KafkaException as error:
            if error.args[0].code() not in _NO_LEADER_YET or time.monotonic() > until:
                raise
            time.sleep(READ_SECONDS)
        else:
            return found


class TopicWriter:
    """Appends records with one producer; threads may share it.

    The producer is opened with the first record, and again after a record was not stored: only a new producer reads a
    renewed password, and works again after a fatal error.
    """

    def __init__(self, settings: Settings, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._settings = settings
        self._answer_seconds = answer_seconds
        self._opening = threading.Lock()
        self._producer: Producer | None = None

    def append(self, topic: str, key: str, content: bytes) -> None:
        """Append one record and wait until the broker has stored it. Raises TopicError."""
        answers: list[KafkaError | None] = []
        producer = self._open()
        try:
            producer.produce(
                topic_name(topic, self._settings.topic_prefix),
                content,
                key.encode(),
                on_delivery=lambda error, _: answers.append(error),
            )
        except (KafkaException, BufferError) as error:  # such as a record that is too large
            self._forget(producer)
            raise TopicError(f"the record cannot be sent to {topic}: {error}") from error
        until = time.monotonic() + self._answer_seconds + 1
        while not answers and time.monotonic() < until:
            producer.poll(READ_SECONDS)  # a thread also delivers the answers for records of other threads
        failed = answers[0] if answers else None
        if failed is not None or not answers:
            self._forget(producer)
            reason = failed.str() if failed is not None else "the broker does not answer"
            raise TopicError(f"Kafka at {self._settings.kafka_bootstrap} did not store the record in {topic}: {reason}")

    def _open(self) -> Producer:
        with self._opening:
            if self._producer is None:
                own = {
                    "client.id": _CLIENT,
                    "enable.idempotence": True,
                    "message.timeout.ms": int(self._answer_seconds * 1000),
                    "log_level": 0,
                }
                self._producer = Producer(producer_configuration(self._settings, own))
            return self._producer

    def _forget(self, producer: Producer) -> None:
        with self._opening:
            if self._producer is producer:  # another thread may have opened a new one
                self._producer = None


def append(settings: Settings, topic: str, key: str, content: bytes) -> None:
    """Append one record and wait until the broker has stored it; for commands. Raises TopicError."""
    TopicWriter(settings).append(topic, key, content)


def _to_the_end(
    consumer: Consumer, places: list[TopicPartition], settings: Settings, until_ms: int | None
) -> Iterator[Record]:
    left, until = {place.partition for place in places}, time.monotonic() + 6 * ANSWER_SECONDS
    while left:
        if time.monotonic() > until:
            raise TopicError(f"Kafka at {settings.kafka_bootstrap} does not answer")
        for message in consumer.consume(1000, READ_SECONDS):
            error = message.error()
            if error is None:
                kind, at_ms = message.timestamp()
                if until_ms is not None and at_ms > until_ms:
                    left.discard(message.partition())
                    continue
                key = (message.key() or b"").decode("utf-8", "replace")
                appended_ms = at_ms if kind == TIMESTAMP_LOG_APPEND_TIME else None
                yield Record(key, message.value(), appended_ms, message.partition(), message.offset())
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  the client's public name for it
                left.discard(message.partition())
            else:
                raise KafkaException(error)
