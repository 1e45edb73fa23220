"""Reads dead letters, and appends the original records to their topics again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics.fuse_operator.topics import ANSWER_SECONDS, TopicError, read_all

TOPIC = "dead-letters"
# Other topics contain signed records with a limited lifetime, receipts, or state that a component writes again itself.
REPLAYABLE = ("facts", "live", "findings")
_CLIENT = "sparkfuse-dead-letters"


class Origin(NamedTuple):
    """The place of a record in Kafka; ``topic`` includes the prefix."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


@dataclass(frozen=True)
class Group:
    """The dead letters of one component with one topic and one reason. Times are in ms since the epoch."""

    component: str
    topic: str
    reason: str
    count: int
    first_ms: int
    last_ms: int
    newest: Origin


@dataclass(frozen=True)
class Replay:
    """The result of a replay: the number of appended records, and the origins that Kafka has deleted since."""

    appended: int
    deleted: Sequence[Origin]


def origin_of(letter: DeadLetter) -> Origin:
    """Return where the rejected record is."""
    return Origin(letter.topic, letter.kafka_partition, letter.kafka_offset)


def read_letters(
    settings: Settings, since_ms: int | None = None, *, topic: str = "", component: str = "", reason: str = ""
) -> list[DeadLetter]:
    """Return the dead letters that match all given values, oldest first; ``reason`` is a part of the reason.

    Of several letters of one component about one record, the last one is returned. A record that is not a dead letter
    is ignored. Raises TopicError.
    """
    full_name = topic_name(topic, settings.topic_prefix) if topic else ""
    found: dict[tuple[str, Origin], DeadLetter] = {}
    for record in read_all(settings, TOPIC, since_ms):
        try:
            letter = from_json(DeadLetter, record.content or b"")
        except RecordError:
            continue
        wanted = (not topic or letter.topic == full_name) and (not component or letter.component == component)
        if wanted and reason in letter.reason:
            found[letter.component, origin_of(letter)] = letter
    return sorted(found.values(), key=lambda letter: letter.seen_ms)


def group_letters(letters: Sequence[DeadLetter]) -> list[Group]:
    """Return the letters by component, topic and reason, the most frequent first."""
    counts = Counter((letter.component, letter.topic, letter.reason) for letter in letters)
    first: dict[tuple[str, str, str], DeadLetter] = {}
    last: dict[tuple[str, str, str], DeadLetter] = {}
    for letter in letters:
        key = (letter.component, letter.topic, letter.reason)
        first.setdefault(key, letter)
        last[key] = letter
    return [
        Group(*key, count, first[key].seen_ms, last[key].seen_ms, origin_of(last[key]))
        for key, count in counts.most_common()
    ]


def replay(settings: Settings, origins: Sequence[Origin]) -> Replay:
    """Append each record to its topic again, with its key and value, and wait until the broker has stored all.

    The record is read from its topic, because a dead letter has no key and may have a truncated value. Raises
    TopicError if Kafka cannot be read, or did not store every record.
    """
    failed: list[str] = []
    deleted: list[Origin] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failed.append(error.str())

    own = {"client.id": _CLIENT, "log_level": 0}
    timeout = {"message.timeout.ms": int(ANSWER_SECONDS * 1_000), "enable.idempotence": True}
    producer = Producer(producer_configuration(settings, own | timeout))
    consumer = Consumer(client_configuration(settings, own | {
        "group.id": f"{settings.topic_prefix}.operator",  # required by the client; nothing is committed to it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
    }))  # fmt: skip
    try:
        for origin in dict.fromkeys(origins):
            message = _original(consumer, origin)
            if message is None:
                deleted.append(origin)
                continue
            producer.produce(
                origin.topic, message.value(), message.key(), headers=message.headers(), on_delivery=on_delivery
            )
            if len(producer) > 1_000:
                producer.flush(ANSWER_SECONDS)
    except KafkaException as error:
        raise TopicError(f"Kafka at {settings.kafka_bootstrap} cannot be read: {error.args[0].str()}") from error
    finally:
        left = producer.flush(ANSWER_SECONDS + 1)
        consumer.close()
    if left or failed:
        reason = failed[0] if failed else "the broker does not answer"
        raise TopicError(
            f"Kafka at {settings.kafka_bootstrap} did not store {left + len(failed)} of the records: {reason}"
        )
    return Replay(len(set(origins)) - len(deleted), deleted)


def _original(consumer: Consumer, origin: Origin) -> Message | None:
    """Return the record at a place; None if Kafka has deleted it. Raises KafkaException."""
    place = TopicPartition(origin.topic, origin.partition)
    low, high = consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)
    if not low <= origin.offset < high:
        return None
    consumer.assign([TopicPartition(origin.topic, origin.partition, origin.offset)])
    message = consumer.poll(ANSWER_SECONDS)
    if message is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001  the client's public name for it
    if message.error() is not None:
        if message.error().code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            return None
        raise KafkaException(message.error())
    return message if message.offset() == origin.offset else None
