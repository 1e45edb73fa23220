"""Follow the topic ``feedback``: the verdicts of people decide which rules are demoted to info."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from sparkfuse_alertmanager.metrics import COMPONENT
from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.kafka_access import KafkaUnavailableError
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_rules.knowledge.precision import (
    MAX_AHEAD_MS,
    JobClass,
    Precisions,
    Verdict,
    demotion,
    is_ahead,
    precisions,
)

log = logging.getLogger(__name__)
TOPIC = "feedback"
START_SECONDS = 60.0
AT_ONCE = 1000
# Verdicts become too old without a new record, so the precisions are also computed after this time.
COMPUTE_MS = 3_600_000


class Verdicts:
    """The verdicts of all people, and the demotions that follow from them; pure, without Kafka."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._precisions: Precisions = {}
        self._computed_ms: int | None = None

    def add(self, content: bytes, appended_ms: int | None = None) -> None:
        """Add one record of the topic; ``appended_ms`` is Kafka's time of the record in ms since the epoch.

        Raises RecordError if the record is invalid, or if its verdict is from the future.
        """
        verdict = verdict_of(from_json(Feedback, content))
        if is_ahead(verdict.at_ms, appended_ms):
            raise RecordError(f"at_ms is more than {MAX_AHEAD_MS // 60_000} minutes in the future")
        before = self._verdicts.get((verdict.finding_id, verdict.person))
        if before is not None and before.at_ms > verdict.at_ms:
            return
        self._verdicts[verdict.finding_id, verdict.person] = verdict
        self._computed_ms = None

    def demotion(self, finding: Finding, now_ms: int) -> str:
        """Return why the notifications of the finding are demoted to info; empty if they are not."""
        if self._computed_ms is None or now_ms - self._computed_ms >= COMPUTE_MS:
            self._precisions, self._computed_ms = precisions(self._verdicts.values(), now_ms), now_ms
        target = finding.precision_target if finding.HasField("precision_target") else None
        job_class = JobClass.of(finding.cluster, finding.tenant, finding.team)
        return demotion(self._precisions, finding.rule, job_class, target)


def verdict_of(feedback: Feedback) -> Verdict:
    """Return the verdict of a record. Raises RecordError if a required field is absent."""
    for name in ("finding_id", "person", "verdict", "at_ms", "rule"):
        if not getattr(feedback, name):
            raise RecordError(f"{name} is absent")
    job_class = JobClass.of(feedback.cluster, feedback.tenant, feedback.team)
    return Verdict(feedback.finding_id, feedback.person, feedback.verdict, feedback.at_ms, feedback.rule, job_class)


class FeedbackFollower:
    """Reads the whole topic at the start, and new records with each call of ``poll``; not thread-safe.

    Every sender reads all partitions and commits nothing, so all senders demote the same rules.
    """

    def __init__(self, settings: Settings) -> None:
        """Read the topic to its end. Raises KafkaUnavailableError if the broker does not answer."""
        self.verdicts = Verdicts()
        self._name = topic_name(TOPIC, settings.topic_prefix)
        self._consumer = Consumer(
            client_configuration(
                settings,
                {
                    # Required by the client; nothing is committed to it for this topic.
                    "group.id": f"{settings.topic_prefix}.{COMPONENT}",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "log_level": 0,
                    "error_cb": lambda error: log.warning("Kafka: %s", error),
                },
            )
        )
        try:
            self._read_to_end()
        except BaseException:
            self._consumer.close()
            raise

    def poll(self) -> None:
        """Read the records that are available now. If the broker is away, the known verdicts stay valid."""
        self._take(self._consumer.consume(AT_ONCE, 0))

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _read_to_end(self) -> None:
        # The sender has checked before that the topic exists.
        waiting = set(self._consumer.list_topics(self._name, timeout=START_SECONDS).topics[self._name].partitions)
        self._consumer.assign([TopicPartition(self._name, each, OFFSET_BEGINNING) for each in waiting])
        until = time.monotonic() + START_SECONDS
        while waiting:
            if time.monotonic() > until:
                raise KafkaUnavailableError(f"{self._name} was not read to its end within {START_SECONDS:.0f} s")
            waiting -= self._take(self._consumer.consume(AT_ONCE, 0.1))

    def _take(self, messages: Iterable[Message]) -> set[int]:
        """Add the records; return the partitions that were read to their ends."""
        ended: set[int] = set()
        for message in messages:
            error, content = message.error(), message.value()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - confluent has no public name
                    ended.add(message.partition())
                else:
                    log.warning("Kafka: %s", error)
            elif content is not None:
                self._add(content, message)
        return ended

    def _add(self, content: bytes, message: Message) -> None:
        try:
            self.verdicts.add(content, message.timestamp()[1])
        except RecordError as error:
            # The loader writes the dead letter of an invalid record, because it reads the same topic.
            log.warning("the record at offset %s of %s is not feedback: %s", message.offset(), self._name, error)
