"""Writes invalid records with their reason and origin to the dead-letter topic, before their batch is stored."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from confluent_kafka import KafkaError, Message, Producer

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.loader.batch import Rejected

COMPONENT = "loader"
_LOOK_SECONDS = 0.5


class DeadLetterWriter:
    """Writes dead letters; if the broker does not answer, the writer waits."""

    def __init__(self, settings: Settings, on_error: Callable[[KafkaError], None]) -> None:
        self._topic = topic_name("dead-letters", settings.topic_prefix)
        self._on_error = on_error
        self._producer = Producer(producer_configuration(settings, {
            "client.id": "sparkfuse-loader",
            "enable.idempotence": True,
            "compression.type": "lz4",
            "message.timeout.ms": 0,  # there is no timeout, because a dead letter that times out would be lost
            "error_cb": on_error,
        }))  # fmt: skip

    def write(self, topic: str, partition: int, rejected: Iterable[Rejected], stop: threading.Event) -> None:
        """Write dead letters and wait until the broker has stored them.

        If ``stop`` is set first, the letters are written again after the next start.
        """
        for each in rejected:
            letter = DeadLetter(
                component=COMPONENT,
                topic=topic,
                kafka_partition=partition,
                kafka_offset=each.offset,
                reason=each.reason,
                payload=each.payload[:DEAD_LETTER_PAYLOAD_BYTES],
                seen_ms=time.time_ns() // 1_000_000,
            )
            self._produce(to_json(letter), stop)
        while len(self._producer) and not stop.is_set():
            self._producer.flush(_LOOK_SECONDS)

    def _produce(self, letter: bytes, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self._producer.produce(self._topic, letter, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(_LOOK_SECONDS)
            else:
                return

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._on_error(error)
