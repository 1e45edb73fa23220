"""The loader's edge towards Kafka: assigned partitions, and records as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from sparkfuse_native_analytics.loader.batch import Records

ANSWER_SECONDS = 10.0
# The lag is only told: a broker that is away must not hold up a stop.
LAG_ANSWER_SECONDS = 1.0
# What one consumer may hold ahead of what is stored.
AHEAD_KILOBYTES = 16 * 1024


class TopicUnavailableError(RuntimeError):
    """A topic cannot be read; the text is one sentence."""


@dataclass(frozen=True)
class Topic:
    """A topic as the broker has it. ``id`` differs from that of an earlier topic of the same name."""

    name: str
    id: str
    partitions: tuple[int, ...]


def describe(bootstrap: str, names: Sequence[str]) -> Mapping[str, Topic]:
    """Ask the broker for the topics.

    Raises TopicUnavailableError when no broker answers or a topic is not there.
    """
    # What the client would log comes as the exception below, in one sentence.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    futures = admin.describe_topics(TopicCollection(list(names)), request_timeout=ANSWER_SECONDS)
    found = {}
    for name, future in futures.items():
        try:
            description = future.result()
        except KafkaException as error:
            raise TopicUnavailableError(_why(bootstrap, name, error)) from error
        partitions = tuple(sorted(partition.id for partition in description.partitions))
        found[name] = Topic(name, str(description.topic_id), partitions)
    return found


def _why(bootstrap: str, name: str, error: KafkaException) -> str:
    cause = error.args[0]
    if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return f"Kafka at {bootstrap} has no topic {name}: start the stack, or create it as contracts/topics.yaml says"
    return f"no Kafka broker answers at {bootstrap}: {cause.str()}"


class TopicReader:
    """Reads the partitions of one topic from given offsets on, without a group: where it stands is in the store."""

    def __init__(self, bootstrap: str, topic: Topic, on_error: Callable[[KafkaError], None]) -> None:
        self.topic = topic
        self._next: dict[int, int] = {}
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap,
            "client.id": f"sparkfuse-loader-{topic.name}",
            "group.id": "sparkfuse-loader",  # the client wants one; nothing is ever committed to it
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "queued.max.messages.kbytes": AHEAD_KILOBYTES,
            "error_cb": on_error,
        })  # fmt: skip

    def start(self, stored: Mapping[int, int]) -> list[int]:
        """Go on behind the stored offsets; the answer names partitions whose stored offset is not in Kafka any more.

        Those are of a topic that was made anew: they are read from their beginning.
        """
        renewed = []
        for partition in self.topic.partitions:
            low, high = self._watermarks(partition)
            wanted = stored.get(partition, -1) + 1
            if wanted > high:
                renewed.append(partition)
            self._next[partition] = low if wanted > high else max(low, wanted)
        self._consumer.assign([TopicPartition(self.topic.name, *place) for place in self._next.items()])
        return renewed

    def read(self, most: int, seconds: float) -> list[Records]:
        """Up to ``most`` records that come within ``seconds``, those of each partition together."""
        messages = self._consumer.consume(most, seconds)
        if any(map(Message.error, messages)):
            # The client has told `on_error` already and goes on by itself.
            messages = [message for message in messages if message.error() is None]
        if not messages:
            return []
        count = len(messages)
        partitions = np.fromiter(map(Message.partition, messages), np.int32, count)
        offsets = np.fromiter(map(Message.offset, messages), np.int64, count)
        values = np.fromiter(map(Message.value, messages), object, count)
        places = [(int(partition), partitions == partition) for partition in np.unique(partitions)]
        records = [Records(partition, offsets[own], values[own].tolist()) for partition, own in places]
        self._next |= {each.partition: int(each.offsets[-1]) + 1 for each in records}
        return records

    def lag(self) -> int:
        """Records in Kafka that were not read yet.

        Raises KafkaException when the broker does not answer at once.
        """
        places = list(self._next.items())
        return sum(max(0, self._watermarks(partition, LAG_ANSWER_SECONDS)[1] - place) for partition, place in places)

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()

    def _watermarks(self, partition: int, seconds: float = ANSWER_SECONDS) -> tuple[int, int]:
        place = TopicPartition(self.topic.name, partition)
        low, high = self._consumer.get_watermark_offsets(place, timeout=seconds)
        return int(low), int(high)
