"""Baselines that an earlier life of the job wrote, to look up where there is no state of our own."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_stream_jobs.detect.baselines import Key, key_of_baseline

log = logging.getLogger(__name__)
SECONDS = 60.0


class Seeds:
    """The newest baseline of each stage, in a file of this process: a fleet's memory need not fit into ours."""

    def __init__(self) -> None:
        self._known: set[Key] = set()
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
        if baseline.HasField("cluster"):
            self._said_whose.add(key)
        elif key in self._said_whose:
            return
        self._known.add(key)
        self._store.execute("INSERT OR REPLACE INTO seeds VALUES (?, ?)", (_text(key), baseline.SerializeToString()))

    def __call__(self, key: Key) -> Baseline | None:
        """The newest baseline of the stage, if there is one."""
        if key not in self._known:  # asked for each row of a stage that is new
            return None
        found = self._store.execute("SELECT baseline FROM seeds WHERE whose = ?", (_text(key),)).fetchone()
        return Baseline.FromString(found[0]) if found else None

    def __len__(self) -> int:
        return len(self._known)

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()
        self._folder.cleanup()


def _text(key: Key) -> str:
    return json.dumps(astuple(key))


def read_seeds(settings: Settings) -> Seeds:
    """Read the topic ``baselines`` to its end. What cannot be read is passed over: it only means learning anew.

    Raises KafkaException when the broker does not answer; the job is started again then.
    """
    seeds = Seeds()
    for content in _records(settings):
        with contextlib.suppress(RecordError):
            seeds.put(from_json(Baseline, content))
    log.info("baselines of %d stages can be taken over", len(seeds))
    return seeds


def _records(settings: Settings) -> Iterator[bytes]:
    """The values of the topic from its beginning to where it ends now."""
    name = topic_name("baselines", settings.topic_prefix)
    consumer = Consumer({
        "bootstrap.servers": settings.kafka_bootstrap,
        "group.id": f"{settings.topic_prefix}.detect.seeds",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    })  # fmt: skip
    try:
        known = consumer.list_topics(name, timeout=SECONDS).topics[name]
        waiting = set(known.partitions) if known.error is None else set()
        consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in waiting])
        while waiting:
            message = consumer.poll(SECONDS)
            if message is None:
                raise KafkaException(f"{name} was not read to its end within {SECONDS:.0f} s")
            if message.error():
                if message.error().code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
                    raise KafkaException(message.error())
                waiting.discard(message.partition())
            elif message.value() is not None:
                yield message.value()
    finally:
        consumer.close()
