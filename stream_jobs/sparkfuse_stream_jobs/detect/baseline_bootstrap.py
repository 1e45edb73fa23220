"""Reads published baselines: those from before a loss of state, and those that a backfill adds while the job runs."""

from __future__ import annotations

import json
import logging
import sqlite3
import tempfile
import threading
from dataclasses import astuple
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline

log = logging.getLogger(__name__)
READ_SECONDS = 60.0
POLL_SECONDS = 1.0
# Limit of registered records that were not read back yet. The limit is needed because records that a failed job never
# wrote stay registered.
MAX_OWN_RECORDS = 100_000


class PublishedBaselines:
    """The newest published baseline of each stage, in a temporary file.

    A file is used because the baselines of all jobs may not fit into memory.

    One thread may call ``put`` while another thread reads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: set[BaselineKey] = set()
        self._unread: set[BaselineKey] = set()
        self._with_cluster: set[BaselineKey] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="sparkfuse-baselines-")
        # Flink opens and calls an operator from different threads, one at a time.
        self._store = sqlite3.connect(Path(self._folder.name, "baselines.db"), check_same_thread=False)
        self._store.execute("PRAGMA synchronous=OFF")
        self._store.execute("CREATE TABLE baselines (key TEXT PRIMARY KEY, baseline BLOB)")

    def put(self, baseline: Baseline) -> None:
        """Store ``baseline``; it replaces an older baseline of the same stage.

        An older version wrote baselines without a cluster, under another record key. They are still in the topic and
        may be read after newer ones, so they never replace a baseline with a cluster.
        """
        key = key_of_baseline(baseline)
        with self._lock:
            if baseline.HasField("cluster"):
                self._with_cluster.add(key)
            elif key in self._with_cluster:
                return
            self._known.add(key)
            self._store.execute(
                "INSERT OR REPLACE INTO baselines VALUES (?, ?)", (_text(key), baseline.SerializeToString())
            )
            # This set is updated last, because the reader checks it without the lock.
            self._unread.add(key)

    def __call__(self, key: BaselineKey) -> Baseline | None:
        """Return the newest baseline of the stage; None if the stage has none or if it was returned before."""
        if key not in self._unread:  # called for each row of a stage
            return None
        with self._lock:
            self._unread.discard(key)
            found = self._store.execute("SELECT baseline FROM baselines WHERE key = ?", (_text(key),)).fetchone()
        return Baseline.FromString(found[0]) if found else None

    def __len__(self) -> int:
        return len(self._known)

    def close(self) -> None:
        """Delete the file."""
        with self._lock:
            self._store.close()
        self._folder.cleanup()


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
    """The published baselines, updated with each record that is added to the topic ``baselines``."""

    def __init__(self, settings: Settings) -> None:
        """Read the topic to its end, then follow it in a thread. Raises like ``read_published_baselines``."""
        self._published, self._consumer, self._own = PublishedBaselines(), _consumer(settings), OwnRecords()
        try:
            _read_to_end(self._consumer, settings, self._published)
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
            message = self._consumer.poll(POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                content = message.value()
                if content is not None and self._own.remove(content):
                    continue
                if not _put(self._published, content):
                    log.warning("the record at offset %d of the topic baselines is not a baseline", message.offset())
            # The job continues: an outage of the broker is temporary, and the baselines that were read before stay
            # valid.
            elif error.code() not in {KafkaError._PARTITION_EOF, *logged}:  # noqa: SLF001 - confluent has no public name
                logged.add(error.code())
                log.warning("cannot read the topic baselines: %s", error)


def _text(key: BaselineKey) -> str:
    return json.dumps(astuple(key))


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


def _read_to_end(consumer: Consumer, settings: Settings, published: PublishedBaselines) -> None:
    """Store the records of the topic from its beginning to its current end; the consumer continues there."""
    name = topic_name("baselines", settings.topic_prefix)
    known = consumer.list_topics(name, timeout=READ_SECONDS).topics[name]
    waiting = set(known.partitions) if known.error is None else set()
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
        else:
            invalid += not _put(published, message.value())
    log.info("read the baselines of %d stages from the topic; %d records are invalid", len(published), invalid)


def _put(published: PublishedBaselines, content: bytes | None) -> bool:
    """Store a record, and return whether the record is valid.

    A tombstone is valid but ignored, because stored baselines expire by themselves.
    """
    if content is None:
        return True
    try:
        published.put(from_json(Baseline, content))
    except RecordError:
        return False
    return True
