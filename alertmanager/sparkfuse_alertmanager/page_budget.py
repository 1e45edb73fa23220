"""Follow the topic ``pages``, and append a record for each critical finding that wants to page."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from sparkfuse_alertmanager.metrics import COMPONENT, Metrics
from sparkfuse_alertmanager.page_decisions import EXEMPT_RULES, PageDecisions, claims
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.page_pb2 import Page
from sparkfuse_contracts.kafka_access import KafkaUnavailableError
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json, to_json

log = logging.getLogger(__name__)
TOPIC = "pages"
# The order of the records decides, so all of them are in one partition, even if the topic has more.
PARTITION = 0
START_SECONDS = 60.0
CLAIM_SECONDS = 5.0
AT_ONCE = 1000


class PageBudget:
    """Decides which critical findings page; not thread-safe.

    Every sender reads the whole topic. A sender first appends its records and then reads them back, so senders that
    write at the same time see the same order, and together they never exceed the limit.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        """Read the topic to its end. Raises KafkaUnavailableError if the broker does not answer."""
        self.decisions = PageDecisions(settings.pages_per_day)
        self._metrics = metrics
        self._name = topic_name(TOPIC, settings.topic_prefix)
        self._next_offset = 0
        common = {"log_level": 0, "error_cb": lambda error: log.warning("Kafka: %s", error)}
        self._producer = Producer(producer_configuration(settings, common | {"enable.idempotence": True}))
        self._consumer = Consumer(
            client_configuration(
                settings,
                common
                | {
                    # Required by the client; nothing is committed to it for this topic.
                    "group.id": f"{settings.topic_prefix}.{COMPONENT}",
                    "enable.auto.commit": False,
                    "fetch.wait.max.ms": 100,
                },
            )
        )
        try:
            self._next_offset, end = self._offsets()
            self._consumer.assign([TopicPartition(self._name, PARTITION, OFFSET_BEGINNING)])
            self._read_until(end, START_SECONDS)
        except KafkaException as error:
            self._consumer.close()
            raise KafkaUnavailableError(f"{self._name} cannot be read: {error}") from error

    def reason(self, finding: Finding) -> str:
        """Return why a critical finding does not page; empty if it pages."""
        return "" if finding.rule in EXEMPT_RULES else self.decisions.reason(finding)

    def decide(self, findings: Sequence[Finding]) -> None:
        """Decide about critical findings that are new.

        If the broker does not store or return the records in time, the findings stay undecided and page, because a
        page too many is better than a lost one. Their next repetition is decided.
        """
        try:
            self._take(self._consumer.consume(AT_ONCE, 0))
            wanted = claims((each for each in findings if each.rule not in EXEMPT_RULES), self.decisions)
            if wanted:
                self._read_until(self._append(wanted) + 1, CLAIM_SECONDS)
                self._count(wanted)
        except KafkaException as error:
            log.warning("the budget of pages is not available, so nothing is held back: %s", error)
            self._metrics.kafka_error()

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def _offsets(self) -> tuple[int, int]:
        """Return the first offset and the end. Raises KafkaException if no leader answers within START_SECONDS."""
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                place = TopicPartition(self._name, PARTITION)
                low, high = self._consumer.get_watermark_offsets(place, timeout=START_SECONDS)
                return int(low), int(high)
            except KafkaException as error:
                # The partition of a topic that was just created, or of a broker that just restarted, has no leader yet.
                if not error.args[0].retriable() and error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION:
                    raise
                if time.monotonic() > until:
                    raise
                self._consumer.poll(0.1)  # nothing is assigned yet, so this only waits

    def _count(self, wanted: Iterable[Page]) -> None:
        for page in wanted:
            decided = self.decisions.decision(Finding(finding_id=page.finding_id, started_ms=page.started_ms))
            self._metrics.page("paged" if decided else "held_back")

    def _append(self, pages: Iterable[Page]) -> int:
        """Append the records in their order; return the offset of the last one. Raises KafkaException."""
        offsets: list[int] = []
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                offsets.append(message.offset())
            else:
                failed.append(error)

        for page in pages:
            key = page.finding_id.encode()
            self._producer.produce(self._name, to_json(page), key, partition=PARTITION, on_delivery=delivered)
        if self._producer.flush(CLAIM_SECONDS) or failed:
            self._producer.purge()
            raise KafkaException(failed[0] if failed else KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001
        return max(offsets)

    def _read_until(self, end: int, seconds: float) -> None:
        """Read the records before offset ``end``. Raises KafkaException if that takes longer than ``seconds``."""
        until = time.monotonic() + seconds
        while self._next_offset < end:
            if time.monotonic() > until:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001
            self._take(self._consumer.consume(AT_ONCE, 0.1))

    def _take(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error, content = message.error(), message.value()
            if error is not None:
                log.warning("Kafka: %s", error)
                continue
            self._next_offset = message.offset() + 1
            try:
                self.decisions.add(from_json(Page, content or b""), message.timestamp()[1])
            except RecordError as rejected:
                # Only a sender writes this topic, so an invalid record has no finding that could be lost.
                log.warning("the record at offset %s of %s is not a page: %s", message.offset(), self._name, rejected)
