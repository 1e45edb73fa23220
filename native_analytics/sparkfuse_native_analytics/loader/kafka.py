"""Kafka input of the loader: assigns partitions at stored offsets, and returns records as columns."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from sparkfuse_contracts.kafka_access import FoundTopic
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.loader.batch import Records

_log = logging.getLogger(__name__)
ANSWER_SECONDS = 10.0
# A short limit, because the lag is only a metric: a broker that does not answer must not delay a stop.
LAG_ANSWER_SECONDS = 1.0
# How often to look for new partitions; a new partition is read from its beginning.
DISCOVERY_SECONDS = 10.0
# Maximum size of the records that a consumer buffers before they are stored.
AHEAD_KILOBYTES = 16 * 1024


class TopicReader:
    """Reads the partitions of one topic from offsets that are in the store, so it needs no consumer group."""

    def __init__(
        self, settings: Settings, topic: FoundTopic, on_error: Callable[[KafkaError], None], *, times: bool = False
    ) -> None:
        """Connect; ``times`` adds Kafka's time to each record, which costs time on topics with many records."""
        self.topic = topic
        self._times = times
        self._next: dict[int, int] = {}
        self._looked_at = time.monotonic()
        self._consumer = Consumer(client_configuration(settings, {
            "client.id": f"sparkfuse-loader-{topic.name}",
            "group.id": f"{settings.topic_prefix}.loader",  # required by the client; no offset is committed
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 100,
            "queued.max.messages.kbytes": AHEAD_KILOBYTES,
            "error_cb": on_error,
        }))  # fmt: skip

    def start(self, stored: Mapping[int, int]) -> list[int]:
        """Resume after the stored offsets; return the partitions whose stored offset does not exist in Kafka.

        If Kafka does not have a partition's stored offset, the topic was created again, and the partition is read from
        its beginning.
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
        """Return up to ``most`` records that arrive within ``seconds``, grouped by partition."""
        self._add_new_partitions()
        messages = self._consumer.consume(most, seconds)
        if any(map(Message.error, messages)):
            # The client has reported the error to `on_error` and recovers by itself.
            messages = [message for message in messages if message.error() is None]
        if not messages:
            return []
        count = len(messages)
        partitions = np.fromiter(map(Message.partition, messages), np.int32, count)
        offsets = np.fromiter(map(Message.offset, messages), np.int64, count)
        values = np.fromiter(map(Message.value, messages), object, count)
        times = np.fromiter((each.timestamp()[1] for each in messages), np.int64, count) if self._times else None
        places = [(int(partition), partitions == partition) for partition in np.unique(partitions)]
        records = [
            Records(partition, offsets[own], values[own].tolist(), None if times is None else times[own])
            for partition, own in places
        ]
        self._next |= {each.partition: int(each.offsets[-1]) + 1 for each in records}
        return records

    def lag(self) -> int:
        """Return the number of records in Kafka that have not been read yet.

        Raises KafkaException if the broker does not answer within LAG_ANSWER_SECONDS.
        """
        places = list(self._next.items())
        return sum(max(0, self._watermarks(partition, LAG_ANSWER_SECONDS)[1] - place) for partition, place in places)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _add_new_partitions(self) -> None:
        if time.monotonic() - self._looked_at < DISCOVERY_SECONDS:
            return
        self._looked_at = time.monotonic()
        try:
            found = self._consumer.list_topics(self.topic.name, timeout=LAG_ANSWER_SECONDS).topics[self.topic.name]
        except KafkaException:  # the client has reported the error to `on_error`
            return
        added = sorted(found.partitions.keys() - self._next.keys())
        if added:
            self._next |= dict.fromkeys(added, 0)
            self._consumer.incremental_assign([TopicPartition(self.topic.name, number, 0) for number in added])
            _log.info("%s has %d new partitions", self.topic.name, len(added))

    def _watermarks(self, partition: int, seconds: float = ANSWER_SECONDS) -> tuple[int, int]:
        place = TopicPartition(self.topic.name, partition)
        low, high = self._consumer.get_watermark_offsets(place, timeout=seconds)
        return int(low), int(high)
