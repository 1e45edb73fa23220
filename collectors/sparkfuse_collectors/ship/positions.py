"""Reads the positions that earlier shippers with the same name committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from sparkfuse_collectors.ship.broker import ANSWER_SECONDS
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json


def read_positions(settings: Settings, shipper: str, on_error: Callable[[KafkaError], None]) -> dict[str, Position]:
    """Return the shipper's positions by log name; records that cannot be decoded are skipped.

    Raises KafkaException if the broker does not answer.
    """
    positions: dict[str, Position] = {}
    for message in _records(settings, on_error):
        value = message.value()
        if value is None:
            positions.pop(_log_of(message.key(), shipper), None)
            continue
        try:
            position = from_json(Position, value)
        except RecordError:
            continue
        if position.shipper == shipper:
            positions[position.log] = position
    return positions


def _log_of(key: bytes | None, shipper: str) -> str:
    try:
        position = from_json(Position, key or b"")
    except RecordError:
        return ""
    return position.log if position.shipper == shipper else ""


def _records(settings: Settings, on_error: Callable[[KafkaError], None]) -> Iterator[Message]:
    """Yield the committed records of the topic from its beginning to its current end."""
    topic = topic_name("positions", settings.topic_prefix)
    consumer = Consumer(client_configuration(settings, {
        "group.id": f"{settings.topic_prefix}.shipper",  # required by the client; no offset is committed
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "log_level": 0,
        "error_cb": on_error,
    }))  # fmt: skip
    try:
        known = consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
        if known.error is not None:
            raise KafkaException(known.error)
        unfinished = set(known.partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in unfinished])
        while unfinished:
            message = consumer.poll(ANSWER_SECONDS)
            if message is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic} was not read to its end"))  # noqa: SLF001
            if message.error() is None:
                yield message
            elif message.error().code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                unfinished.discard(message.partition())
            elif not message.error().retriable():
                raise KafkaException(message.error())
    finally:
        consumer.close()
