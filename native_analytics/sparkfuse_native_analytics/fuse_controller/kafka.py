"""Kafka input and output of the fuse controller: reads without a consumer group, and writes in transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller.environment import FencedError

ANSWER_SECONDS = 10.0
# How long the broker may take to report where a topic ends, just before an act.
ENDS_SECONDS = 1.0
# A transaction that is not committed within this time is aborted: a signal must not arrive late.
TRANSACTION_SECONDS = 10.0
MOST_RECORDS = 5000
MINUTE_MS = 60_000
# How far back each topic is read at the start. Older records of `live` and `findings` cannot change a decision. `audit`
# and `controls` are read from their beginning, because any record may be a hold or count towards a budget.
LOOKBACK_MS: Mapping[str, int | None] = {
    "live": 5 * MINUTE_MS,
    "findings": 5 * MINUTE_MS,
    "receipts": 65 * MINUTE_MS,
    "approvals": 24 * 60 * MINUTE_MS,
    "controls": None,
    "audit": None,
}
# Read to their ends before the other topics: without the acts and probes in the audit log, the controller would ignore
# the receipts and rows that are about them.
FIRST = ("controls", "audit")
# How often partitions and their ends are checked, and for how long a partition may have unread records.
CHECK_SECONDS = 5.0
BEHIND_SECONDS = 15.0
# The client reports its errors to error_cb; this log level prevents the client from printing them too.
QUIET = 0
_CLIENT = "sparkfuse-fuse-controller"
ErrorSeen = Callable[[KafkaError], None]


class TopicUnavailableError(RuntimeError):
    """Kafka or a topic is not available; the message is one sentence."""


class Partition(NamedTuple):
    """A partition, identified by its number and the topic's name without prefix."""

    topic: str
    number: int


class Inputs:
    """Reads the topics that a decision depends on, and checks whether each partition was read to its end."""

    def __init__(self, settings: Settings, on_error: ErrorSeen) -> None:
        """Raises TopicUnavailableError if the broker or a topic is not available."""
        self._bootstrap = settings.kafka_bootstrap
        self._topics = {topic_name(name, settings.topic_prefix): name for name in LOOKBACK_MS}
        self._reading = [topic_name(name, settings.topic_prefix) for name in FIRST]
        self._consumer = Consumer(
            client_configuration(
                settings,
                {
                    "client.id": _CLIENT,
                    "log_level": QUIET,
                    "group.id": _CLIENT,  # required by the client; nothing is ever committed to it
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "isolation.level": "read_committed",
                    "fetch.wait.max.ms": 100,
                    "error_cb": on_error,
                },
            )
        )
        # Whether each partition is at its end now, and when that was last the case; 0 if never.
        self._at_end: dict[Partition, bool] = {}
        self._end_seen: dict[Partition, float] = {}
        # The last end that was reached: after compaction, it can be later than the last record.
        self._end_offsets: dict[Partition, int] = {}
        self._checked = 0.0
        self._asked: dict[Partition, int] | None = {}
        try:
            _until_elected(self._add_partitions)
        except KafkaException as error:
            raise TopicUnavailableError(
                f"no Kafka broker answers at {self._bootstrap}: {error.args[0].str()}"
            ) from error

    def read(self, seconds: float) -> Mapping[str, Sequence[Message]]:
        """Return the messages that arrive within ``seconds``, by topic name without prefix."""
        found: dict[str, list[Message]] = {}
        for message in self._consumer.consume(MOST_RECORDS, seconds):
            error, topic = message.error(), self._topics.get(message.topic() or "")
            if topic is None:
                continue  # an error of the client, which the client also reports to on_error
            partition = Partition(topic, message.partition() or 0)
            if error is None:
                self._at_end[partition] = False
                found.setdefault(topic, []).append(message)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  the client's public name for it
                self._at_end[partition] = True
                self._end_seen[partition] = time.monotonic()
                self._end_offsets[partition] = message.offset() or 0
        return found

    def check(self) -> None:
        """Every few seconds, ask the broker for partitions and their ends, and start to read added partitions."""
        if time.monotonic() - self._checked < CHECK_SECONDS:
            return
        try:
            self._add_partitions()
            for place in self._consumer.assignment():
                self._consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)
        except (KafkaException, TopicUnavailableError):
            return  # _checked keeps its value, so `behind` soon reports that the broker does not answer
        self._checked = time.monotonic()
        if self._asked is None:  # the broker answers again, and `ask_ends` will ask before the next act
            self._asked = {}

    def behind(self) -> str:
        """Return a sentence about a partition that was not read to its end in the last seconds; empty if all were."""
        now = time.monotonic()
        if now - self._checked > BEHIND_SECONDS:
            return "the broker does not answer"
        for partition, at_end in self._at_end.items():
            if not at_end and now - self._end_seen[partition] > BEHIND_SECONDS:
                return f"partition {partition.number} of {partition.topic} is not read to its end"
        return ""

    def ask_ends(self, topic: str) -> None:
        """Ask the broker where the partitions of a topic end now; `unread` compares with these ends."""
        places = [place for place in self._consumer.assignment() if self._topics[place.topic] == topic]
        self._asked = None
        try:
            ranges = [(place, self._range(place.topic, place.partition, ENDS_SECONDS)) for place in places]
        except KafkaException:
            return
        # An empty partition has no position, because no record was read from it.
        self._asked = {Partition(topic, place.partition): high for place, (low, high) in ranges if high > low}

    def unread(self) -> str:
        """Return a sentence if a partition was not read to the end that `ask_ends` found, or if no end was found."""
        if self._asked is None:
            return "the broker does not answer"
        for place in self._consumer.position(self._consumer.assignment()):
            partition = Partition(self._topics[place.topic], place.partition)
            reached = max(place.offset, self._end_offsets.get(partition, 0))
            if reached < self._asked.get(partition, 0):
                return f"partition {partition.number} of {partition.topic} has unread records"
        return ""

    def caught_up(self) -> bool:
        """Return whether each partition was read to its end at least once.

        When the topics that are read first are at their ends, `check` begins to read the other topics.
        """
        if not all(self._end_seen.values()):
            return False
        if len(self._reading) < len(self._topics):
            self._reading = list(self._topics)
            self._checked = 0.0
        return {partition.topic for partition in self._at_end} == set(self._topics.values())

    def lag(self) -> int:
        """Return the number of unread records, computed from the ends that the client has cached."""
        places = self._consumer.position(self._consumer.assignment())
        ends = (self._consumer.get_watermark_offsets(place, cached=True)[1] for place in places)
        return sum(max(0, end - place.offset) for place, end in zip(places, ends, strict=True) if place.offset >= 0)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _add_partitions(self) -> None:
        added = [place for topic in self._reading for place in self._new_places(topic)]
        if not added:
            return
        self._consumer.incremental_assign(added)
        for place in added:
            partition = Partition(self._topics[place.topic], place.partition)
            self._at_end[partition], self._end_seen[partition] = False, 0.0

    def _new_places(self, topic: str) -> list[Place]:
        metadata = self._consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
        if metadata.error is not None:
            right = "start the stack, or create it as contracts/topics.yaml describes"
            raise TopicUnavailableError(f"Kafka at {self._bootstrap} has no topic {topic}: {right}")
        name = self._topics[topic]
        new = [number for number in metadata.partitions if Partition(name, number) not in self._at_end]
        lookback_ms = LOOKBACK_MS[name]
        if lookback_ms is None:
            return [Place(topic, number, self._range(topic, number)[0]) for number in new]
        since_ms = time.time_ns() // 1_000_000 - lookback_ms
        wanted = [Place(topic, number, since_ms) for number in new]
        places = self._consumer.offsets_for_times(wanted, timeout=ANSWER_SECONDS) if wanted else []
        for place in places:
            if place.offset < 0:  # the partition has no record from this period
                place.offset = self._range(topic, place.partition)[1]
        return list(places)

    def _range(self, topic: str, number: int, seconds: float = ANSWER_SECONDS) -> tuple[int, int]:
        low, high = self._consumer.get_watermark_offsets(Place(topic, number), timeout=seconds)
        return int(low), int(high)


# Asks again while a partition of a new topic, or of a broker that just ended, has no leader yet.
_until_elected = Retrying(
    retry=retry_if_exception(
        lambda error: (
            isinstance(error, KafkaException)
            and error.args[0].code() in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
        )
    ),
    stop=stop_after_delay(ANSWER_SECONDS),
    wait=wait_fixed(0.2),
    reraise=True,
)


class Outputs:
    """Writes audit records and signals in transactions; a second controller with the same prefix fences this one."""

    def __init__(self, settings: Settings, on_error: ErrorSeen) -> None:
        """Start transactions, which fences an older controller.

        Raises TopicUnavailableError if the broker is not available.
        """
        self._prefix = settings.topic_prefix
        self._failed: list[KafkaError] = []
        self._appended_ms: list[int] = []
        common = {"log_level": QUIET, "enable.idempotence": True, "linger.ms": 0, "error_cb": on_error}
        self._producer = Producer(
            producer_configuration(
                settings,
                {
                    **common,
                    "client.id": _CLIENT,
                    "transactional.id": f"{self._prefix}-fuse-controller",
                    "transaction.timeout.ms": int(TRANSACTION_SECONDS * 1000),
                },
            )
        )
        # Dead letters are not part of a step, so another producer writes them outside of the transaction.
        self._letters = Producer(
            producer_configuration(
                settings,
                {**common, "client.id": f"{_CLIENT}-letters", "message.timeout.ms": int(TRANSACTION_SECONDS * 1000)},
            )
        )
        try:
            self._producer.init_transactions(3 * TRANSACTION_SECONDS)
        except KafkaException as error:
            raise TopicUnavailableError(
                f"Kafka at {settings.kafka_bootstrap} does not start a transaction: {error.args[0].str()}"
            ) from error

    def write(self, audit: Sequence[tuple[str, bytes]], signals: Sequence[tuple[Signal, SignedMessage]]) -> int | None:
        """Write all records in one transaction; return the broker's time of the last record, None if it is not known.

        Raises OSError if nothing was written, or FencedError if another controller has taken over or if the result is
        unknown.
        """
        self._failed.clear()
        self._appended_ms.clear()
        try:
            self._producer.begin_transaction()
            for key, content in audit:
                self._produce("audit", content, key.encode() or None)
            for signal, signed in signals:
                self._produce("signals", to_json(signed), signal.app_id.encode())
            if self._producer.flush(TRANSACTION_SECONDS) or self._failed:
                reason = self._failed[0].str() if self._failed else "the broker does not answer"
                self._abort(reason)
        except (BufferError, KafkaException) as error:
            self._abort(str(error), error)
        self._commit()
        return max(self._appended_ms, default=None)

    def write_dead_letter(self, letter: DeadLetter) -> None:
        """Write a dead letter. Raises OSError."""
        self._failed.clear()
        try:
            self._letters.produce(
                topic_name("dead-letters", self._prefix), to_json(letter), on_delivery=self._delivered
            )
        except (BufferError, KafkaException) as error:
            raise OSError(f"topic dead-letters: {error}") from error
        if self._letters.flush(TRANSACTION_SECONDS) or self._failed:
            raise OSError(f"topic dead-letters: {self._failed[0].str() if self._failed else 'no answer'}")

    def _produce(self, topic: str, content: bytes, key: bytes | None) -> None:
        self._producer.produce(topic_name(topic, self._prefix), content, key, on_delivery=self._delivered)

    def _commit(self) -> None:
        deadline = time.monotonic() + TRANSACTION_SECONDS
        while True:
            try:
                self._producer.commit_transaction(max(0.1, deadline - time.monotonic()))
            except KafkaException as error:
                reason = error.args[0]
                if reason.txn_requires_abort():
                    self._abort(reason.str(), error)
                if not reason.retriable() or time.monotonic() >= deadline:
                    raise FencedError(f"it is unknown whether a step was written: {reason.str()}") from error
            else:
                return

    def _abort(self, reason: str, cause: Exception | None = None) -> None:
        """Abort the transaction; always raises."""
        fatal = isinstance(cause, KafkaException) and cause.args[0].fatal()
        if fatal:
            raise FencedError(f"another fuse controller has taken over: {reason}") from cause
        try:
            self._producer.abort_transaction(TRANSACTION_SECONDS)
        except KafkaException as error:
            raise FencedError(f"a transaction cannot be aborted: {error.args[0].str()}") from error
        raise OSError(f"nothing was written: {reason}") from cause

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(error)
            return
        kind, at_ms = message.timestamp()
        if kind == TIMESTAMP_LOG_APPEND_TIME:
            self._appended_ms.append(at_ms)
