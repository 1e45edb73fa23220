"""Baselines as they are written down: what an earlier life of the job, or a backfill, knew of a stage."""

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
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_stream_jobs.detect.memory_key import Key, key_of_baseline

log = logging.getLogger(__name__)
SECONDS = 60.0
POLL_SECONDS = 1.0
# Records of ours that did not come back yet; a job that fails before they are written leaves some behind.
MAX_OWN = 100_000


class Seeds:
    """The newest baseline of each stage, in a file of this process: a fleet's memory need not fit into ours.

    One thread may put while another asks.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: set[Key] = set()
        self._untold: set[Key] = set()
        self._said_whose: set[Key] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="sparkfuse-seeds-")
        # Flink opens and calls an operator from threads that take turns.
        self._store = sqlite3.connect(Path(self._folder.name, "seeds.db"), check_same_thread=False)
        self._store.execute("PRAGMA synchronous=OFF")
        self._store.execute("CREATE TABLE seeds (whose TEXT PRIMARY KEY, baseline BLOB)")

    def put(self, baseline: Baseline) -> None:
        """Keep ``baseline`` instead of an older one of its stage.

        One that does not say whose it is was written before those that do, and under another key of the topic, so that
        it is still there and may be read later.
        """
        key = key_of_baseline(baseline)
        with self._lock:
            if baseline.HasField("cluster"):
                self._said_whose.add(key)
            elif key in self._said_whose:
                return
            self._known.add(key)
            self._store.execute(
                "INSERT OR REPLACE INTO seeds VALUES (?, ?)", (_text(key), baseline.SerializeToString())
            )
            # Last, since who asks looks here first.
            self._untold.add(key)

    def __call__(self, key: Key) -> Baseline | None:
        """The newest baseline of the stage; None when there is none, or it was told already."""
        if key not in self._untold:  # asked for each row of a stage
            return None
        with self._lock:
            self._untold.discard(key)
            found = self._store.execute("SELECT baseline FROM seeds WHERE whose = ?", (_text(key),)).fetchone()
        return Baseline.FromString(found[0]) if found else None

    def __len__(self) -> int:
        return len(self._known)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._store.close()
        self._folder.cleanup()


class OwnRecords:
    """What was written from here and comes back: to read it would take longer than to learn it did.

    One thread may write while another reads.
    """

    def __init__(self, most: int = MAX_OWN) -> None:
        self._lock, self._most = threading.Lock(), most
        self._hashes: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, content: bytes) -> None:
        """A record that will be written."""
        with self._lock:
            self._hashes[hash(content)] = None
            if len(self._hashes) > self._most:
                del self._hashes[next(iter(self._hashes))]

    def came_back(self, content: bytes) -> bool:
        """Whether the record is one of them, which is then forgotten."""
        with self._lock:
            known = hash(content) in self._hashes
            self._hashes.pop(hash(content), None)
        return known


class Followed:
    """Seeds that follow the topic ``baselines``: what others write while the job runs is told, too."""

    def __init__(self, settings: Settings) -> None:
        """Read the topic to its end, then follow it in a thread. Raises as ``read_seeds`` does."""
        self._seeds, self._consumer, self._own = Seeds(), _consumer(settings), OwnRecords()
        try:
            _read_to_end(self._consumer, settings, self._seeds)
        except BaseException:
            self._consumer.close()
            self._seeds.close()
            raise
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="baselines", daemon=True)
        self._thread.start()

    def __call__(self, key: Key) -> Baseline | None:
        """As ``Seeds``."""
        return self._seeds(key)

    def wrote(self, content: bytes) -> None:
        """Say what will be written from here, of which nothing new can be heard."""
        self._own.add(content)

    def close(self) -> None:
        """Stop to follow, and let go of the file."""
        self._closing.set()
        self._thread.join()
        self._consumer.close()
        self._seeds.close()

    def _follow(self) -> None:
        said: set[int] = set()
        while not self._closing.is_set():
            message = self._consumer.poll(POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                content = message.value()
                if content is not None and self._own.came_back(content):
                    continue
                if not _put(self._seeds, content):
                    log.warning("what stands at offset %d of the baselines is none", message.offset())
            # A broker that is away comes back, and a topic that is gone takes nothing away that is known.
            elif error.code() not in {KafkaError._PARTITION_EOF, *said}:  # noqa: SLF001 - confluent has no public name
                said.add(error.code())
                log.warning("baselines that others write are not heard: %s", error)


def _text(key: Key) -> str:
    return json.dumps(astuple(key))


def read_seeds(settings: Settings) -> Seeds:
    """Read the topic ``baselines`` to its end. What cannot be read is passed over: it only means learning anew.

    Raises KafkaException when the broker does not answer; the job is started again then.
    """
    seeds, consumer = Seeds(), _consumer(settings)
    try:
        _read_to_end(consumer, settings, seeds)
    except BaseException:
        seeds.close()
        raise
    finally:
        consumer.close()
    return seeds


def _consumer(settings: Settings) -> Consumer:
    return Consumer({
        "bootstrap.servers": settings.kafka_bootstrap,
        "group.id": f"{settings.topic_prefix}.detect.seeds",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    })  # fmt: skip


def _read_to_end(consumer: Consumer, settings: Settings, seeds: Seeds) -> None:
    """Put the values of the topic from its beginning to where it ends now; the consumer stands there then."""
    name = topic_name("baselines", settings.topic_prefix)
    known = consumer.list_topics(name, timeout=SECONDS).topics[name]
    waiting = set(known.partitions) if known.error is None else set()
    refused = 0
    consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in waiting])
    while waiting:
        message = consumer.poll(SECONDS)
        if message is None:
            raise KafkaException(f"{name} was not read to its end within {SECONDS:.0f} s")
        if message.error():
            if message.error().code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                raise KafkaException(message.error())
            waiting.discard(message.partition())
        else:
            refused += not _put(seeds, message.value())
    log.info("baselines of %d stages can be taken over; %d records are no baselines", len(seeds), refused)


def _put(seeds: Seeds, content: bytes | None) -> bool:
    """Whether the record is a baseline, or takes one away: those that we remember stay until they are out of date."""
    if content is None:
        return True
    try:
        seeds.put(from_json(Baseline, content))
    except RecordError:
        return False
    return True
