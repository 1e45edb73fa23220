"""Reads published baselines: those from before a loss of state, and those that a backfill adds while the job runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from datetime import timedelta

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.kafka_clients import client_configuration, producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey
from sparkfuse_stream_jobs.detect.published_baselines import Place, PublishedBaselines

# A baseline whose record is older than this is dropped. The age of the record counts, not the age of the newest run, so
# that a backfill of old logs is kept just as long.
BASELINE_TTL = timedelta(days=92)
CLEANING_SECONDS = 24 * 3_600.0
log = logging.getLogger(__name__)
READ_SECONDS = 60.0
POLL_SECONDS = 1.0
# Maximum number of registered records that were not read back yet. A maximum is needed because records that a failed
# job never wrote stay registered.
MAX_OWN_RECORDS = 100_000
MAX_TOMBSTONES_IN_QUEUE = 10_000


class OwnRecords:
    """Recognizes the records that this job wrote itself, because decoding them again would only cost time.

    One thread may write while another one reads.
    """

    def __init__(self, limit: int = MAX_OWN_RECORDS) -> None:
        self._lock, self._limit = threading.Lock(), limit
        self._hashes: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, content: bytes) -> None:
        """Register a record that will be written."""
        with self._lock:
            self._hashes[hash(content)] = None
            if len(self._hashes) > self._limit:
                del self._hashes[next(iter(self._hashes))]

    def remove(self, content: bytes) -> bool:
        """Return whether the record was registered, and remove it."""
        with self._lock:
            known = hash(content) in self._hashes
            self._hashes.pop(hash(content), None)
        return known


class BaselineFollower:
    """The published baselines, updated with each record that is added to the topic ``baselines``.

    If ``cleans`` is true, a tombstone is written once a day for each record that is no longer needed. These are expired
    baselines, and older records about a stage in another partition or under another record key.
    """

    def __init__(self, settings: Settings, *, cleans: bool = False) -> None:
        """Read the topic to its end, then follow it in a thread. Raises like ``read_published_baselines``."""
        self._settings, self._cleans = settings, cleans
        self._published, self._consumer, self._own = PublishedBaselines(), _consumer(settings), OwnRecords()
        self._useless: list[Place] = []
        self._cleaned_at = float("-inf")
        try:
            self._useless += _read_to_end(self._consumer, settings, self._published)
        except BaseException:
            self._consumer.close()
            self._published.close()
            raise
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="baselines", daemon=True)
        self._thread.start()

    def __call__(self, key: BaselineKey) -> Baseline | None:
        """Return the newest baseline of the stage; None if the stage has none or if it was returned before."""
        return self._published(key)

    def add_own_record(self, content: bytes) -> None:
        """Register a record that this job will write, so that it is not read back."""
        self._own.add(content)

    def close(self) -> None:
        """Stop the thread, and delete the file."""
        self._closing.set()
        self._thread.join()
        self._consumer.close()
        self._published.close()

    def _follow(self) -> None:
        logged: set[int] = set()
        while not self._closing.is_set():
            self._clean_daily()
            message = self._consumer.poll(POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self._read(message)
            # The job continues: an outage of the broker is temporary, and the baselines that were read before stay
            # valid.
            elif error.code() not in {KafkaError._PARTITION_EOF, *logged}:  # noqa: SLF001 - confluent has no public name
                logged.add(error.code())
                log.warning("cannot read the topic baselines: %s", error)

    def _read(self, message: Message) -> None:
        content = message.value()
        if content is not None and self._own.remove(content):
            return
        try:
            self._useless += _put(self._published, message)
        except RecordError:
            log.warning("the record at offset %d of the topic baselines is not a baseline", message.offset())

    def _clean_daily(self) -> None:
        if time.monotonic() - self._cleaned_at < CLEANING_SECONDS:
            return
        self._cleaned_at = time.monotonic()
        expired = self._published.remove_expired(
            time.time_ns() // 1_000_000 - int(BASELINE_TTL.total_seconds() * 1_000)
        )
        if self._cleans and (expired or self._useless):
            left = write_tombstones(self._settings, [*self._useless, *expired])
            log.info(
                "deleted %d records from the topic baselines: %d baselines expired, %d were older duplicates;"
                " %d could not be deleted", len(expired) + len(self._useless) - left, len(expired),
                len(self._useless), left,
            )  # fmt: skip
        self._useless = []


def write_tombstones(settings: Settings, places: Iterable[Place]) -> int:
    """Delete records from the topic ``baselines``; return how many tombstones the broker did not store."""
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    own = {"client.id": "sparkfuse-baselines", "enable.idempotence": True, "log_level": 0}
    producer = Producer(producer_configuration(settings, own | {"message.timeout.ms": int(READ_SECONDS * 1_000)}))
    name = topic_name("baselines", settings.topic_prefix)
    for place in places:
        while len(producer) >= MAX_TOMBSTONES_IN_QUEUE:
            producer.poll(POLL_SECONDS)
        # The explicit partition is needed for records that another partitioner placed.
        producer.produce(name, None, place.record_key, partition=place.partition, on_delivery=on_delivery)
    return len(failures) if producer.flush(2 * READ_SECONDS) == 0 else len(failures) + len(producer)


def read_published_baselines(settings: Settings) -> PublishedBaselines:
    """Read the topic ``baselines`` to its end. Invalid records are skipped; their stages are learned again.

    Raises KafkaException if the broker does not answer; the job then restarts.
    """
    published, consumer = PublishedBaselines(), _consumer(settings)
    try:
        _read_to_end(consumer, settings, published)
    except BaseException:
        published.close()
        raise
    finally:
        consumer.close()
    return published


def _consumer(settings: Settings) -> Consumer:
    return Consumer(client_configuration(settings, {
        "group.id": f"{settings.topic_prefix}.baselines",  # required by the client; nothing is ever committed to it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }))  # fmt: skip


def _read_to_end(consumer: Consumer, settings: Settings, published: PublishedBaselines) -> list[Place]:
    """Store the records of the topic from its beginning to its current end; the consumer continues there.

    Returns the partition and key of each record that is no longer needed.
    """
    name = topic_name("baselines", settings.topic_prefix)
    known = consumer.list_topics(name, timeout=READ_SECONDS).topics[name]
    waiting = set(known.partitions) if known.error is None else set()
    useless: list[Place] = []
    invalid = 0
    consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in waiting])
    while waiting:
        message = consumer.poll(READ_SECONDS)
        if message is None:
            raise KafkaException(f"{name} was not read to its end within {READ_SECONDS:.0f} s")
        if message.error():
            if message.error().code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                raise KafkaException(message.error())
            waiting.discard(message.partition())
            continue
        try:
            useless += _put(published, message)
        except RecordError:
            invalid += 1
    log.info("read the baselines of %d stages from the topic; %d records are invalid", len(published), invalid)
    return useless


def _put(published: PublishedBaselines, message: Message) -> list[Place]:
    """Store a record, and return partition and key of a record that is no longer needed. Raises RecordError.

    A tombstone is ignored, because expired baselines are removed from the file too.
    """
    content = message.value()
    if content is None:
        return []
    baseline = from_json(Baseline, content)
    if not baseline.HasField("updated_ms"):
        raise RecordError("the baseline has no updated_ms")
    useless = published.put(baseline, Place(message.partition(), message.key() or b""), message.timestamp()[1])
    return [useless] if useless else []
