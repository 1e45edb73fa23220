"""Writes rows that a step of the detect job cannot process to the topic ``dead-letters``."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, Message, Producer

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.metric_names import DEAD_LETTERS
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import to_json
from sparkfuse_stream_jobs.job_metrics import step_counter

if TYPE_CHECKING:
    from pyflink.datastream.functions import RuntimeContext

COMPONENT, TOPIC = "detect", "live"
MAX_REASONS = 100
MAX_REASON_CHARACTERS = 200
# One error can recur with every row. Further rows of the same minute are only counted.
MAX_LETTERS_PER_MINUTE = 100
FLUSH_SECONDS = 10.0
log = logging.getLogger(__name__)


class DeadLetters:
    """Counts rejected rows, and writes up to MAX_LETTERS_PER_MINUTE of them as dead letters.

    The letters are not part of Flink's checkpoints: after a failure, a row can be written twice.
    """

    def __init__(self, settings: Settings, context: RuntimeContext) -> None:
        self._settings = settings
        self._rejected = step_counter(context, DEAD_LETTERS, COMPONENT, TOPIC)
        self._reasons: set[str] = set()
        self._producer: Producer | None = None
        self._minute, self._written = 0, 0

    def reject(self, error: Exception, content: bytes) -> None:
        """Count a row, and write the letter. The call does not wait for the broker."""
        reason = f"{type(error).__name__}: {error}"[:MAX_REASON_CHARACTERS]
        self._rejected.inc()
        self._log(reason)
        if not self._may_write():
            return
        letter = DeadLetter(
            component=COMPONENT,
            topic=topic_name(TOPIC, self._settings.topic_prefix),
            reason=reason,
            payload=content[:DEAD_LETTER_PAYLOAD_BYTES],
            seen_ms=time.time_ns() // 1_000_000,
        )
        try:
            producer = self._started_producer()
            name = topic_name("dead-letters", self._settings.topic_prefix)
            producer.produce(name, to_json(letter), on_delivery=_log_failure)
            producer.poll(0)
        except BufferError:
            log.warning("a dead letter was not written: the broker does not answer")

    def close(self) -> None:
        """Wait until the broker has stored the letters."""
        if self._producer is not None:
            self._producer.flush(FLUSH_SECONDS)

    def _log(self, reason: str) -> None:
        """Log each reason once, because it may recur with every row."""
        if reason not in self._reasons and len(self._reasons) < MAX_REASONS:
            self._reasons.add(reason)
            log.warning("skipped a row: %s; further rows with this error are only counted", reason)

    def _may_write(self) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._written = minute, 0
        self._written += 1
        return self._written <= MAX_LETTERS_PER_MINUTE

    def _started_producer(self) -> Producer:
        # Most jobs never reject a row, and a producer has threads and connections.
        if self._producer is None:
            self._producer = Producer(
                producer_configuration(
                    self._settings,
                    {"client.id": "sparkfuse-detect", "enable.idempotence": True, "linger.ms": 100, "log_level": 0},
                )
            )
        return self._producer


def _log_failure(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        log.warning("a dead letter was not written: %s", error.str())
