"""Reads dead letters, and appends the original records to their topics again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from google.protobuf.message import DecodeError

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json, record_key
from sparkfuse_native_analytics.topic_records import ANSWER_SECONDS, TopicError, read_all

TOPIC = "dead-letters"
# Other topics contain signed records with a limited lifetime, receipts, or state that a component writes again itself.
REPLAYABLE = ("facts", "live", "findings")
# The producer is flushed when its queue has more records than this.
MAX_IN_QUEUE = 1_000
_CLIENT = "sparkfuse-dead-letters"


class Origin(NamedTuple):
    """The place of a rejected record in Kafka; ``topic`` includes the prefix."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True)
class StoredLetter:
    """A dead letter, and its id: partition and offset of the letter itself, such as ``0/17``."""

    letter_id: str
    letter: DeadLetter

    @property
    def origin(self) -> Origin | None:
        """The place of the rejected record; None if the component does not know it, as in the detect job."""
        letter = self.letter
        if not letter.HasField("kafka_offset"):
            return None
        return Origin(letter.topic, letter.kafka_partition, letter.kafka_offset)


@dataclass(frozen=True)
class Group:
    """The dead letters of one component with one topic and one reason. Times are in ms since the epoch."""

    component: str
    topic: str
    reason: str
    count: int
    first_ms: int
    last_ms: int
    newest_id: str


@dataclass(frozen=True)
class Replay:
    """The result of a replay: the number of appended records, and the ids of letters that cannot be replayed.

    ``deleted``: Kafka has deleted the record. ``incomplete``: only a part of the record is known, or it has no key.
    """

    appended: int
    deleted: Sequence[str]
    incomplete: Sequence[str]


def read_letters(
    settings: Settings, since_ms: int | None = None, *, topic: str = "", component: str = "", reason: str = ""
) -> list[StoredLetter]:
    """Return the dead letters that match all given values, oldest first; ``reason`` is a part of the reason.

    If a component wrote several letters about one record, the last one is returned. A record that is not a dead letter
    is ignored. Raises TopicError.
    """
    full_name = topic_name(topic, settings.topic_prefix) if topic else ""
    found: dict[object, StoredLetter] = {}
    for record in read_all(settings, TOPIC, since_ms):
        try:
            letter = from_json(DeadLetter, record.content or b"")
        except RecordError:
            continue
        wanted = (not topic or letter.topic == full_name) and (not component or letter.component == component)
        if wanted and reason in letter.reason:
            stored = StoredLetter(f"{record.partition}/{record.offset}", letter)
            found[(letter.component, stored.origin) if stored.origin else stored.letter_id] = stored
    return sorted(found.values(), key=lambda stored: stored.letter.seen_ms)


def group_letters(letters: Sequence[StoredLetter]) -> list[Group]:
    """Return the letters by component, topic and reason, the most frequent first."""
    groups: dict[tuple[str, str, str], list[StoredLetter]] = {}
    for stored in letters:
        letter = stored.letter
        groups.setdefault((letter.component, letter.topic, letter.reason), []).append(stored)
    found = [
        Group(*key, len(of_key), of_key[0].letter.seen_ms, of_key[-1].letter.seen_ms, of_key[-1].letter_id)
        for key, of_key in groups.items()
    ]
    return sorted(found, key=lambda group: -group.count)


def replay(settings: Settings, letters: Sequence[StoredLetter]) -> Replay:
    """Append each rejected record to its topic again, and wait until the broker has stored all of them.

    A record is read from its topic, because a dead letter has no key and may have a truncated value. If the record's
    place in Kafka is not known, the value in the dead letter is used. Raises TopicError if Kafka cannot be read or did
    not store a record.
    """
    failed: list[str] = []
    appended, deleted, incomplete = 0, [], []

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
        for stored in letters:
            topic, headers = stored.letter.topic, None
            if stored.origin is None:
                value, key = stored.letter.payload, _key_of(settings, stored.letter)
                if key is None:
                    incomplete.append(stored.letter_id)
                    continue
            elif (message := _original(consumer, stored.origin)) is not None:
                value, key, headers = message.value(), message.key(), message.headers()
            else:
                deleted.append(stored.letter_id)
                continue
            producer.produce(topic, value, key, headers=headers, on_delivery=on_delivery)
            appended += 1
            if len(producer) > MAX_IN_QUEUE:
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
    return Replay(appended, deleted, incomplete)


def _key_of(settings: Settings, letter: DeadLetter) -> bytes | None:
    """Return the record key of a live row; None if the letter has another topic, or only a part of the row."""
    if letter.topic != topic_name("live", settings.topic_prefix) or len(letter.payload) >= DEAD_LETTER_PAYLOAD_BYTES:
        return None
    try:
        return record_key("live", LiveRow.FromString(letter.payload))
    except DecodeError:
        return None


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
