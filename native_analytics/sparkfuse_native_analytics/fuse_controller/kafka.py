"""Kafka input and output of the fuse controller: reads three topics without a group, writes two."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from google.protobuf.message import Message as ProtobufMessage

from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import record_key, to_json

ANSWER_SECONDS = 10.0
# A record that is not stored within this time counts as failed: a signal must not arrive late.
SEND_SECONDS = 10.0
MOST_RECORDS = 5000
CAUGHT_UP_SECONDS = 60.0
MINUTE_MS = 60_000
# How far back each topic is read at the start; older records cannot change a decision.
LOOKBACK_MS: Mapping[str, int] = {"live": 5 * MINUTE_MS, "findings": 5 * MINUTE_MS, "actions": 65 * MINUTE_MS}
# The client reports its errors to error_cb; without this it would also print them.
QUIET = 0
ErrorSeen = Callable[[KafkaError], None]


class TopicUnavailableError(RuntimeError):
    """Kafka or a topic is not available; the text is one sentence."""


class Inputs:
    """Reads the topics live, findings and actions, starting some minutes back on each start of the process."""

    def __init__(self, bootstrap: str, prefix: str, on_error: ErrorSeen) -> None:
        """Raises TopicUnavailableError if the broker or a topic is not available."""
        self._topics = {topic_name(name, prefix): name for name in LOOKBACK_MS}
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap,
            "client.id": "sparkfuse-fuse-controller",
            "log_level": QUIET,
            "group.id": "sparkfuse-fuse-controller",  # required by the client; nothing is ever committed to it
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "error_cb": on_error,
        })  # fmt: skip
        try:
            self._places = [place for topic in self._topics for place in self._start_of(topic, bootstrap)]
            self._ends = [self._end_of(place) for place in self._places]
            self._consumer.assign(self._places)
        except KafkaException as error:
            raise TopicUnavailableError(f"no Kafka broker answers at {bootstrap}: {error.args[0].str()}") from error

    def read(self, seconds: float) -> Mapping[str, Sequence[Message]]:
        """Return the messages that arrive within ``seconds``, by topic name without prefix."""
        found: dict[str, list[Message]] = {}
        for message in self._consumer.consume(MOST_RECORDS, seconds):
            if message.error() is None:  # the client reports errors to on_error and recovers by itself
                found.setdefault(self._topics[message.topic()], []).append(message)
        return found

    def caught_up(self) -> bool:
        """Whether all records were read that the topics contained at the start."""
        return all(position >= end for position, end in zip(self._positions(), self._ends, strict=True))

    def lag(self) -> int:
        """The number of records not yet read, by the ends that the client has cached."""
        ends = (self._consumer.get_watermark_offsets(place, cached=True)[1] for place in self._places)
        return sum(max(0, end - position) for position, end in zip(self._positions(), ends, strict=True))

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _positions(self) -> list[int]:
        """The next offset of each partition; the start offset if nothing was read yet."""
        now = self._consumer.position(self._places)
        pairs = zip(now, self._places, strict=True)
        return [int(place.offset if place.offset >= 0 else began.offset) for place, began in pairs]

    def _end_of(self, place: TopicPartition) -> int:
        return int(self._consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)[1])

    def _start_of(self, topic: str, bootstrap: str) -> list[TopicPartition]:
        metadata = self._consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
        if metadata.error is not None:
            right = "start the stack, or create it as contracts/topics.yaml describes"
            raise TopicUnavailableError(f"Kafka at {bootstrap} has no topic {topic}: {right}")
        since_ms = time.time_ns() // 1_000_000 - LOOKBACK_MS[self._topics[topic]]
        wanted = [TopicPartition(topic, partition, since_ms) for partition in metadata.partitions]
        places = self._consumer.offsets_for_times(wanted, timeout=ANSWER_SECONDS)
        for place in places:
            if place.offset < 0:  # no record is that recent
                place.offset = self._end_of(place)
        return list(places)


class Outputs:
    """Writes records and waits until the broker has stored them."""

    def __init__(self, bootstrap: str, prefix: str, on_error: ErrorSeen) -> None:
        self._prefix = prefix
        self._failed: list[KafkaError] = []
        self._producer = Producer({
            "bootstrap.servers": bootstrap,
            "client.id": "sparkfuse-fuse-controller",
            "log_level": QUIET,
            "enable.idempotence": True,
            "partitioner": "murmur2_random",  # as Java's default: the hook finds its partition by the application id
            "message.timeout.ms": int(SEND_SECONDS * 1000),
            "linger.ms": 0,
            "error_cb": on_error,
        })  # fmt: skip

    def write(self, topic: str, message: ProtobufMessage, key: bytes | None = None) -> None:
        """Write one message as JSON under its contract's key (or ``key``); return when the broker has stored it.

        Raises OSError if the broker did not store it in time.
        """
        self._failed.clear()
        try:
            self._producer.produce(
                topic_name(topic, self._prefix), to_json(message), key or record_key(topic, message),
                on_delivery=self._delivered,
            )  # fmt: skip
        except (BufferError, KafkaException) as error:
            raise OSError(f"topic {topic}: {error}") from error
        left = self._producer.flush(SEND_SECONDS + 1)
        if left or self._failed:
            raise OSError(f"topic {topic}: {self._failed[0].str() if self._failed else 'the broker does not answer'}")

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error)
