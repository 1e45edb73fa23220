"""The edge to Kafka: findings in, dead letters out, and offsets committed only when a batch is done with."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from sparkfuse_alertmanager.metrics import COMPONENT, TOPIC, Metrics
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import to_json

log = logging.getLogger(__name__)
BATCH = 500
PAYLOAD_KEPT_BYTES = 64 * 1024
START_SECONDS = 10.0
FLUSH_SECONDS = 10.0


class BrokerMissing(OSError):
    """The broker or a topic is not there at the start; the text is one sentence for who started us."""


class LettersKept(OSError):
    """The broker did not take the dead letters: try the batch again."""


@dataclass(frozen=True)
class Record:
    """One record as it came."""

    value: bytes
    partition: int
    offset: int


class Inbox:
    """The findings of this consumer group. Not for several threads."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        """Join the group. Raises BrokerMissing when the broker or a topic is not there."""
        self.topic = topic_name(TOPIC, settings.topic_prefix)
        self._letters_topic = topic_name("dead-letters", settings.topic_prefix)
        self._metrics = metrics
        # The client tells its errors to error_cb: told again on stderr, they would stand behind the one clear sentence.
        common = {"bootstrap.servers": settings.kafka_bootstrap, "error_cb": self._on_error, "log_level": 0}
        self._consumer = Consumer(
            common
            | {
                "group.id": f"{settings.topic_prefix}.{COMPONENT}",
                "enable.auto.commit": False,
                # Without a position the oldest comes first: what is too old by then is counted and passed over.
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                # After kill -9 the restarted sender waits this long for the place of the dead one: the broker's least.
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 2000,
            }
        )
        self._producer = Producer(common | {"enable.idempotence": True, "partitioner": "murmur2_random"})
        self._taken: list[Message] = []
        self._require_topics(settings.kafka_bootstrap)
        self._consumer.subscribe([self.topic])

    def take(self, seconds: float) -> list[Record]:
        """Wait for findings at most this long; those that are there come together, at most BATCH."""
        messages = self._consumer.consume(BATCH, seconds) if not self._taken else []
        for error in (message.error() for message in messages if message.error() is not None):
            self._on_error(error)
        self._taken = [message for message in messages if message.error() is None]
        self._metrics.read(len(self._taken))
        return [Record(message.value() or b"", message.partition(), message.offset()) for message in self._taken]

    def done(self) -> None:
        """The batch is dealt with: never give it again."""
        ends = {message.partition(): message.offset() + 1 for message in self._taken}
        self._taken = []
        try:
            self._consumer.commit(offsets=self._positions(ends), asynchronous=False)
        except KafkaException as error:
            # Another member has the partition, or the broker is away: it comes again, and saying it twice is harmless.
            log.warning("offsets were not committed: %s", error)

    def again(self) -> None:
        """The batch is not dealt with: give it again with the next take."""
        starts: dict[int, int] = {}
        for message in self._taken:
            starts.setdefault(message.partition(), message.offset())
        self._taken = []
        for position in self._positions(starts):
            try:
                self._consumer.seek(position)
            except KafkaException as error:
                log.warning("partition %s is not ours any more: %s", position.partition, error)

    def set_aside(self, records: Sequence[tuple[Record, str]]) -> None:
        """Write dead letters with these reasons. Raises LettersKept when the broker does not take them."""
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                failures.append(error)

        for record, reason in records:
            letter = to_json(self._letter(record, reason))
            self._producer.produce(self._letters_topic, letter, on_delivery=delivered)
        if self._producer.flush(FLUSH_SECONDS) or failures:
            raise LettersKept(f"dead letters are not on the broker: {failures[0] if failures else 'no answer yet'}")
        self._metrics.dead_letters(len(records))

    def close(self) -> None:
        """Leave the group at once, so that another member need not wait for our session to end."""
        self._consumer.close()

    def _letter(self, record: Record, reason: str) -> DeadLetter:
        return DeadLetter(
            component=COMPONENT,
            topic=self.topic,
            kafka_partition=record.partition,
            kafka_offset=record.offset,
            reason=reason,
            payload=record.value[:PAYLOAD_KEPT_BYTES],
            seen_ms=time.time_ns() // 1_000_000,
        )

    def _positions(self, offsets: dict[int, int]) -> list[TopicPartition]:
        return [TopicPartition(self.topic, partition, offset) for partition, offset in offsets.items()]

    def _require_topics(self, bootstrap: str) -> None:
        try:
            present = self._consumer.list_topics(timeout=START_SECONDS).topics
        except KafkaException as error:
            self._consumer.close()
            raise BrokerMissing(f"no Kafka broker answers at {bootstrap}: {error.args[0].str()}") from error
        missing = _missing(present, (self.topic, self._letters_topic))
        if missing:
            self._consumer.close()
            raise BrokerMissing(f"the broker at {bootstrap} has no topic {missing}: `sparkfuse up` makes the topics")

    def _on_error(self, error: KafkaError) -> None:
        self._metrics.kafka_error()
        log.warning("Kafka: %s", error)


def _missing(present: Iterable[str], wanted: Iterable[str]) -> str:
    there = set(present)
    return ", ".join(name for name in wanted if name not in there)
